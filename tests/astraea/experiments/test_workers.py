"""Workers read the current code; those of a Dask cluster give the same bytes; a killed one is one sentence."""

from __future__ import annotations

import enum
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import pytest
from distributed import Client, LocalCluster
from places import HELPERS, ROOT
from processes import started, wait_until
from small_runs import FOUR, content, same, tiny

from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.experiments.cache import read_entry
from astraea.experiments.grid import grid, run_grid
from astraea.experiments.run import Run

CELL = """
import numba
import numpy as np
from astraea.cluster.policy import all_candidates, fits, grant, policy
ORDER = np.array([1.0])

@numba.njit
def step():
    return int(ORDER[0])

@policy("helped")
def helped(s):
    for j in all_candidates(s)[:: step() * Mode.A.value]:
        if fits(s, j):
            grant(s, j)
"""


def session() -> dict[str, Any]:
    """Code in the session of a user."""
    scope: dict[str, Any] = {"__name__": "__main__", "Mode": enum.IntEnum("Mode", {"A": 1})}
    exec(compile(CELL, "<cell>", "exec"), scope)
    return scope


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_a_helper_reads_is_read_again_wherever_it_is(jobs: int, tmp_path: Path) -> None:
    def ends(scope: dict[str, Any], jobs: int, cache: str) -> list[float]:
        runs = [Run(tiny(name), FOUR, scope["helped"]) for name in ("x", "y")]
        with joblib.parallel_config("loky", n_jobs=jobs):
            found = run_grid(runs, cache=tmp_path / cache, progress=False)
        found.append(simulate(tiny(), FOUR, scope["helped"]))
        return [float(r.jobs["end_time"].sum()) for r in found]

    first, second = session(), session()
    forward = ends(first, jobs, "cache")
    first["ORDER"][0] = -1.0
    backward = ends(first, jobs, "cache")
    assert all(one != other for one, other in zip(backward, forward, strict=True))
    second["Mode"] = enum.IntEnum("Mode", {"A": -1})  # who has compiled nothing before
    assert ends(second, 1, "other") == ends(second, jobs, "third") == backward
    assert len([*(tmp_path / "cache").iterdir()]) == 4


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made:
        yield made


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return grid([tiny(), tiny("twin")], [FOUR], ["astraea", "fifo"], {"lease_term": [100, 300]})


@pytest.mark.slow
def test_dask_gives_the_same_bytes_and_names_a_failing_run(cluster: Any, runs: list[Run], tmp_path: Path) -> None:
    (bad,) = grid([tiny("short")], [FOUR], ["astraea"], {"lease_term": [5]})
    scope = session()
    own = Run(tiny(), FOUR, scope["helped"])
    named = r"trace short, .* policy astraea \(lease_term=5.* seed 0: .*interval"
    with Client(cluster), joblib.parallel_config("dask"):
        far = run_grid([*runs, own], cache=tmp_path / "dask", progress=False)
        with pytest.raises(InputError, match=named):
            run_grid([bad, *runs], cache=tmp_path / "failing", progress=False)
        scope["ORDER"][0] = -1.0
        (back,) = run_grid([own], cache=tmp_path / "changed", progress=False)
    scope["ORDER"][0] = 1.0
    here = run_grid([*runs, own], cache=tmp_path / "here", progress=False)
    assert content(tmp_path / "dask") == content(tmp_path / "here")
    for a, b in zip(far, here, strict=True):
        same(a, b)
    assert {p.stem for p in (tmp_path / "failing").iterdir()} == {run.key for run in runs}
    assert back.jobs["end_time"].tolist() != far[-1].jobs["end_time"].tolist()


KILLER = """
import os, signal
from astraea.cluster.engine.state import WHILE_ONE_FITS
from astraea.cluster.policy import policy

def killing(p):
    if os.getpid() != PARENT:
        os.kill(os.getpid(), signal.SIGKILL)
    return WHILE_ONE_FITS

@policy("killer", revisit=killing)
def killer(s):
    pass
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill a process")
def test_a_killed_worker_is_one_sentence(runs: list[Run], tmp_path: Path) -> None:
    scope: dict[str, Any] = {"__name__": "__main__", "PARENT": os.getpid()}
    exec(compile(KILLER, "<cell>", "exec"), scope)
    killed = [Run(tiny(name), FOUR, scope["killer"]) for name in ("x", "y")]
    sentence = r"^a worker process was killed, perhaps for lack of memory; try fewer jobs \(finished results are kept"
    with joblib.parallel_config("loky", n_jobs=2):
        with pytest.raises(InputError, match=sentence):
            run_grid(killed, cache=tmp_path, progress=False)
        assert len(run_grid(runs[:2], cache=tmp_path, progress=False)) == 2  # others take its place


SWEEP = """
import sys
sys.path[:0] = sys.argv[2:]
import joblib
from places import HELPERS, ROOT
from processes import started, wait_until
from small_runs import FOUR, tiny
from astraea.experiments.cache import read_entry
from astraea.experiments.grid import grid, run_grid
runs = grid([tiny()], [FOUR], ["astraea"], {"lease_term": range(100, 112)})
with joblib.parallel_config("loky", n_jobs=int(sys.argv[-1])):
    print(len(run_grid(runs, cache=sys.argv[1], progress=False)))
"""


def test_two_processes_at_once_share_a_cache(tmp_path: Path) -> None:
    command = (sys.executable, "-c", SWEEP, tmp_path, HELPERS, ROOT, "1")
    plain = {"NUMBA_DISABLE_JIT": "1"}
    with started(*command, env=plain) as one, started(*command, env=plain) as two:
        assert [process.wait(timeout=300) for process in (one, two)] == [0, 0]
    assert len([*tmp_path.iterdir()]) == 12
    assert all(read_entry(tmp_path, path.stem) is not None for path in tmp_path.glob("*.zip"))


@pytest.mark.slow
def test_an_interrupted_grid_ends_its_workers_and_keeps_what_was_finished(tmp_path: Path) -> None:
    """Ctrl-C reaches the workers too; none of them may write a traceback."""
    command = (sys.executable, "-c", SWEEP.replace("112", "900"), tmp_path, HELPERS, ROOT, "2")
    with started(*command, env={"NUMBA_DISABLE_JIT": "1"}) as process:
        wait_until(lambda: len([*tmp_path.glob("*.zip")]) >= 3, process)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=60) != 0
    assert len([*tmp_path.glob("*.zip")]) < 800
    assert all(read_entry(tmp_path, path.stem) is not None for path in tmp_path.glob("*.zip"))
