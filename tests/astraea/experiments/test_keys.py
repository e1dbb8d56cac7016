"""Keys: each thing that decides a result moves them, and nothing else does."""

from __future__ import annotations

import platform
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import processes
import pytest
from places import ROOT
from small_runs import FOUR, tiny

from astraea.cluster.policies import POLICIES, get_policy
from astraea.core import fingerprint, source
from astraea.core.errors import InputError
from astraea.experiments import cache, keys
from astraea.experiments.grid import run_grid
from astraea.experiments.parallel import computing
from astraea.experiments.run import Call, Run, Work
from papers.running.grids import GRIDS

CARRYING = {"IPython", "distributed", "joblib", "matplotlib", "pooch", "requests", "seaborn", "tqdm"}
"""Libraries that carry, keep or show what is computed."""


def cached_work() -> dict[str, Work]:
    """One run of each function that the notebooks keep results of, the shortest; and one of each scheduler."""
    found: dict[str, Work] = {name: Run(tiny(), FOUR, policy) for name, policy in POLICIES.items()}
    for grid in GRIDS.values():
        for run in grid("venus", "small").runs:
            if isinstance(run, Call):
                name = f"{run.module}.{run.function.__name__}"
                if name not in found or run.expected < found[name].expected:
                    found[name] = run
    return found


@pytest.fixture(scope="module")
def work() -> dict[str, Work]:
    return cached_work()


@pytest.mark.parametrize("longest", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_every_file_whose_code_runs_is_in_the_key(longest: bool, work: dict[str, Work]) -> None:
    """The market's optimum takes longer than all others together."""
    calls = {name.rpartition(".")[2] for name, run in work.items() if isinstance(run, Call)}
    assert calls == {"simulated", "plan_numbers", "ratios", "counter_examples", "failures"}
    carrying = {ROOT / "astraea" / "experiments" / f"{name}.py" for name in ("archive", "cache", "keys")}
    keyed = ("source", "origins", "closure", "fingerprint", "user_functions")
    carrying |= {ROOT / "astraea" / "core" / f"{part}.py" for part in keyed}
    for name, run in work.items():
        if name.endswith(".ratios") != longest:
            continue
        function, *arguments = run.call
        policy = run.policy if isinstance(run, Run) else None
        given = [a.policy if isinstance(a, keys.Named) else a for a in arguments]
        cache.compute("", run.kept, function, *given)  # all modules are imported by then
        used = files_run(lambda f=function, g=given, r=run: cache.compute("", r.kept, f, *g))  # type: ignore[misc]
        used -= carrying
        assert used <= keys.reached(function, policy).files, name
        assert used, name


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


@pytest.mark.parametrize("library", ["python", "numba", "numpy", "pandas", "scipy", "scikit-learn"])
def test_versions_are_in_the_key(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(tiny(), FOUR, get_policy("fifo"))
    before, known = run.key, fingerprint._version
    if library == "python":
        monkeypatch.setattr(platform, "python_version", lambda: "4.0")
    else:
        monkeypatch.setattr(fingerprint, "_version", lambda name: "0" if name == library else known(name))
    assert run.key != before


def test_only_versions_that_matter_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    run, known = Run(tiny(), FOUR, get_policy("fifo")), fingerprint._version
    before = run.key
    monkeypatch.setattr(fingerprint, "_version", lambda name: "0" if name in ("highspy", "tqdm") else known(name))
    assert run.key == before


def test_one_scheduler_is_in_the_key_and_not_the_others() -> None:
    for name, policy in POLICIES.items():
        files = {path.stem for path in keys.reached(Run(tiny(), FOUR, policy).call[0], policy).files}
        assert source.of_module(keys.plain(policy.select).__module__).files
        assert Path(sys.modules[keys.plain(policy.select).__module__].__file__ or "").stem in files
        assert not {"fifo", "kai", "yarn_cs"} - {name.replace("-", "_")} & files


TELL = """
import sys
sys.path[:0], FUNCTIONS = sys.argv[1:3], sys.argv[3:]
from pathlib import Path
from importlib import import_module
from small_runs import FOUR, tiny
from astraea.cluster.policies import POLICIES
from astraea.core import source
from astraea.experiments import keys
from astraea.experiments.run import Run
from papers.running import made, notebooks
for name, policy in POLICIES.items():
    print(name, Run(tiny(), FOUR, policy).key)
for name in FUNCTIONS:
    module, _, function = name.rpartition(".")
    print(name, keys.code(getattr(import_module(module), function)))
print("made", made.code(source.ROOT))
for path in sorted((source.ROOT / "notebooks").glob("*.ipynb")):
    print(path.name, notebooks.digest(notebooks.read(path), {}, [], source.ROOT))
"""


def told(project: Path, functions: list[str]) -> dict[str, str]:
    """Ask a copy of the project for its keys, in a process of its own."""
    places = [str(project), str(project / "tests" / "helpers")]
    env = {"PYTHONDONTWRITEBYTECODE": "1", "NUMBA_DISABLE_JIT": "1"}
    done = processes.run(sys.executable, "-c", TELL, *places, *functions, env=env, cwd=project)
    return dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("astraea", "papers", "verification", "tests", "notebooks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".ipython"))
    (folder / "data").mkdir()
    for name in ("pyproject.toml", "requirements.lock", "data/claims.csv"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def python_files(project: Path) -> Iterator[Path]:
    for name in ("astraea", "papers"):
        yield from sorted((project / name).rglob("*.py"))


def test_a_comment_in_every_file_moves_no_key(project: Path, work: dict[str, Work]) -> None:
    functions = [name for name in work if name not in POLICIES]
    before = told(project, functions)
    notebooks = len([*(ROOT / "notebooks").glob("*.ipynb")])
    assert len(before) == len(POLICIES) + len(functions) + 1 + notebooks
    for path in python_files(project):
        text = path.read_text()
        path.write_text(f"# a comment\n{text}\n\n# another\n")
    assert told(project, functions) == before
    engine = project / "astraea" / "cluster" / "engine" / "leases.py"
    engine.write_text(f"{engine.read_text()}\nADDED = 1\n")
    after = told(project, functions)
    moved = {name for name in before if before[name] != after[name]}
    assert {*POLICIES, "made", "03_lease_term.ipynb"} <= moved
    assert not {"papers.gavel.study.cells.simulated", "papers.market.study.runs.ratios"} & moved


POLICY = """
import numpy as np
from astraea.cluster.policy import all_candidates, fits, grant, policy

ORDER = np.array([1.0])

@policy("home-made")
def home_made(s):
    '''The largest or the smallest gangs first.'''
    for j in all_candidates(s)[::int(ORDER[0])]:
        if fits(s, j):
            grant(s, j)
"""


def home_made() -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(POLICY, "<cell>", "exec"), scope)
    return scope


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_an_array_that_a_policy_reads_is_in_the_key(jobs: int, tmp_path: Path) -> None:
    """Its change gives another result, also where the policy was compiled before, here and in a worker."""
    cell = home_made()

    def ends() -> list[float]:
        runs = [Run(tiny(name), FOUR, cell["home_made"]) for name in ("x", "y")]
        with computing(jobs=jobs):
            return [float(r.jobs["end_time"].sum()) for r in run_grid(runs, cache=tmp_path, progress=False)]

    forward = ends()
    cell["ORDER"][0] = -1.0
    backward = ends()
    assert backward != forward
    cell["ORDER"] = np.array([1.0])
    assert ends() == forward
    assert len(list(tmp_path.glob("*.zip"))) == 4


def test_a_policy_that_reads_what_cannot_be_known_is_refused(tmp_path: Path) -> None:
    cell = home_made()
    cell["ORDER"] = threading.Lock()
    with pytest.raises(InputError, match="policy home-made: ORDER is a lock, whose content cannot be known"):
        run_grid([Run(tiny(), FOUR, cell["home_made"])], cache=tmp_path, progress=False)


def test_what_was_computed_by_other_code_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker is a process of its own, which reads the files as they are when it starts."""
    runs = [Run(tiny(name), FOUR, get_policy("fifo")) for name in ("x", "y")]
    monkeypatch.setattr(keys, "code", lambda *_: "of before an edit")
    with computing(jobs=2), pytest.raises(InputError, match="a worker runs other code than this process"):
        run_grid(runs, cache=tmp_path, progress=False)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_changed_while_it_was_used_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [replace(Run(tiny(), FOUR, get_policy("fifo")), seed=1)]
    monkeypatch.setattr(source, "STARTED", 0.0)
    with computing(jobs=1), pytest.raises(InputError, match=r"astraea/.*\.py was changed while this process ran"):
        run_grid(runs, cache=tmp_path, progress=False)
    assert list(tmp_path.iterdir()) == []
