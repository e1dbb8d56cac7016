"""The same grid on a Dask cluster: same bytes, and sentences where the cluster is not what it should be."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster
from small_runs import FOUR, content, same, tiny

from astraea.core.errors import InputError
from astraea.experiments import parallel
from astraea.experiments.grid import grid, run_grid
from astraea.experiments.parallel import computing
from astraea.experiments.run import Run

pytestmark = pytest.mark.exhaustive


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler that is there may take its time, on a busy machine."""
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


def test_dask_gives_the_same_bytes(cluster: Any, runs: list[Run], tmp_path: Path) -> None:
    with there(cluster.scheduler_address):
        far = run_grid(runs, cache=tmp_path / "dask", progress=False)
    here = run_grid(runs, cache=tmp_path / "here", progress=False)
    assert content(tmp_path / "dask") == content(tmp_path / "here")
    for a, b in zip(far, here, strict=True):
        same(a, b)


def test_a_failing_run_on_dask_is_named(cluster: Any, runs: list[Run], tmp_path: Path) -> None:
    (bad,) = grid([tiny("short")], [FOUR], ["astraea"], {"lease_term": [5]})
    named = r"trace short, .* policy astraea \(lease_term=5.* seed 0: .*interval"
    with there(cluster.scheduler_address), pytest.raises(InputError, match=named):
        run_grid([bad, *runs], cache=tmp_path, progress=False)
    assert {p.stem for p in tmp_path.iterdir()} == {run.key for run in runs}


def test_a_scheduler_without_workers(runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = Client.wait_for_workers
    monkeypatch.setattr(Client, "wait_for_workers", lambda client, n, timeout: wait(client, n, timeout=1))
    with LocalCluster(n_workers=0, dashboard_address=":0") as empty:
        with there(empty.scheduler_address), pytest.raises(InputError, match="has no workers"):
            run_grid(runs, cache=tmp_path, progress=False)


def test_no_scheduler_or_no_dask_there(runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "DASK_TIMEOUT", 1)
    sentence = r"no Dask scheduler answers at tcp://127\.0\.0\.1:9 within 1 s"
    with there("tcp://127.0.0.1:9"), pytest.raises(InputError, match=sentence):
        run_grid(runs, cache=tmp_path, progress=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with there("tcp://127.0.0.1:9"), pytest.raises(InputError, match=r"pip install 'astraea\[dask\]'"):
        run_grid(runs, cache=tmp_path, progress=False)
