# Astraea: `make figures` and `make test` need Python 3.11.4 or newer and make, nothing else.
SHELL := /bin/sh
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.stamp
WORKERS := $(or $(JOBS),2)
REFERENCE ?= ../shared/reference
SLURMS ?= $(wildcard /opt/slurm-*)
NBVAL := $(BIN)/pytest -q --nbval --nbval-current-env --nbval-sanitize-with .nbval-sanitize.cfg -n $(WORKERS) --dist loadscope
QUICK := $(addprefix tests/,$(addprefix astraea/,core plots cluster/test_schedules.py traces/test_readers.py) \
    papers/gavel/test_policies.py papers/claims/test_claims.py)

# one thread per process: OpenMP spins on busy cores, and parallelism is over runs
export OMP_NUM_THREADS := 1
export IPYTHONDIR := $(CURDIR)/notebooks/.ipython

.DEFAULT_GOAL := help
.PHONY: figures reproduce check test test-all test-torch slurm-test slurm-matrix real smoke data verify lab site lint bench lock release clean help

figures: $(STAMP) ## every figure, table and claim into figures/ (TRACE= SCALE=small|paper JOBS= ONLY= FORMATS=svg,pdf BACKEND= SCHEDULER=)
	@$(BIN)/python -m papers figures $${TRACE:+--trace "$$TRACE"} $${SCALE:+--scale "$$SCALE"} $${JOBS:+--jobs "$$JOBS"} \
	    $${ONLY:+--only "$$ONLY"} $${FORMATS:+--formats "$$FORMATS"} $${BACKEND:+--backend "$$BACKEND"} $${SCHEDULER:+--scheduler "$$SCHEDULER"}

reproduce: $(STAMP) ## check the papers' major claims by their smallest experiments (CLAIM=C1, CLAIM="C1 C2", JOBS=); without CLAIM= list them
	@$(BIN)/python -m papers reproduce $$CLAIM $${JOBS:+--jobs "$$JOBS"}

check: $(STAMP) ## check the answers to a worksheet of the course, docs/course.md (NB=03)
	@$(BIN)/python -m papers check "$$NB"

test: $(STAMP) ## all tests but the exhaustive ones, then the stored outputs of the notebooks (JOBS=)
	MPLBACKEND=Agg $(BIN)/pytest -q -n $(WORKERS) --dist loadfile
	$(NBVAL) notebooks/*.ipynb ops/notebooks/*.ipynb

test-all: $(STAMP) ## all tests but those on a real Slurm, with random search, then the stored outputs of notebooks and solutions (JOBS=)
	MPLBACKEND=Agg HYPOTHESIS_PROFILE=search $(BIN)/pytest -q -n $(WORKERS) --dist loadfile -m "not slurm"
	$(NBVAL) notebooks ops/notebooks

test-torch: build/torch/.stamp ## tests of checkpoints with PyTorch and torchdata (minutes; once installs both into build/torch)
	MPLBACKEND=Agg build/torch/bin/python -m pytest -q -rs ops/tests/checkpoint

build/torch/.stamp: $(STAMP)
	@$(BIN)/python -m venv --clear --without-pip build/torch
	@$(BIN)/python -m pip --python build/torch/bin/python install --quiet torch==2.13.0 torchdata==0.11.0
	@$(BIN)/python -c 'import os, sysconfig; print(sysconfig.get_path("purelib"), os.getcwd(), sep="\n")' \
	    > "$$(build/torch/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/project.pth"
	@touch $@

slurm-test: $(STAMP) ## tests on a real Slurm: a new log and its replay, the coordinator and faults (minutes, as root; SLURM=prefix REPEAT=)
	$(BIN)/pytest -q -n 5 --dist worksteal --tb=short -m slurm -rs ops/tests/audit/test_replay.py ops/tests/live

slurm-matrix: $(STAMP) ## slurm-test on every Slurm of this machine: the one on PATH, then SLURMS= (default /opt/slurm-*)
	@for at in '' $(SLURMS); do echo "Slurm: $${at:-on PATH}"; \
	    env $${at:+SLURM="$$at"} $(MAKE) --no-print-directory slurm-test || failed="$$failed $${at:-PATH}"; done; \
	if [ -n "$$failed" ]; then echo "failed:$$failed"; exit 1; fi

real: $(STAMP) ## the evaluation on real workloads, into figures/ beside the synthetic ones (after make data; JOBS=)
	@for trace in w2 chrslo philly-vcs itp; do $(BIN)/python -m papers figures --trace $$trace --shown $${JOBS:+--jobs "$$JOBS"} || exit 1; done

smoke: $(STAMP) ## a minute: a few quick tests, and the lease term of a small synthetic Venus (notebook 03) into build/
	MPLBACKEND=Agg $(BIN)/pytest -q -x -n $(WORKERS) --dist loadfile $(QUICK)
	$(BIN)/python -m papers figures --scale small --trace venus --only 03_lease_term

data: $(STAMP) ## download the small real workloads into data/raw/ (NAME=philly for another one)
	@$(BIN)/astraea data fetch $${NAME:+"$$NAME"}

verify: $(STAMP) ## compare our results with those of the authors' own programs in REFERENCE= (default ../shared/reference)
	@$(BIN)/python -m verification "$(REFERENCE)" --figures figures --table data/verification.csv $${JOBS:+--jobs "$$JOBS"}

lab: $(STAMP) ## open the notebooks in JupyterLab
	@$(BIN)/jupyter lab notebooks

site: $(STAMP) ## documents, gallery, notebooks and API as HTML: open build/site/index.html
	@rm -rf build/site && $(BIN)/python -m sphinx -qW --keep-going -c docs/site -d build/site-trees -E . build/site

lint: $(STAMP) ## style, prose, types, the contract on imports, and undeclared imports
	$(BIN)/ruff check .
	$(BIN)/python .ci/prose.py
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry --no-ansi astraea
	cd ops && ../$(BIN)/deptry --no-ansi --config pyproject.toml astraea_ops
	$(BIN)/deptry --no-ansi --config tests/deptry.toml papers verification notebooks tests tests/helpers bench docs/site \
	    ops/notebooks ops/tests ops/tests/helpers ops/tests/slurm ops/docs/live

bench: $(STAMP) ## measure speed and memory
	@$(BIN)/python bench/run.py

lock: $(STAMP) ## requirements.in -> requirements.lock (Linux and macOS, Python 3.11 and newer, with hashes)
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-emit-find-links \
	    --python-version 3.11 --custom-compile-command "make lock" --output-file requirements.lock requirements.in

release: $(STAMP) ## build wheel and source distribution into dist/, check both, print the next steps
	@$(BIN)/python .ci/release.py

clean: ## remove the environment, caches and build/; downloads in data/raw/ stay
	rm -rf .venv build data/cache .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache .coverage
	find astraea ops papers verification tests bench -name __pycache__ -prune -exec rm -rf {} +

help: ## this list
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

$(STAMP): requirements.lock pyproject.toml ops/pyproject.toml bootstrap.sh
	@./bootstrap.sh "$(PYTHON)" .venv
	@touch $@
