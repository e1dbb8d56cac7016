"""One tenant before and after a change, over-claiming or a paid share: what is changed, measured and compared."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from listed_jobs import listed

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas
from astraea.cluster.simulate import simulate
from astraea.cluster.simulation import split_off_impossible
from astraea.core.errors import InputError
from astraea.traces.trace import Trace
from papers.running.grids import one_tenant_grid
from papers.ye2022.evaluation import main_grid
from papers.ye2022.one_tenant import (
    attained_when_busy,
    before_and_after,
    busiest_tenant,
    changes,
    heavier,
    hourly_service,
    hours,
    over_claimed,
    over_claiming_grid,
    own_and_others,
    paid_share_grid,
    tenant_figures,
    typical_tenant,
)
from papers.ye2022.readings import PAPERS, SCHEDULERS

HOUR = 3600.0


def three_tenants() -> Trace:
    """GPU-time: a 400, b 1,600 and c 8,000 GPU-s; d has no job."""
    jobs = [("1", "a", 4, 0.0, 100.0), ("2", "b", 2, 0.0, 400.0), ("3", "b", 4, 0.0, 200.0), ("4", "c", 8, 0.0, 1000.0)]
    return listed(*jobs, name="three", weights=dict.fromkeys("abcd", 1.0))


def crowded(last: int = 1) -> Trace:
    """Two tenants of equal weight that both keep 8 single GPUs busy for many hours; the last job may be a gang."""
    jobs = [(f"{t}{k}", t, 1, 0.0, 8 * HOUR) for t in ("a", "b") for k in range(8)]
    return listed(*jobs, ("z", "b", last, 10.0, HOUR), name="crowded", weights={"a": 1.0, "b": 1.0})


def test_service_of_every_hour() -> None:
    jobs = [("1", "a", 4, 0.0, 9000.0), ("2", "b", 2, HOUR, 1800.0)]
    service = hourly_service(simulate(listed(*jobs), Cluster(1, 8), "fifo"))  # ends at 9000 s: two whole hours
    assert service["attained"]["a"].tolist() == [4 * HOUR, 4 * HOUR]
    assert service["attained"]["b"].tolist() == [0.0, 2 * 1800.0]
    assert service["fair"]["b"].tolist() == pytest.approx([0.0, 2 * 1800.0])
    assert hours(service["attained"], 1, 3).tolist() == [[4 * HOUR, 2 * 1800.0], [0.0, 0.0], [0.0, 0.0]]


def test_jobs_of_one_tenant_ask_for_more() -> None:
    honest = three_tenants()
    over = over_claimed(honest, "b", 6)
    assert over.demand.tolist() == [4, 4, 4, 8]  # job 3 would need 8 of 6
    assert over.duration.tolist() == [100.0, 250.0, 200.0, 1000.0]
    assert over_claimed(honest, "b", 8).demand.tolist() == [4, 4, 8, 8]
    with pytest.raises(InputError, match="no tenant is called 'e'"):
        over_claimed(honest, "e", 8)


def test_gains_by_hand() -> None:
    """There is room for all: who over-claims is done sooner, and nobody else is later."""
    trace, keys = three_tenants(), {"seed": 0, "tenant": "b"}
    results = [simulate(t, Cluster(4, 8), "fifo") for t in (trace, over_claimed(trace, "b", 8))]
    rows = [
        {"scheduler": scheduler, **keys, "run": run, **tenant_figures(result)}
        for scheduler in ("fifo", "again")
        for run, result in zip(("before", "after"), results, strict=True)
    ]
    table = pd.DataFrame(rows)
    figures = own_and_others(table)
    assert figures["own_running"].tolist() == figures["own_jct"].tolist() == [300.0, 187.5] * 2
    assert figures["others_jct"].tolist() == [550.0] * 4
    assert figures["own_service"].tolist() == pytest.approx([1600.0, 2000.0] * 2)  # 1 / 0.8
    changed = changes(figures.iloc[[3, 0, 2, 1]])  # in any order: pairs are of one scheduler and seed
    assert changed["own_jct"].tolist() == [0.625] * 2 and changed["others_jct"].tolist() == [1.0] * 2
    alone = own_and_others(table.assign(tenant="nobody"))
    assert alone["own_jct"].isna().all() and np.isfinite(alone["others_jct"]).all()


def test_one_weight_changes_and_nothing_else() -> None:
    trace = crowded()
    after = heavier(trace, "b")
    assert after.tenant_weight.tolist() == [1.0, 2.0] and trace.tenant_weight.tolist() == [1.0, 1.0]
    pd.testing.assert_frame_equal(after.frame, trace.frame)


def test_the_typical_tenant_and_the_busiest_for_its_quota() -> None:
    assert typical_tenant(three_tenants()) == "b"  # the median of those with jobs
    assert typical_tenant(three_tenants().head(3)) == "a"  # of two, the lower
    jobs = [("1", "a", 4, 0.0, 100.0), ("2", "b", 3, 0.0, 100.0), ("3", "b", 8, 0.0, 100.0), ("4", "a", 1, 100.0, 9.0)]
    equal = listed(*jobs, weights={"a": 1.0, "b": 1.0})
    assert busiest_tenant(equal, Cluster(2, 8)) == "b"
    assert busiest_tenant(equal, Cluster(1, 8)) == "a"  # the gang of 8 can never run on a quota of 4
    assert busiest_tenant(equal.with_weights({"a": 0.25, "b": 1.0}), Cluster(3, 8)) == "a"


def test_the_same_jobs_run_under_both_weights() -> None:
    cluster = Cluster(2, 8)
    # quotas 8 and 8; then a's is 10.7 and b's 5.3, which a gang of 6 does not fit
    for gang, jobs in ((5, 17), (6, 16)):
        before, after = before_and_after(crowded(gang), cluster, "a")
        assert before.job_id.tolist() == after.job_id.tolist() and len(after) == jobs
        assert before.tenant_weight.tolist() == [1.0, 1.0] and after.tenant_weight.tolist() == [2.0, 1.0]
        assert split_off_impossible(after, cluster)[1].empty
    # b's gang of 10 could run afterwards, but not before
    assert "z" not in before_and_after(crowded(10), cluster, "b")[1].job_id


@pytest.mark.parametrize(("scheduler", "gained"), [("astraea", 4 / 3), ("tiresias-l", 1)])
def test_whoever_pays_more_gets_more_where_weights_count(scheduler: str, gained: float) -> None:
    got = measured(crowded(), "b", scheduler, Cluster(1, 8))
    assert got["paid"] == pytest.approx(2 / 3 / 0.5)
    assert got["busy_hours"] >= 5
    assert got["before"] == pytest.approx(1, abs=0.1) or scheduler != "astraea"
    assert got["gained"] == pytest.approx(gained, rel=0.1)
    idle = measured(crowded().head(2), "a", scheduler, Cluster(2, 8))
    assert idle["busy_hours"] == 0 and np.isnan(idle["gained"])


def measured(trace: Trace, tenant: str, scheduler: str, cluster: Cluster) -> pd.Series:
    """Row of `attained_when_busy` for one scheduler."""
    rows = []
    for run, jobs in zip(("before", "after"), before_and_after(trace, cluster, tenant), strict=True):
        quota = float(quotas(jobs, cluster.gpus)[jobs.tenants.index(tenant)])
        row = {"scheduler": scheduler, "seed": 0, "tenant": tenant, "run": run, "quota": quota}
        rows.append({**row, **hourly_service(simulate(jobs, cluster, scheduler))})
    return attained_when_busy(pd.DataFrame(rows)).iloc[0]


def test_honest_runs_are_those_of_the_main_grid() -> None:
    grid, main = over_claiming_grid("venus", "small"), main_grid("venus", "small")
    honest = [run.key for run, when in zip(grid.runs, grid.index["run"], strict=True) if when == "before"]
    papers = main.index["reading"] == PAPERS
    assert honest == [run.key for run, mine in zip(main.runs, papers, strict=True) if mine]
    assert len({run.key for run in grid.runs}) == len(grid.runs) == 2 * 2 * len(SCHEDULERS)
    assert {run.key for run in grid.runs} <= {run.key for run in one_tenant_grid("venus", "small").runs}
    assert grid.index.groupby("seed")["tenant"].nunique().eq(1).all()


def test_the_paid_share_has_the_same_jobs_in_both_runs() -> None:
    grid = paid_share_grid("venus", "small")
    assert len(grid.runs) == 2 * 2 * len(SCHEDULERS)
    for _, rows in grid.index.groupby(["seed", "scheduler"]):
        old, new = (grid.runs[k] for k in rows.index)
        assert old.policy == new.policy
        runnable = [split_off_impossible(run.trace, run.cluster)[0].job_id.tolist() for run in (old, new)]
        assert runnable[0] == runnable[1]
        assert 1 < rows["quota"].iloc[1] / rows["quota"].iloc[0] < 2
