"""What the cache keeps of a run: every measure of the studies gives the same of it as of the whole result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from astraea.cluster.simulate import simulate
from astraea.core.metrics import summary, tenant_windows
from astraea.core.result import Result
from astraea.experiments.archive import pack, reduced, unpack
from astraea.experiments.grid import Grid, kept_summary
from astraea.experiments.run import Run
from astraea.traces.trace import Trace
from papers.ye2022 import burst, characterize, one_tenant, released, tables
from papers.ye2022.evaluation import READ, load_workload, run_of, size_grid


@pytest.fixture(scope="module")
def trace() -> Trace:
    return load_workload("venus", "small")[0].head(250)


@pytest.fixture(scope="module", params=["astraea", "astraea-released", "yarn-cs"])
def results(trace: Trace, request: pytest.FixtureRequest) -> tuple[Result, Result]:
    """All of a result, and what comes back of it from the cache."""
    run = run_of(trace, load_workload("venus", "small")[1], request.param)
    whole = simulate(run.trace, run.cluster, run.policy, settings=run.settings)
    kept = unpack(pack(reduced(whole, run.kept)))
    assert isinstance(kept, Result)
    return whole, kept


def equal(a: Any, b: Any) -> None:
    if isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_exact=True)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for name in a:
            equal(a[name], b[name])
    else:
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "measure",
    [
        summary, tenant_windows, tables.fairness_figures, tables.efficiency_figures, tables.longest_waits,
        tables.cluster_timeline, one_tenant.tenant_figures, one_tenant.hourly_service, burst.burst_figures,
        released.study_figures, released.job_figures,
    ],
)  # fmt: skip
def test_a_measure_of_what_is_kept(measure: Callable[[Result], Any], results: tuple[Result, Result]) -> None:
    whole, kept = results
    equal(measure(whole), measure(kept))


def test_what_notebook_01_reads(results: tuple[Result, Result], trace: Trace) -> None:
    whole, kept = results
    assert len(whole.excluded_jobs) == len(kept.excluded_jobs)
    for step in (3_600.0, 86_400.0):
        equal(*(characterize.tenant_utilization(trace, result, step) for result in results))
    equal(*(characterize.pending(trace, result)[0] for result in results))


def test_what_is_kept_is_small(results: tuple[Result, Result]) -> None:
    whole, kept = results
    assert len(pack(kept)) < 0.9 * len(pack(whole))  # much less of more jobs, where headers weigh nothing
    assert set(READ) == {"jobs", "excluded_jobs", "timeline"} and kept.grants is None


def test_of_sizes_the_summary_is_kept(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("astraea.experiments.cache.CACHE", tmp_path)
    assert {run.kept for run in size_grid("venus", "small").runs} == {"summary"}
    run = Run(trace, load_workload("venus", "small")[1], "fifo")
    whole, small = (Grid([r], pd.DataFrame({"seed": [0]})).table() for r in (run, replace(run, kept="summary")))
    equal(whole, small)
    assert kept_summary(pd.DataFrame([{"makespan": 1.0}])) == {"makespan": 1.0}
