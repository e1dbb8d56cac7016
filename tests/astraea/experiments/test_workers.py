"""Workers read the current code; those of a Dask cluster give the same bytes, or an error in one sentence."""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from distributed import Client, LocalCluster
from small_runs import FOUR, content, same, tiny

from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.experiments import parallel
from astraea.experiments.grid import grid, run_grid
from astraea.experiments.parallel import computing
from astraea.experiments.run import Run

MYMOD = """
import numba
import numpy as np
ORDER = np.array([1.0])

@numba.njit
def step():
    return int(ORDER[0])
"""
HELPED = """
from astraea.cluster.policy import all_candidates, fits, grant, policy

@policy("helped")
def helped(s):
    for j in all_candidates(s)[:: mymod.sub.step() * Mode.A.value]:
        if fits(s, j):
            grant(s, j)
"""


def policy_of_a_user(folder: Path) -> dict[str, Any]:
    """Code in the session of a user, and a module of theirs."""
    mymod = ModuleType("mymod")
    exec(compile(MYMOD, str(folder / "mymod.py"), "exec"), vars(mymod))
    mymod.sub = mymod  # type: ignore[attr-defined]
    scope: dict[str, Any] = {"__name__": "__main__", "mymod": mymod, "Mode": enum.IntEnum("Mode", {"A": 1})}
    exec(compile(HELPED, "<cell>", "exec"), scope)
    return scope


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_a_helper_reads_is_read_again_wherever_it_is(jobs: int, tmp_path: Path) -> None:
    def ends(scope: dict[str, Any], jobs: int, cache: str) -> list[float]:
        runs = [Run(tiny(name), FOUR, scope["helped"]) for name in ("x", "y")]
        with computing(jobs=jobs):
            found = run_grid(runs, cache=tmp_path / cache, progress=False)
        found.append(simulate(tiny(), FOUR, scope["helped"]))
        return [float(r.jobs["end_time"].sum()) for r in found]

    first, second = policy_of_a_user(tmp_path), policy_of_a_user(tmp_path)
    forward = ends(first, jobs, "cache")
    first["mymod"].ORDER[0] = -1.0
    backward = ends(first, jobs, "cache")
    assert all(one != other for one, other in zip(backward, forward, strict=True))
    second["Mode"] = enum.IntEnum("Mode", {"A": -1})  # who has compiled nothing before
    assert ends(second, 1, "other") == ends(second, jobs, "third") == backward
    assert len([*(tmp_path / "cache").iterdir()]) == 4


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A running scheduler may be slow on a busy machine."""
    monkeypatch.setattr(parallel, "DASK_TIMEOUT", 600)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made:
        yield made


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return grid([tiny(), tiny("twin")], [FOUR], ["astraea", "fifo"], {"lease_term": [100, 300]})


def there(scheduler: str) -> computing:
    """Compute on this Dask cluster."""
    return computing(backend="dask", scheduler=scheduler)


@pytest.mark.exhaustive
def test_dask_gives_the_same_bytes(cluster: Any, runs: list[Run], tmp_path: Path) -> None:
    with there(cluster.scheduler_address):
        far = run_grid(runs, cache=tmp_path / "dask", progress=False)
    here = run_grid(runs, cache=tmp_path / "here", progress=False)
    assert content(tmp_path / "dask") == content(tmp_path / "here")
    for a, b in zip(far, here, strict=True):
        same(a, b)


@pytest.mark.exhaustive
def test_a_failing_run_on_dask_is_named(cluster: Any, runs: list[Run], tmp_path: Path) -> None:
    (bad,) = grid([tiny("short")], [FOUR], ["astraea"], {"lease_term": [5]})
    named = r"trace short, .* policy astraea \(lease_term=5.* seed 0: .*interval"
    with there(cluster.scheduler_address), pytest.raises(InputError, match=named):
        run_grid([bad, *runs], cache=tmp_path, progress=False)
    assert {p.stem for p in tmp_path.iterdir()} == {run.key for run in runs}


@pytest.mark.exhaustive
def test_a_scheduler_without_workers(runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = Client.wait_for_workers
    monkeypatch.setattr(Client, "wait_for_workers", lambda client, n, timeout: wait(client, n, timeout=1))
    with LocalCluster(n_workers=0, dashboard_address=":0") as empty:
        with there(empty.scheduler_address), pytest.raises(InputError, match="has no workers"):
            run_grid(runs, cache=tmp_path, progress=False)


@pytest.mark.exhaustive
def test_no_scheduler_or_no_dask_there(runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "DASK_TIMEOUT", 1)
    sentence = r"no Dask scheduler answers at tcp://127\.0\.0\.1:9 within 1 s"
    with there("tcp://127.0.0.1:9"), pytest.raises(InputError, match=sentence):
        run_grid(runs, cache=tmp_path, progress=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with there("tcp://127.0.0.1:9"), pytest.raises(InputError, match=r"pip install 'astraea\[dask\]'"):
        run_grid(runs, cache=tmp_path, progress=False)
