# Astraea: `make figures` and `make test` need Python 3.11.4 or newer and make, nothing else.
SHELL := /bin/sh
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.stamp
WORKERS := $(or $(JOBS),2)
REFERENCE ?= ../shared/reference
SLURMS ?= $(wildcard /opt/slurm-*)
NBVAL := JOBS=1 TQDM_DISABLE=1 $(BIN)/pytest -q --nbval --nbval-current-env --nbval-sanitize-with .nbval-sanitize.cfg -n $(WORKERS) --dist loadscope
QUICK := $(addprefix tests/,$(addprefix astraea/,core plots cluster/test_schedules.py traces/test_readers.py) \
    papers/gavel/test_policies.py papers/test_statements.py)

# `make figures`: a notebook of each trace is made anew when it, its sources or its data are newer than its last run.
# Figs 9 to 14 of [Ye2022] come first.
SCALE ?= paper
OF_TRACE := 04_fairness_of_jobs_and_tenants 05_efficiency 03_lease_term 06_cluster_size 08_paper_and_program 01_traces \
    13_leaderboard 07_running_times
OTHERS := 00_tour 02_fairness 09_themis 10_gavel 11_gavel_rounds_and_estimates 12_market 20_your_cluster 21_live
PAPERMILL := $(BIN)/papermill --log-level ERROR $(shell test -t 2 || echo --no-progress-bar)
BUILD := build/$(SCALE)$(addprefix -,$(SLUG))
OUT := $(if $(filter build/paper,$(BUILD)),figures,$(BUILD)/figures)
RUNS := $(foreach trace,$(or $(SLUG),venus philly),$(addsuffix -$(trace),$(OF_TRACE))) $(if $(SLUG),,$(OTHERS))
EXECUTED := $(addprefix $(BUILD)/executed/,$(addsuffix .ipynb,$(filter $(ONLY)%,$(RUNS))))
DATA := requirements.lock $(wildcard data/*.csv $(BUILD)/log)

# of a run such as 04_fairness-venus: its notebook, what it reads, and the parameters that papermill gives it
notebook = $(wildcard $(addsuffix /$(firstword $(subst -, ,$1)).ipynb,notebooks ops/notebooks))
trace = $(patsubst $(firstword $(subst -, ,$1))-%,%,$(filter-out $(firstword $(subst -, ,$1)),$1))
number = $(firstword $(subst _, ,$1))
sources = $(FILES_astraea) $(FILES_papers) $(foreach folder,$(FOLDERS_$(call number,$1)),$(call files,$(folder)))
files = $(shell find $1 -type f -not -path '*/__pycache__/*')
FILES_astraea := $(call files,astraea)
FILES_papers := $(wildcard papers/*.py) $(call files,papers/charts papers/ye2022)
FOLDERS_09 := papers/themis
FOLDERS_10 := papers/gavel bench/gavel_solvers.csv
FOLDERS_11 := papers/gavel
FOLDERS_12 := papers/market
FOLDERS_20 := ops/astraea_ops data/example_cluster
FOLDERS_21 := ops/astraea_ops papers/live data/live
seeds = $(if $(filter small,$(SCALE)),2,$(or $(SEEDS_$1),1))
SEEDS_venus := 5
SEEDS_philly := 2
parameters = -p SCALE $(SCALE) $(if $(call trace,$1),-p TRACE "$(if $(SLUG),$$TRACE,$(call trace,$1))" -p SEEDS $(call seeds,$(call trace,$1)))

# one thread per process: OpenMP spins on busy cores, and parallelism is over runs
export OMP_NUM_THREADS := 1
export IPYTHONDIR := $(CURDIR)/notebooks/.ipython

.DEFAULT_GOAL := help
.SECONDEXPANSION:
.PHONY: figures reproduce check test test-all test-torch slurm-test slurm-matrix smoke data verify notebooks lab site lint bench lock release clean help
.PHONY: .executed .gallery

figures: $(STAMP) ## every figure and table into figures/ (TRACE= SCALE=small|paper ONLY=04 JOBS= FORMATS=svg,pdf BACKEND=dask SCHEDULER=)
	@slug="$$(basename "$$TRACE" | tr -c 'A-Za-z0-9._\n' -)"; at="$$TRACE"; \
	if [ -n "$$TRACE" ] && [ -e "$$TRACE" ]; then \
	    at="$$(cd "$$(dirname "$$TRACE")" && pwd)/$$(basename "$$TRACE")"; \
	    mkdir -p "build/$(SCALE)-$$slug" && ln -sfn "$$at" "build/$(SCALE)-$$slug/log"; fi; \
	$(MAKE) -k --no-print-directory .executed SLUG="$$slug" TRACE="$$at"; failed=$$?; \
	$(MAKE) --no-print-directory .gallery SLUG="$$slug" && exit $$failed

.executed: $(EXECUTED)

.gallery: $(BUILD)/gallery

$(BUILD)/executed/%.ipynb: $$(call notebook,$$*) $$(call sources,$$*) $(DATA) | $(STAMP)
	@mkdir -p $(@D) && echo "$*"
	@ASTRAEA_ANEW=1 ASTRAEA_FIGURES="$(CURDIR)/$(OUT)" ASTRAEA_FORMATS="$(FORMATS)" $(PAPERMILL) --cwd $(<D) \
	    $(call parameters,$*) -p OUT "$(CURDIR)/$(OUT)" -p JOBS $(WORKERS) $< $(@D)/.$(@F) && mv $(@D)/.$(@F) $@ \
	    || { echo "failed: $*, $$(grep -om1 'In \[[0-9]*\]' $(@D)/.$(@F)); its output is in $(@D)/.$(@F)" >&2; exit 1; }

$(BUILD)/gallery: $(wildcard $(BUILD)/executed/*.ipynb)
	@$(BIN)/python -m papers.gallery "$(OUT)" && touch $@

reproduce: $(STAMP) ## check the papers' major claims by their smallest experiments (CLAIM=C1, CLAIM="C1 C2"; without CLAIM= all)
	@mkdir -p build && $(PAPERMILL) --cwd notebooks -p CLAIM "$(CLAIM)" notebooks/reviewers.ipynb build/reviewers.ipynb
	@echo "the verdicts are in build/reviewers.ipynb"

check: $(STAMP) ## check the answers to a worksheet of the course, docs/course.md (NB=03)
	@$(BIN)/python -m papers.worksheets "$$NB"

test: $(STAMP) ## all tests but the exhaustive ones, the stored outputs of the notebooks, and ASTRAEA's from scratch on two days (JOBS=)
	MPLBACKEND=Agg $(BIN)/pytest -q -n $(WORKERS) --dist loadfile
	$(NBVAL) $(wildcard notebooks/[0-9]*.ipynb ops/notebooks/*.ipynb)
	@rm -rf build/small-venus && $(MAKE) -j $(WORKERS) --no-print-directory .executed SCALE=small SLUG=venus TRACE=venus JOBS=1

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

smoke: $(STAMP) ## a minute: a few quick tests, and the lease term of a small synthetic Venus (notebook 03) into build/
	MPLBACKEND=Agg $(BIN)/pytest -q -x -n $(WORKERS) --dist loadfile $(QUICK)
	$(MAKE) --no-print-directory figures SCALE=small TRACE=venus ONLY=03

data: $(STAMP) ## download the small real workloads into data/raw/ (NAME=philly for another one)
	@$(BIN)/astraea data fetch $${NAME:+"$$NAME"}

verify: $(STAMP) ## compare our results with those of the authors' own programs in REFERENCE= (default ../shared/reference)
	@$(BIN)/python -m verification "$(REFERENCE)" --figures figures --table data/verification.csv $${JOBS:+--jobs "$$JOBS"}

notebooks: $(STAMP) ## store the outputs of the notebooks, from the tables in figures/ (NB=notebooks/04*.ipynb for some)
	@$(BIN)/python .ci/store_outputs.py $(or $(NB),$(wildcard notebooks/*.ipynb notebooks/solutions/*.ipynb ops/notebooks/*.ipynb))

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
