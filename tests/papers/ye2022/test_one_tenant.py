"""One tenant before and after a change: over-claiming, a paid share, or a burst after idleness."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from listed_jobs import listed

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas
from astraea.cluster.simulate import simulate, split_off_impossible
from astraea.core.errors import InputError
from astraea.core.units import HOUR
from astraea.traces.trace import Trace
from papers.running.grids import one_tenant_grid
from papers.ye2022 import burst
from papers.ye2022.burst import (
    DURATION,
    HORIZON,
    SIZE,
    burst_curves,
    burst_figures,
    burst_grid,
    burst_start,
    burst_table,
    with_burst,
    with_newcomer,
)
from papers.ye2022.evaluation import main_grid
from papers.ye2022.one_tenant import (
    attained_when_busy,
    before_and_after,
    busiest_tenant,
    changes,
    hourly_service,
    hours,
    over_claimed,
    over_claiming_grid,
    own_and_others,
    paid_share_grid,
    tenant_figures,
    typical_tenant,
)
from papers.ye2022.readings import COMPARED, PAPERS, policy_named


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
    """There is room for all: a tenant that over-claims is done sooner, and no other is later."""
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
    assert len({run.key for run in grid.runs}) == len(grid.runs) == 2 * 2 * len(COMPARED[PAPERS])
    assert {run.key for run in grid.runs} <= {run.key for run in one_tenant_grid("venus", "small").runs}
    assert grid.index.groupby("seed")["tenant"].nunique().eq(1).all()


def test_the_paid_share_has_the_same_jobs_in_both_runs() -> None:
    grid = paid_share_grid("venus", "small")
    assert len(grid.runs) == 2 * 2 * len(COMPARED[PAPERS])
    for _, rows in grid.index.groupby(["seed", "scheduler"]):
        old, new = (grid.runs[k] for k in rows.index)
        assert old.policy == new.policy
        runnable = [split_off_impossible(run.trace, run.cluster)[0].job_id.tolist() for run in (old, new)]
        assert runnable[0] == runnable[1]
        assert 1 < rows["quota"].iloc[1] / rows["quota"].iloc[0] < 2


def steady(days: int = 4) -> Trace:
    """Two tenants that together always ask for 16 GPUs, in jobs of one hour."""
    jobs = [(f"{t}{h:03}-{k}", t, 1, h * HOUR, HOUR) for h in range(24 * days) for t in ("a", "b") for k in range(8)]
    return listed(*jobs, name="steady", weights={"a": 3.0, "b": 1.0})


def test_a_newcomer_of_average_weight_asks_for_several_times_its_quota_at_once() -> None:
    cluster = Cluster(3, 8)
    idle, name = with_newcomer(steady(), cluster)  # quotas 12, 4 and 8
    assert dict(zip(idle.tenants, idle.tenant_weight, strict=True)) == {"a": 3.0, "b": 1.0, "newcomer": 2.0}
    assert idle.frame["tenant"].tolist() == steady().frame["tenant"].tolist()
    trace = with_burst(idle, cluster, name, 30 * HOUR)
    own = trace.frame[trace.frame["tenant"] == name]
    assert own["demand"].tolist() == [4] * (SIZE * 8 // 4)
    assert set(own["submit_time"]) == {30 * HOUR} and set(own["duration"]) == {DURATION}
    others = trace.frame[trace.frame["tenant"] != name].reset_index(drop=True)
    pd.testing.assert_frame_equal(others, idle.frame)
    assert trace.tenant_weight.tolist() == idle.tenant_weight.tolist()
    assert split_off_impossible(trace, cluster)[1]["tenant"].ne(name).all()
    again, other = with_newcomer(idle, cluster)
    assert other == "newcomer+" and other in again.tenants
    crowded, name = with_newcomer(listed(*((t, t, 1, 0.0, 9.0) for t in "abcd")), Cluster(1, 3))
    assert quotas(crowded, 3)[crowded.tenants.index(name)] == pytest.approx(1)  # a GPU at least
    assert len(with_burst(crowded, Cluster(1, 3), name, 0.0)) == 4 + SIZE


def test_it_comes_when_most_is_going_on() -> None:
    # 4 days: hours 48 to 72; the jobs of hour 60 take three hours, those of 61 come on top
    trace = listed(*((f"j{h}", "a", 1, h * HOUR, (3 if h == 60 else 1) * HOUR) for h in range(97)))
    assert burst_start(trace) == 61 * HOUR
    assert burst_start(trace.head(2)) == burst_start(trace.head(1)) == 0


def runs(scheduler: str, **parameters: float) -> pd.DataFrame:
    """Without and with a burst after three days, on 24 GPUs of which the newcomer's quota is 8."""
    cluster, start = Cluster(3, 8), 72 * HOUR
    idle, name = with_newcomer(steady(8), cluster)
    rows = []
    for run, trace in (("before", idle), ("after", with_burst(idle, cluster, name, start))):
        row = {"scheduler": scheduler, "seed": 0, "tenant": name, "run": run, "start": start}
        rows.append({**row, **burst_figures(simulate(trace, cluster, policy_named(scheduler)(**parameters)))})
    return pd.DataFrame(rows)


def test_a_long_memory_serves_the_burst_first_and_a_static_quota_takes_nothing() -> None:
    static = burst_table(runs("yarn-cs")).iloc[0]
    assert static["finished"] == pytest.approx(HORIZON * HOUR, rel=0.01)
    assert static["lacking"] == pytest.approx(0, abs=1e-9)
    assert static["short_with"] == static["short_without"] == 0
    plain, windowed = runs("astraea"), runs("astraea-with-rules", tenant_window=24 * HOUR)
    curves = burst_curves(plain).set_index("time")
    # three days of 8 GPUs are owed: all 24 GPUs go to the burst for the first half of its 768 GPU-hours
    assert curves["done"].loc[0] == 0
    assert curves["done"].loc[12 * HOUR] == pytest.approx(24 * 12 / 768, abs=0.03)
    assert curves["done"].is_monotonic_increasing and curves["done"].iloc[-1] == pytest.approx(1)
    # the others get nothing in the meantime; as soon as enough of a's jobs wait, they are owed 12 + 4 GPUs
    assert curves["lacking"].loc[12 * HOUR] == pytest.approx(16 * 12 / 768, abs=0.03)
    forgetful = burst_curves(windowed).set_index("time")
    assert forgetful["lacking"].loc[24 * HOUR] < curves["lacking"].loc[24 * HOUR]
    first, second = burst_table(plain).iloc[0], burst_table(windowed).iloc[0]
    assert first["finished"] < second["finished"]
    assert first["short_with"] > second["short_with"] > second["short_without"] == 0
    assert first["lacking"] == pytest.approx(curves["lacking"].iloc[-1])


def test_the_grid_pairs_a_burst_with_none() -> None:
    grid = burst_grid("venus", "small")
    assert len(grid.runs) == 2 * 2 * len(burst.SCHEDULERS)
    assert {run.key for run in grid.runs} <= {run.key for run in one_tenant_grid("venus", "small").runs}
    for run, row in zip(grid.runs, grid.index.itertuples(), strict=True):
        assert (row.tenant in np.array(run.trace.tenants)[run.trace.tenant]) == (row.run == "after")
        assert float(row.start) % HOUR == 0  # type: ignore[arg-type]
        assert run.trace.history is not None
