"""Keys change with everything that decides a result, and with nothing else."""

from __future__ import annotations

import importlib
import json
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import processes
import pytest
from places import ROOT
from small_runs import FOUR, tiny

from astraea.cluster.policies import all_policies, get_policy
from astraea.core import fingerprint, source
from astraea.core.errors import InputError
from astraea.experiments import cache, keys
from astraea.experiments.grid import run_grid
from astraea.experiments.parallel import computing
from astraea.experiments.run import Call, Run, Work
from papers import notebooks as all_notebooks
from papers.market.study.example import worked_example
from papers.notebook_cells import read
from papers.running import figures, notebooks
from papers.running.grids import GRIDS

CARRYING = {"IPython", "distributed", "joblib", "matplotlib", "pooch", "requests", "seaborn", "tqdm"}
"""Libraries that carry, keep or show what is computed."""


@pytest.fixture(scope="module")
def work() -> dict[str, Work]:
    """One run of each function that the notebooks keep results of, the shortest; and one of each scheduler."""
    found: dict[str, Work] = {name: Run(tiny(), FOUR, policy) for name, policy in all_policies().items()}
    for grid in GRIDS.values():
        for run in grid("venus", "small").runs:
            if isinstance(run, Call):
                name = f"{run.function.__module__}.{run.function.__name__}"
                if name not in found or run.expected < found[name].expected:
                    found[name] = run
    return found


def test_every_file_whose_code_runs_is_in_the_key(work: dict[str, Work]) -> None:
    calls = {name.rpartition(".")[2] for name, run in work.items() if isinstance(run, Call)}
    assert calls == {"simulated", "plan_numbers", "ratios", "counter_examples", "failures", "reversals"}
    core = ("source", "origins", "fingerprint", "user_functions")
    carrying = {ROOT / "astraea" / "core" / f"{part}.py" for part in core}
    carrying |= {ROOT / "astraea" / "experiments" / f"{part}.py" for part in ("archive", "cache", "keys")}
    for name, run in work.items():
        if name.endswith("ratios"):  # of a market whose optimum is found at once
            run = replace(run, arguments=(worked_example(),))
        function, *arguments = run.call
        reached = keys.reached(function, run.policy if isinstance(run, Run) else None).files
        for path in reached:  # so that nothing is imported during the call
            if path.suffix == ".py":
                importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        given = [a.policy if isinstance(a, keys.Named) else a for a in arguments]
        used = files_run(lambda f=function, g=given, r=run: cache.compute("", r.keep, f, *g))  # type: ignore[misc]
        assert used - carrying <= reached, name
        assert used - carrying, name


def files_run(call: Callable[[], Any]) -> set[Path]:
    """Return the files of the package whose functions run in a call."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            found.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return {Path(name) for name in found if name.startswith((str(ROOT / "astraea"), str(ROOT / "papers")))}


def test_versions_are_of_all_libraries_that_compute(work: dict[str, Work]) -> None:
    for name, run in work.items():
        policy = run.policy if isinstance(run, Run) else None
        others = keys.reached(run.call[0], policy).libraries - sys.stdlib_module_names - CARRYING
        assert others <= {*keys.COMPUTING}, name
        assert {"numpy", "pandas"} <= others, name


def test_versions_that_matter_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    run, estimating = (Run(tiny(), FOUR, get_policy(name)) for name in ("fifo", "allox"))
    before, known = (run.key, estimating.key), fingerprint._version
    for library in ("numba", "numpy", "pandas", "scipy", "scikit-learn", "highspy", "tqdm"):
        monkeypatch.setattr(fingerprint, "_version", lambda name, of=library: "0" if name == of else known(name))
        assert (run.key == before[0]) == (library in ("scipy", "scikit-learn", "highspy", "tqdm")), library
        assert (estimating.key == before[1]) == (library in ("highspy", "tqdm")), library
    monkeypatch.undo()
    monkeypatch.setattr(platform, "python_version", lambda: "4.0")
    assert run.key != before[0]


def test_one_scheduler_is_in_the_key_and_not_the_others() -> None:
    for name, policy in all_policies().items():
        files = {path.stem for path in keys.reached(Run(tiny(), FOUR, policy).call[0], policy).files}
        assert source.of_module(keys.plain(policy.select).__module__).files
        assert Path(sys.modules[keys.plain(policy.select).__module__].__file__ or "").stem in files
        assert not {"fifo", "kai", "yarn_cs"} - {name.replace("-", "_")} & files


def told(functions: list[str]) -> dict[str, str]:
    """Return the keys of this project by name: of schedulers, functions, the record of figures, and notebooks."""
    root = source.ROOT
    found = {name: Run(tiny(), FOUR, policy).key for name, policy in all_policies().items()}
    for name in functions:
        module, _, function = name.rpartition(".")
        found[name] = keys.code(getattr(importlib.import_module(module), function))
    found["made"] = figures.code(root)
    for path in all_notebooks(root).values():
        found[path.name] = notebooks.digest(read(path), {}, [], root)
    return found


def told_before_and_after_edits(functions: list[str]) -> list[dict[str, str]]:
    """Return the keys of a copy of the project, in a process of its own, and those after two edits, one by one.

    The first edit is of the words for durations and of a summary's table, the second of the engine.
    """
    found = [told(functions)]
    for edited in ("core/wording.py", "cluster/engine/leases.py"):
        path = source.ROOT / "astraea" / edited
        path.write_text(path.read_text().replace(".3g", ".4g").replace("average JCT", "mean JCT") + "\nADDED = 1\n")
        source.of_module.cache_clear()
        found.append(told(functions))
    return found


TELL = """
import json, sys
sys.path[:0], functions = sys.argv[1:4], sys.argv[4:]
import test_keys
print(json.dumps(test_keys.told_before_and_after_edits(functions)))
"""


def test_a_comment_in_every_file_moves_no_key(work: dict[str, Work], tmp_path: Path) -> None:
    """The copy is in another folder, and nothing in it is compiled."""
    for name in ("astraea", "papers", "verification", "notebooks", "tests/helpers"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", ".ipython"))
    here = Path(__file__).relative_to(ROOT)
    tables = [path.relative_to(ROOT) for path in (ROOT / "data").glob("*.csv")]
    for path in (here, Path("pyproject.toml"), Path("requirements.lock"), *tables):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    for folder in ("astraea", "papers"):
        for path in (tmp_path / folder).rglob("*.py"):
            path.write_text(f"# a comment\n{path.read_text()}\n\n# another\n")
    functions = [name for name in work if name not in all_policies()]
    expected = told(functions)
    assert len(expected) == len(all_policies()) + len(functions) + 1 + len(all_notebooks())
    places = [tmp_path, tmp_path / "tests" / "helpers", (tmp_path / here).parent]
    env = {"PYTHONDONTWRITEBYTECODE": "1", "NUMBA_DISABLE_JIT": "1"}
    done = processes.run(sys.executable, "-c", TELL, *places, *functions, env=env, cwd=tmp_path)
    before, reworded, after = json.loads(done.stdout)
    assert before == expected
    assert before["made"] != reworded["made"]
    assert all(before[name] == reworded[name] for name in (*all_policies(), *functions))
    moved = {name for name in before if reworded[name] != after[name]}
    assert {*all_policies(), "made", "03_lease_term.ipynb"} <= moved
    assert not {"papers.gavel.study.cells.simulated", "papers.market.study.runs.ratios"} & moved


def test_what_was_computed_by_other_code_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker is a process of its own, which reads the files as they are when it starts."""
    runs = [Run(tiny(name), FOUR, get_policy("fifo")) for name in ("x", "y")]
    monkeypatch.setattr(keys, "code", lambda *_: "of before an edit")
    with computing(jobs=2), pytest.raises(InputError, match="a worker runs other code than this process"):
        run_grid(runs, cache=tmp_path, progress=False)
    assert list(tmp_path.iterdir()) == []
