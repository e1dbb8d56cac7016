"""A burst after idleness: what is submitted, when, and who lacks what for how long."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from listed_jobs import listed

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas
from astraea.cluster.policies import get_policy
from astraea.cluster.simulate import simulate
from astraea.cluster.simulation import split_off_impossible
from astraea.traces.trace import Trace
from papers.running.grids import one_tenant_grid
from papers.ye2022.burst import (
    DURATION,
    HORIZON,
    SCHEDULERS,
    SIZE,
    burst_curves,
    burst_figures,
    burst_grid,
    burst_start,
    burst_table,
    with_burst,
    with_newcomer,
)

HOUR = 3600.0


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
        rows.append({**row, **burst_figures(simulate(trace, cluster, get_policy(scheduler)(**parameters)))})
    return pd.DataFrame(rows)


def test_a_static_quota_takes_nothing_from_anyone() -> None:
    got = burst_table(runs("yarn-cs")).iloc[0]
    assert got["finished"] == pytest.approx(HORIZON * HOUR, rel=0.01)
    assert got["lacking"] == pytest.approx(0, abs=1e-9)
    assert got["short_with"] == got["short_without"] == 0


def test_a_long_memory_serves_the_burst_first() -> None:
    plain, windowed = runs("astraea"), runs("astraea", tenant_window=24 * HOUR)
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
    assert len(grid.runs) == 2 * 2 * len(SCHEDULERS)
    assert {run.key for run in grid.runs} <= {run.key for run in one_tenant_grid("venus", "small").runs}
    for run, row in zip(grid.runs, grid.index.itertuples(), strict=True):
        assert (row.tenant in np.array(run.trace.tenants)[run.trace.tenant]) == (row.run == "after")
        assert float(row.start) % HOUR == 0  # type: ignore[arg-type]
        assert run.trace.history is not None
