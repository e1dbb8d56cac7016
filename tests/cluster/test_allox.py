"""AlloX: the plan has the least cost, alpha chooses the tenants, nothing that fits waits."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import drawn, jobs, simulated
from scipy.optimize import linear_sum_assignment

from astraea.cluster.engine.state import F, I
from astraea.cluster.policies.allox import plan

Instance = tuple[F, I, int]


def instances(most: int, most_free: int) -> st.SearchStrategy[Instance]:
    """Costs (with equals), demands and free GPUs."""
    rows = st.lists(st.tuples(st.integers(0, 9), st.sampled_from([1, 2, 4])), min_size=1, max_size=most)
    return st.tuples(rows, st.integers(0, most_free)).map(
        lambda x: (np.array([c for c, _ in x[0]], float), np.array([d for _, d in x[0]]), x[1])
    )


def costs_of_positions(cost: F, slots: int) -> F:
    """Cost of every job (row) at every position of every slot (column)."""
    return np.outer(cost, np.tile(np.arange(1, len(cost) + 1), slots))


@settings(deadline=None, max_examples=200)
@given(instances(most=12, most_free=12))
def test_the_plan_costs_as_much_as_the_solvers_matching(instance: Instance) -> None:
    cost, demand, free = instance
    position, _ = plan(cost, demand, free)
    for d in set(demand):
        mine, slots = demand == d, max(1, free // d)
        matrix = costs_of_positions(cost[mine], slots)
        assert (position[mine] * cost[mine]).sum() == matrix[linear_sum_assignment(matrix)].sum()
        holders = np.bincount(position[mine])[1:]  # of each position: slots are full from the end
        assert (holders <= slots).all() and (np.diff(holders) <= 0).all()


@settings(deadline=None, max_examples=60)
@given(instances(most=4, most_free=8).filter(lambda x: len(set(x[1])) == 1))
def test_no_assignment_at_all_costs_less(instance: Instance) -> None:
    cost, demand, free = instance
    matrix = costs_of_positions(cost, min(2, max(1, free // int(demand[0]))))
    position, _ = plan(cost, demand, min(free, 3 * int(demand[0]) - 1))  # at most two slots
    rows = np.arange(len(cost))
    least = min(matrix[rows, list(columns)].sum() for columns in permutations(range(matrix.shape[1]), len(cost)))
    assert (position * cost).sum() == least


@settings(deadline=None, max_examples=200)
@given(instances(most=12, most_free=12))
def test_what_stands_first_leads_to_the_cost_of_the_plan(instance: Instance) -> None:
    """Start these, then one by one what is shortest: the completion times add up to the cost."""
    cost, demand, free = instance
    position, first = plan(cost, demand, free)
    assert [(cost[k], k) for k in first] == sorted((cost[k], k) for k in first)
    for d in set(demand):
        mine, slots = np.flatnonzero(demand == d), max(1, free // d)
        started = [int(k) for k in first if demand[k] == d]
        assert len(started) == min(slots, len(mine))
        free_at = [*(cost[k] for k in started), *[0.0] * (slots - len(started))]
        total = sum(free_at)
        for k in sorted(set(mine) - set(started), key=lambda k: cost[k]):
            slot = free_at.index(min(free_at))
            free_at[slot] += cost[k]
            total += free_at[slot]
        assert total == (position[mine] * cost[mine]).sum()


def test_shortest_first_by_gpu_time_and_gangs_are_passed_over() -> None:
    rows = jobs("a0 1 0 60", "a1 2 0 40", "a2 1 0 30", "a3 3 0 10")
    assert drawn(simulated(rows, 3, "allox", lease_term=60), 10) == [
        "a0 S=====",  # 60 GPU-s
        "a1 ...S===",  # 80 GPU-s
        "a2 S==",  # 30 GPU-s
        "a3 .......S",  # 30 GPU-s as a2, which was submitted before it; then its gang does not fit until all is free
    ]


@pytest.mark.parametrize(
    "alpha, picture",
    [
        # both tenants are eligible: a1 needs 30 s, less than b2 and b3
        (1, ["a0 S==", "a1 S==r==", "b2    S==r==r==", "b3    ...S==r==r=="]),
        # one is: at 30 b, which has had nothing, at 60 a, which has had as much; b fills what a leaves
        (0.5, ["a0 S==", "a1 S==...R==", "b2    S==r==r==", "b3    S==...R==r=="]),
    ],
)
def test_alpha_chooses_the_tenants_that_are_behind(alpha: float, picture: list[str]) -> None:
    rows = jobs("a0 1 0 30", "a1 1 0 60", "b2 1 30 90", "b3 1 30 90")
    assert drawn(simulated(rows, 2, "allox", lease_term=30, alpha=alpha), 10) == picture


def test_nothing_that_fits_waits() -> None:
    """What alpha leaves, the others fill: at every round each gang that waits is larger than what is free."""
    rng = np.random.default_rng(0)
    rows = [
        {"job_id": f"{k:03d}", "tenant": "abc"[k % 3], "demand": int(rng.choice([1, 1, 2, 4])),
         "submit_time": 10 * int(rng.integers(300)), "duration": 10 * int(rng.integers(1, 60))}
        for k in range(120)
    ]  # fmt: skip
    result = simulated(rows, 12, "allox", lease_term=200)
    grants, waited = result.grants, 0
    assert grants is not None
    for time in range(0, round(result.makespan), 10):
        holds = grants[(grants["start"] <= time) & (time < grants["end"])]
        present = result.jobs[(result.jobs["submit_time"] <= time) & (time < result.jobs["end_time"])]
        waiting = present.loc[~present["job_id"].isin(holds["job_id"]), "demand"]
        waited += len(waiting)
        assert not (waiting <= 12 - holds["demand"].sum()).any()
    assert waited > 1000
