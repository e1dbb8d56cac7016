"""A tenant that pays for twice the share: who it is, which jobs are compared, and what it gets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas
from astraea.cluster.simulate import simulate
from astraea.cluster.simulation import split_off_impossible
from astraea.core.errors import InputError
from astraea.traces.trace import Trace
from papers.running.grids import one_tenant_grid
from papers.ye2022.one_tenant import (
    attained_when_busy,
    before_and_after,
    busiest_tenant,
    heavier,
    hourly_service,
    paid_share_grid,
)
from papers.ye2022.readings import SCHEDULERS

HOUR = 3600.0


def crowded(last: int = 1) -> Trace:
    """Two tenants of equal weight that both keep 8 single GPUs busy for many hours; the last job may be a gang."""
    rows = [(f"{t}{k}", t, 1, 0.0, 8 * HOUR) for t in ("a", "b") for k in range(8)]
    rows.append(("z", "b", last, 10.0, HOUR))
    jobs = pd.DataFrame(rows, columns=["job_id", "tenant", "demand", "submit_time", "duration"])
    return Trace.from_frame(jobs, name="crowded", weights={"a": 1.0, "b": 1.0})


def measured(trace: Trace, tenant: str, scheduler: str, cluster: Cluster) -> pd.Series:
    """Row of `attained_when_busy` for one scheduler."""
    rows = []
    for run, jobs in zip(("before", "after"), before_and_after(trace, cluster, tenant), strict=True):
        quota = float(quotas(jobs, cluster.gpus)[jobs.tenants.index(tenant)])
        row = {"scheduler": scheduler, "seed": 0, "tenant": tenant, "run": run, "quota": quota}
        rows.append({**row, **hourly_service(simulate(jobs, cluster, scheduler))})
    return attained_when_busy(pd.DataFrame(rows)).iloc[0]


def test_one_weight_changes_and_nothing_else() -> None:
    trace = crowded()
    after = heavier(trace, "b")
    assert after.tenant_weight.tolist() == [1.0, 2.0]
    assert trace.tenant_weight.tolist() == [1.0, 1.0]
    assert after.name != trace.name and after.digest != trace.digest
    pd.testing.assert_frame_equal(after.frame, trace.frame)


def test_refused() -> None:
    with pytest.raises(InputError, match="no tenant is called 'c'"):
        heavier(crowded(), "c")


def test_busiest_for_its_quota() -> None:
    rows = [("1", "a", 4, 0.0, 100.0), ("2", "b", 3, 0.0, 100.0), ("3", "b", 8, 0.0, 100.0), ("4", "a", 1, 100.0, 9.0)]
    jobs = pd.DataFrame(rows, columns=["job_id", "tenant", "demand", "submit_time", "duration"])
    equal = Trace.from_frame(jobs, name="t", weights={"a": 1.0, "b": 1.0})
    assert busiest_tenant(equal, Cluster(2, 8)) == "b"
    assert busiest_tenant(equal, Cluster(1, 8)) == "a"  # the gang of 8 can never run on a quota of 4
    assert busiest_tenant(equal.with_weights({"a": 0.25, "b": 1.0}), Cluster(3, 8)) == "a"


def test_the_same_jobs_run_under_both_weights() -> None:
    cluster = Cluster(2, 8)
    # quotas 8 and 8; then a's is 10.7 and b's 5.3, which a gang of 6 does not fit
    for gang, jobs in ((5, 17), (6, 16)):
        before, after = before_and_after(crowded(gang), cluster, "a")
        assert before.job_id.tolist() == after.job_id.tolist()
        assert len(after) == jobs
        assert before.tenant_weight.tolist() == [1.0, 1.0]
        assert after.tenant_weight.tolist() == [2.0, 1.0]
        assert split_off_impossible(after, cluster)[1].empty
    # a's gang of 10 could run afterwards, but not before
    assert before_and_after(crowded(10), cluster, "b")[1].job_id.tolist().count("z") == 0


def test_whoever_pays_more_gets_more_where_weights_count() -> None:
    cluster = Cluster(1, 8)
    got = measured(crowded(), "b", "astraea", cluster)
    assert got["paid"] == pytest.approx(2 / 3 / 0.5)
    assert got["busy_hours"] >= 5
    assert got["before"] == pytest.approx(1, abs=0.1)
    assert got["gained"] == pytest.approx(got["paid"], rel=0.1)
    assert measured(crowded(), "b", "tiresias-l", cluster)["gained"] == pytest.approx(1)


def test_without_a_busy_hour_nothing_is_said() -> None:
    got = measured(crowded().head(2), "a", "fifo", Cluster(2, 8))
    assert got["busy_hours"] == 0
    assert np.isnan(got["gained"])


def test_the_grid_has_the_same_jobs_in_both_runs() -> None:
    grid = paid_share_grid("venus", "small")
    assert len(grid.runs) == 2 * 2 * len(SCHEDULERS)
    assert {run.key for run in grid.runs} <= {run.key for run in one_tenant_grid("venus", "small").runs}
    for (_, scheduler), rows in grid.index.groupby(["seed", "scheduler"]):
        old, new = (grid.runs[k] for k in rows.index)
        assert old.policy == new.policy
        assert old.policy.name == ("astraea" if scheduler == "algorithm-1" else scheduler)
        runnable = [split_off_impossible(run.trace, run.cluster)[0].job_id.tolist() for run in (old, new)]
        assert runnable[0] == runnable[1]
        assert 1 < rows["quota"].iloc[1] / rows["quota"].iloc[0] < 2
