"""AlloX, Gandiva_fair and decayed usage: schedules small enough to draw, and the promises of each."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import check, jobs, simulated, small_state, trace_of
from scipy.optimize import linear_sum_assignment

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.accounting import change_held, tenant_decayed
from astraea.core.result import Result

SCHEDULES: dict[str, tuple[Any, ...]] = {
    "allox: shortest first by GPU-time to the end, and gangs are passed over": (
        "allox", 3, {},
        "a0 1 0 60  |S=====",  # 60 GPU-s; a3 has less, but two GPUs are left
        "a1 2 0 40  |...S===",  # 80 GPU-s
        "a2 1 0 30  |S==",  # 30 GPU-s as a3, and submitted before it
        "a3 3 0 10  |.......S",
        "a4 1 10 10 | S",  # at 30 it would have been in the way of a3
    ),
    "allox: what is granted at this round counts": (
        "allox", 2, {"alpha": [1, 0.5]},
        "a0 1 0 10 |S   |S",
        "a1 1 0 10 |S   |.S",
        "b2 1 0 30 |.S==|S==",  # with 0.5, b is behind
    ),
    "allox: alpha chooses the tenants that hold the least": (
        # all tenants are eligible: b2 and b3 are shorter than a4
        # one is: at 30 only b holds a GPU; at 60 only a does, however long b had one
        "allox", 2, {"alpha": [1, 0.3]},
        "a1 1 0 30  |S==          |S==",
        "b0 1 0 60  |S=====       |S=====",
        "a4 1 10 40 | .....S===   | ..S===",
        "b2 1 10 20 | ..S=        | .....S=",
        "b3 1 10 30 | ....S==     | ......S==",
    ),
    "gandiva-fair: GPUs are kept for the gang that is first, or others fill them": (
        "gandiva-fair", 4, {"lease_term": 30, "others_fill": ["no", "yes"]},
        "a0 1 0 20  |S=           |S=",
        "a1 1 0 60  |S==...R==    |S==..R==",  # one GPU is free for it at 50, when a5 ends
        "a2 1 0 30  |S==          |S==",
        "a3 1 0 60  |S==...R==    |S==...R==",
        "a4 3 10 60 | ..S==...R== | ..S==..R==",  # a third of a lease ahead of a1 at 30, two leases behind it at 60
        "a5 1 10 30 | ..S==       | .S==",  # would fit at 20, but a4, which is as far and was before it, is first
    ),
    "decayed-usage: what is granted counts at once": (
        # one GPU of two for each tenant, new jobs first, then the least served, the first submitted of equals
        "decayed-usage", 2, {"lease_term": 30},
        "a0 1 0 60  |S==...R==",
        "a1 1 0 60  |...S==...R==",
        "b2 1 0 60  |S==...R==",
        "b3 1 30 30 |   S==",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SCHEDULES.values(), ids=SCHEDULES)
def test_schedule(case: tuple[Any, ...]) -> None:
    check(*case)


@settings(deadline=None, max_examples=10)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 4), st.sampled_from([1, 2]))
def test_completion_times_add_up_to_the_cost_of_the_solvers_matching(
    lengths: list[int], slots: int, demand: int
) -> None:
    rows = jobs(*(f"a{k:02} {demand} 0 {10 * length}" for k, length in enumerate(lengths)))
    matrix = 10.0 * np.outer(lengths, np.tile(np.arange(1, len(lengths) + 1), slots))
    least = matrix[linear_sum_assignment(matrix)].sum()
    assert simulated(rows, slots * demand, "allox").jobs["jct"].sum() == least


LEASE = 100.0


def in_leases(rows: list[str], gpus: int, weights: dict[str, float] | None = None) -> Result:
    """Gandiva_fair's schedule of these jobs."""
    return simulated(jobs(*rows), gpus, "gandiva-fair", weights=weights, lease_term=LEASE)


@st.composite
def backlogs(draw: st.DrawFn) -> tuple[list[str], int, dict[str, float]]:
    """Tenants that always have more than the cluster can run, and a tenant z whose short jobs come and go."""
    gpus = draw(st.sampled_from([12, 16, 24]))
    weights = {t: float(draw(st.integers(1, 3))) for t in "abc"[: draw(st.integers(2, 3))]} | {"z": 1.0}
    rows = []
    for t, weight in weights.items():
        demands = st.integers(1, int(gpus * weight / sum(weights.values()) + 1e-9))  # up to its quota
        if t == "z":
            for k in range(draw(st.integers(0, 25))):
                rows.append(f"z{k} {draw(demands)} {draw(st.integers(0, 3000))} {draw(st.integers(1, 250))}")
            continue
        total = 0
        while total <= 2 * gpus:
            demand = draw(demands)
            total += demand
            rows.append(f"{t}{len(rows)} {demand} 0 {2000 + draw(st.integers(0, 500))}")
    return rows, gpus, weights


@settings(deadline=None, max_examples=20)
@given(backlogs())
def test_backlogged_tenants_get_gpu_time_in_proportion_to_tickets(
    instance: tuple[list[str], int, dict[str, float]],
) -> None:
    """At any moment two tenants differ by one gang's lease at most, in GPU-time of leases per ticket."""
    rows, gpus, weights = instance
    result = in_leases(rows, gpus, weights)
    backlogged = result.jobs[result.jobs["tenant"] != "z"]
    until = backlogged["end_time"].min()  # all of them still have all their jobs
    leases = result.log[result.log["start"] < until].assign(service=lambda g: g["demand"] * LEASE)
    service = leases.pivot_table("service", "start", "tenant", aggfunc="sum", fill_value=0).cumsum()
    per_ticket = service.drop(columns="z", errors="ignore") / pd.Series(weights)
    gang = backlogged.groupby("tenant")["demand"].max() * LEASE / pd.Series(weights)
    for a, b in permutations(sorted(set(weights) - {"z"}), 2):
        assert (per_ticket[a] - per_ticket[b]).max() <= gang[a] + 1e-6
    assert service.iloc[-1].sum() > gpus * until / 2  # the cluster is busy


@pytest.mark.parametrize("tenant", ["a", "b"])
def test_no_gang_waits_for_ever_among_endless_small_jobs(tenant: str) -> None:
    """One GPU comes free at a time, and there is always a small job that could take it, of its tenant or another."""
    result = in_leases([*(f"{tenant}{k} 1 {12 * k} {LEASE}" for k in range(1500)), f"a-gang 4 205 {3 * LEASE}"], 8)
    grants = result.log
    waiting = result.jobs["queueing_delay"] > 0
    assert waiting[result.jobs["submit_time"] > 1000].mean() > 0.9
    gang = grants[grants["job_id"] == "a-gang"]
    assert gang["start"].iloc[0] <= 210 + 2 * LEASE
    assert gang["end"].iloc[-1] < 12 * 1500 / 2


@pytest.mark.parametrize("steady", [0, 1])
def test_idleness_earns_one_lease_of_the_quota_and_no_more(steady: int) -> None:
    """Tenant b leaves its half to a for 50 leases, except for `steady` jobs; then it has as much work as a."""
    rows = [f"a{k} 1 0 {100 * LEASE}" for k in range(8)]
    rows += [f"b-steady{k} 1 0 {100 * LEASE}" for k in range(steady)]
    rows += [f"b{k} 1 {50 * LEASE} {100 * LEASE}" for k in range(8)]
    grants = in_leases(rows, 4).log
    later = grants[grants["start"] >= 50 * LEASE]
    for leases in range(5, 40, 5):
        now = later[later["start"] < (50 + leases) * LEASE]
        ahead = (now["tenant"] == "b").sum() - (now["tenant"] == "a").sum()
        assert 0 <= ahead <= 2 + 1  # its quota, and a gang's lease


def test_usage_counts_half_after_each_half_life() -> None:
    """Two GPUs from 0 to 100, six from 100 to 150, none after; the half-life is 100 s."""
    unit = 100 / math.log(2)  # one GPU held for ever comes to this
    s, _ = small_state(trace_of(jobs("a0 1 0 10")), Cluster(1, 8), decay=1 / unit)
    change_held(s, 0, 2, 0.0)
    assert tenant_decayed(s, 0, 100.0) == pytest.approx(2 * unit / 2)
    change_held(s, 0, 4, 100.0)
    assert tenant_decayed(s, 0, 150.0) == pytest.approx(unit * (math.sqrt(0.5) + 6 * (1 - math.sqrt(0.5))))
    change_held(s, 0, -6, 150.0)
    assert tenant_decayed(s, 0, 350.0) == pytest.approx(unit * (math.sqrt(0.5) + 6 * (1 - math.sqrt(0.5))) / 4)


@pytest.mark.parametrize("half_life, first", [(100, "b5"), (260, "b5"), (274, "a4"), (1e9, "a4")])
def test_the_tenant_with_the_least_decayed_usage_goes_first(half_life: float, first: str) -> None:
    """One GPU at 800 s: b had one from 0 to 400, a from 700 to 800.

    With y = 2 ** (-100 / half-life), b has (1 - y**4) y**4 and a has 1 - y: equal at a half-life of 267 s.
    """
    rows = jobs("b0 1 0 400", "c1 1 0 3000", "c2 1 0 3000", "a3 1 700 100", "a4 1 750 50", "b5 1 750 50")
    table = simulated(rows, 3, "decayed-usage", lease_term=1000, half_life=half_life).jobs
    assert table.loc[table["first_start_time"] == 800, "job_id"].tolist() == [first]
