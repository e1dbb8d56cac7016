"""A burst after idle days: its jobs, its time, and its cost to the others."""

from __future__ import annotations

import pandas as pd
import pytest
from listed_jobs import listed

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas
from astraea.cluster.policy import Policy
from astraea.cluster.simulate import simulate
from astraea.cluster.simulation import split_off_impossible
from astraea.core.units import HOUR
from astraea.traces.trace import Trace
from papers.ye2022.burst import (
    DURATION,
    HORIZON,
    SIZE,
    burst_start,
    done_and_lacking,
    with_burst,
    with_newcomer,
)
from papers.ye2022.with_rules import astraea_with_rules


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


def curves(scheduler: str | Policy, **parameters: float) -> pd.DataFrame:
    """A burst after three days, on 24 GPUs of which the newcomer's quota is 8."""
    cluster, start = Cluster(3, 8), 72 * HOUR
    idle, name = with_newcomer(steady(8), cluster)
    pair = [simulate(trace, cluster, scheduler, **parameters)
            for trace in (idle, with_burst(idle, cluster, name, start))]  # fmt: skip
    return done_and_lacking(*pair, name, start).set_index("time")


def test_a_long_memory_serves_the_burst_first_and_a_static_quota_takes_nothing() -> None:
    static = curves("yarn-cs")
    assert static.index.tolist() == [HOUR * k for k in range(HORIZON + 1)]
    assert static["done"].to_numpy() == pytest.approx([k / HORIZON for k in range(HORIZON + 1)], abs=0.01)
    assert static["lacking"].to_numpy() == pytest.approx(0, abs=1e-9)
    plain = curves("astraea")
    # three days of 8 GPUs are owed: all 24 GPUs go to the burst for the first half of its 768 GPU-hours
    assert plain["done"].loc[0] == 0
    assert plain["done"].loc[12 * HOUR] == pytest.approx(24 * 12 / 768, abs=0.03)
    assert plain["done"].is_monotonic_increasing and plain["done"].iloc[-1] == pytest.approx(1)
    # the others get nothing in the meantime; as soon as enough of a's jobs wait, they are owed 12 + 4 GPUs
    assert plain["lacking"].loc[12 * HOUR] == pytest.approx(16 * 12 / 768, abs=0.03)
    forgetful = curves(astraea_with_rules, tenant_window=24 * HOUR)
    assert forgetful["lacking"].loc[24 * HOUR] < plain["lacking"].loc[24 * HOUR]
