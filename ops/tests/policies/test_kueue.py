"""Kueue's admission fair sharing: Kueue's own test cases, a naive twin, and schedules small enough to draw."""

from __future__ import annotations

from typing import Any

import kueue_naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kueue_cases import CASES, GROUPS, OTHERWISE, Case
from schedules import FREE, check, jobs, trace_of

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.rules import no_rules
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.traces.trace import Trace


@pytest.mark.parametrize("case", CASES, ids=[f"{c['group']}: {c['name']}" for c in CASES])
def test_case_of_kueue(case: Case) -> None:
    if case["name"] in OTHERWISE:
        pytest.skip(OTHERWISE[case["name"]])
    GROUPS[case["group"]](case)


def test_at_least_95_percent_of_kueues_cases_have_a_counterpart(shared: Any) -> None:
    assert len(CASES) == 83
    assert sum(case["name"] in OTHERWISE for case in CASES) == len(OTHERWISE) <= 0.05 * 83


KUEUE = {"usage_half_life_time": 100, "usage_sampling_interval": 20}
SCHEDULES: dict[str, tuple[Any, ...]] = {
    "the penalty of a job counts when the next one is chosen": (
        "kueue-afs", 2, KUEUE,
        "a0 1 0 30 |S==",
        "a1 1 0 30 |...S==",
        "b2 1 0 30 |S==",
        "b3 1 0 30 |...S==",
    ),
    "without memory it is first in, first out, and what does not fit is passed over": (
        "kueue-afs", 2, {"usage_half_life_time": [0, 100]},
        "a0 1 0 30  |S==     |S==",
        "a1 1 0 20  |S=      |..S=",  # b came later, but has used nothing
        "a2 2 0 10  |....S   |....S",
        "b3 1 0 20  |..S=    |S=",
    ),
    "usage is compared for the weight": (
        "kueue-afs", 1, KUEUE | {"weights": [{"a": 1, "b": 1}, {"a": 9, "b": 1}]},
        "a0 1 0 40 |S===     |S===",
        "a1 1 0 10 |.......S |......S",
        "b2 1 0 20 |....S=   |....S=",
        "b3 1 0 10 |......S  |.......S",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SCHEDULES.values(), ids=SCHEDULES)
def test_schedule(case: tuple[Any, ...]) -> None:
    check(*case)


def test_a_job_that_finds_no_place_pays_nothing() -> None:
    """b1 may run on the first node only, which b0 holds: it is chosen at every round until z leaves no node free."""
    rows = jobs("b0 2 0 300", "a1 2 10 80", "b1 2 20 9", "z0 2 80 100", "a2 2 85 10", "b2 2 85 10")
    trace, cluster = trace_of(rows, {"a": 1, "b": 2, "z": 1}), Cluster(3, 2)
    on_first = np.isin(trace.job_id, ["b0", "b1"]).astype(np.int64)
    rules = no_rules(trace, cluster)._replace(allowed=np.array([[True] * 3, [True, False, False]]), kind=on_first)
    found = simulate(trace, cluster, get_policy("kueue-afs").with_parameters(**KUEUE), settings=FREE, rules=rules).jobs
    starts = dict(zip(found["job_id"], found["first_start_time"], strict=True))
    # a2 would be first if b had been charged for b1 at every round
    assert starts == {"b0": 0, "a1": 10, "b1": 300, "z0": 80, "a2": 100, "b2": 90}


@pytest.mark.parametrize("bonus, order", [([0, 0, 0, 0], "a1 b3 a2 b4"), ([0, 5, 0, 9], "b4 a2 b3 a1")])
def test_priority_decides_within_a_queue(bonus: list[int], order: str) -> None:
    rows = jobs("a1 1 0 10", "a2 1 0 10", "b3 1 0 10", "b4 1 0 10")
    trace, cluster = trace_of(rows), Cluster(1, 1)
    rules = no_rules(trace, cluster)._replace(bonus=np.array(bonus, float))
    found = simulate(trace, cluster, get_policy("kueue-afs").with_parameters(**KUEUE), settings=FREE, rules=rules).jobs
    assert " ".join(found.sort_values("first_start_time")["job_id"]) == order


row = st.tuples(st.sampled_from("abc"), st.integers(1, 4), st.integers(0, 400), st.integers(1, 300))


@settings(deadline=None)
@given(
    st.lists(row, min_size=2, max_size=15), st.integers(4, 6), st.sampled_from([30, 100, 1000]),
    st.sampled_from([7, 20, 50]), st.sampled_from([1, 10]), st.tuples(*[st.sampled_from([1.0, 2.0, 3.0])] * 3),
)  # fmt: skip
def test_as_the_naive_twin(
    rows: list[tuple[str, int, int, int]], gpus: int, half_life: float, sampling: float, every: int,
    weight: tuple[float, ...],
) -> None:  # fmt: skip
    rows = sorted(rows, key=lambda r: r[2])
    weights = dict(zip("abc", weight, strict=True))
    expected = [kueue_naive.Job(*r) for r in rows]
    kueue_naive.admit(expected, weights, gpus, half_life, sampling, every)
    table = pd.DataFrame(rows, columns=["tenant", "demand", "submit_time", "duration"]).assign(job_id=range(len(rows)))
    policy = get_policy("kueue-afs").with_parameters(usage_half_life_time=half_life, usage_sampling_interval=sampling)
    free = Settings(interval=every, checkpoint_overhead=0, restart_overhead=0)
    found = simulate(Trace.from_frame(table, weights=weights), Cluster(1, gpus), policy, settings=free)
    assert found.jobs["first_start_time"].tolist() == [job.start for job in expected]
