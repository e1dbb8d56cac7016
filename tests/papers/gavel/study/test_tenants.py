"""LTGF beside Gavel's policies on tenants: which jobs, how large a cluster, and what is measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from synthetic_traces import synthetic

from astraea.core.errors import InputError
from astraea.core.metrics import tenant_windows
from astraea.core.result import Result
from astraea.traces.trace import Trace
from papers.gavel.generators import from_trace
from papers.gavel.policies import POLICIES as KNOWN
from papers.gavel.study.tenants import (
    JOBS,
    LOAD,
    POLICIES,
    SMALL_JOBS,
    both_papers,
    effective_load,
    equal_workers,
    in_effective_time,
    tenant_jobs,
    tenants_grid,
)
from papers.gavel.throughputs.table import Throughputs

DATA = Path("../shared/data")
COMPACT = Throughputs.compact()


@pytest.fixture(scope="module")
def philly() -> Trace:
    return synthetic("philly")


def test_every_kth_job_of_the_whole_trace(philly):
    whole = from_trace(philly, COMPACT, seed=0)
    kept = tenant_jobs(philly, COMPACT, "paper", 0)
    assert abs(len(kept) - JOBS["paper"]) <= 0.05 * JOBS["paper"]
    assert kept.arrival_time[-1] > 0.98 * whole.arrival_time[-1]
    assert kept.entity_weight.tolist() == philly.tenant_weight.tolist()
    row = {job: i for i, job in enumerate(whole.job_id)}
    where = np.array([row[job] for job in kept.job_id])
    assert set(np.diff(where)) == {where[1] - where[0]}
    for column in ("total_steps", "arrival_time", "entity", "scale_factor"):
        np.testing.assert_array_equal(getattr(kept, column), getattr(whole, column)[where])
    each, load = equal_workers(kept, COMPACT), effective_load(kept, COMPACT)
    assert each > kept.scale_factor.max()
    assert load / (3 * each) <= LOAD < load / (3 * (each - 1))
    small = tenant_jobs(philly, COMPACT, "small", 0)
    assert small.job_id == kept.job_id[:SMALL_JOBS]


def test_load_by_hand():
    frame = pd.DataFrame(
        {"job_id": ["a", "b"], "tenant": ["x", "y"], "demand": [2, 1], "submit_time": [0.0, 7200.0],
         "duration": [1800.0, 600.0]}
    )  # fmt: skip
    jobs = from_trace(Trace.from_frame(frame), COMPACT, seed=0)
    speed = COMPACT.alone(jobs.job_type[0], 2)
    # the second job arrives at the end; the first is done before, on its mean speed too or not
    busy = min(1800.0 * speed[0] / speed.mean(), 7200.0)
    assert effective_load(jobs, COMPACT) == pytest.approx(2 * busy / 7200)
    assert equal_workers(jobs, COMPACT) == 2


@pytest.fixture(scope="module")
def small() -> tuple[pd.DataFrame, list[Result]]:
    results: list[Result] = []

    def kept(result: Result):
        results.append(result)
        return both_papers(result)

    return tenants_grid("small").table(kept), results


def test_the_same_jobs_for_every_policy(small):
    grid = tenants_grid("small")
    assert list(grid.index["policy"]) == list(POLICIES) and set(POLICIES) <= set(KNOWN)
    assert len({id(run.arguments.workload) for run in grid.runs}) == len(grid.index["seed"].unique()) == 1
    assert len(grid.runs[0].arguments.workload.entity_weight) == 15
    table, results = small
    done = [(r.jobs["effective_service"]).sum() for r in results]
    assert done == pytest.approx([done[0]] * len(POLICIES))
    shares = table.filter(like="sharing_loss")
    assert list(shares) == [
        "sharing_loss", "tenant_sharing_loss", "tenant_sharing_loss_95", "effective_sharing_loss",
        "effective_tenant_sharing_loss", "effective_tenant_sharing_loss_95",
    ]  # fmt: skip
    assert ((shares >= 0) & (shares <= 1)).all(axis=None)
    assert (table["tenant_sharing_loss_95"] <= table["tenant_sharing_loss"]).all()
    assert (table["p99_jct"] >= table["average_jct"]).all()


def test_metrics_in_effective_time(small):
    result = small[1][0]
    counted = in_effective_time(result)
    assert (counted.jobs["rho_job"] == result.jobs["rho_effective"]).all()
    assert result.jobs["rho_job"].ne(result.jobs["rho_effective"]).any()
    windows, raw = tenant_windows(counted), tenant_windows(result)
    assert (windows["fair_service"] == raw["fair_service"]).all()
    line = result.timeline.pivot_table(index="time", columns="tenant", values="effective_service")
    first = windows[windows["window_start"] == 3600.0].set_index("tenant")["attained_service"]
    assert first.to_numpy() == pytest.approx((line.loc[25 * 3600.0] - line.loc[3600.0])[first.index].to_numpy())


def test_another_trace():
    table = DATA / "gavel" / "simulation_throughputs.json"
    folder = DATA / "philly-gavel"
    if not (table.is_file() and folder.is_dir()):
        pytest.skip(f"needs {table} and {folder}")
    grid = tenants_grid("small", str(table), str(folder))
    jobs = grid.runs[0].arguments.workload
    assert len(jobs) == SMALL_JOBS and len(jobs.entity_weight) == 15 and len(np.unique(jobs.entity)) > 5
    with pytest.raises(InputError, match="no such file or folder"):
        tenants_grid("small", "", "nowhere")
