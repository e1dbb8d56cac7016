"""Gandiva_fair: GPU-time in proportion to tickets, no gang overtaken for ever, no credit for idleness."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import drawn, jobs, simulated

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.result import Result
from astraea.traces.trace import Trace

LEASE = 100.0


def run(rows: list[dict[str, Any]], gpus: int, weights: dict[str, float] | None = None) -> Result:
    """Leases of 100 s on one node, without overheads."""
    trace = Trace.from_frame(pd.DataFrame(rows), weights=weights)
    policy, without = get_policy("gandiva-fair")(lease_term=LEASE), Settings(checkpoint_overhead=0, restart_overhead=0)
    result = simulate(trace, Cluster(1, gpus), policy, settings=without, keep_log=True)
    assert len(result.excluded_jobs) == 0
    return result


def row(name: str, demand: int, submit: float, duration: float) -> dict[str, Any]:
    """A job of the tenant that is the first letter of its name."""
    return {"job_id": name, "tenant": name[0], "demand": demand, "submit_time": submit, "duration": duration}


@pytest.mark.parametrize(
    "others_fill, picture",
    [
        (
            "no",
            [
                "a0 S=",
                "a1 S==...R==",
                "a2 S==",
                "a3 S==...R==",
                "a4  ..S==...R==",  # a third of a lease ahead of a1 and a3 at 30, two leases behind them at 60
                "a5  ..S==",  # would fit at 20, but a4, which is as far and was submitted before it, is first
            ],
        ),
        (
            "yes",
            [
                "a0 S=",
                "a1 S==..R==",  # one GPU is free for it at 50, when a5 ends
                "a2 S==",
                "a3 S==...R==",
                "a4  ..S==..R==",
                "a5  .S==",  # fills what is too little for a4 at 20
            ],
        ),
    ],
)
def test_gpus_are_kept_for_the_gang_that_is_first_or_others_fill_them(others_fill: str, picture: list[str]) -> None:
    rows = jobs("a0 1 0 20", "a1 1 0 60", "a2 1 0 30", "a3 1 0 60", "a4 3 10 60", "a5 1 10 30")
    assert drawn(simulated(rows, 4, "gandiva-fair", lease_term=30, others_fill=others_fill), 10) == picture


@st.composite
def backlogs(draw: st.DrawFn) -> tuple[list[dict[str, Any]], int, dict[str, float]]:
    """Tenants that always have more than the cluster can run, and a tenant z whose short jobs come and go."""
    gpus = draw(st.sampled_from([12, 16, 24]))
    weights = {t: float(draw(st.integers(1, 3))) for t in "abc"[: draw(st.integers(2, 3))]}
    weights["z"] = 1.0
    rows = []
    for t, weight in weights.items():
        quota = int(gpus * weight / sum(weights.values()) + 1e-9)
        if t == "z":
            for k in range(draw(st.integers(0, 25))):
                submit, duration = draw(st.integers(0, 3000)), draw(st.integers(1, 250))
                rows.append(row(f"z{k}", draw(st.integers(1, quota)), submit, duration))
            continue
        total = 0
        while total <= 2 * gpus:
            demand = draw(st.integers(1, quota))
            total += demand
            rows.append(row(f"{t}{len(rows)}", demand, 0, 2000 + draw(st.integers(0, 500))))
    return rows, gpus, weights


@settings(deadline=None, max_examples=20)
@given(backlogs())
def test_backlogged_tenants_get_gpu_time_in_proportion_to_tickets(
    instance: tuple[list[dict[str, Any]], int, dict[str, float]],
) -> None:
    """At any moment two tenants differ by one gang's lease at most, in GPU-time of leases per ticket."""
    rows, gpus, weights = instance
    result = run(rows, gpus, weights)
    backlogged = result.jobs[result.jobs["tenant"] != "z"]
    until = backlogged["end_time"].min()  # all of them still have all their jobs
    assert result.grants is not None
    leases = result.grants[result.grants["start"] < until].assign(service=lambda g: g["demand"] * LEASE)
    service = leases.pivot_table("service", "start", "tenant", aggfunc="sum", fill_value=0).cumsum()
    per_ticket = service.drop(columns="z", errors="ignore") / pd.Series(weights)
    gang = backlogged.groupby("tenant")["demand"].max() * LEASE / pd.Series(weights)
    for a, b in permutations(sorted(set(weights) - {"z"}), 2):
        assert (per_ticket[a] - per_ticket[b]).max() <= gang[a] + 1e-6
    assert service.iloc[-1].sum() > gpus * until / 2  # the cluster is busy


@pytest.mark.parametrize("tenant", ["a", "b"])
def test_no_gang_waits_for_ever_among_endless_small_jobs(tenant: str) -> None:
    """One GPU comes free at a time, and there is always a small job that could take it, of its tenant or another."""
    small = [row(f"{tenant}{k}", 1, 12 * k, LEASE) for k in range(1500)]
    result = run([*small, row("a-gang", 4, 205, 3 * LEASE)], 8)
    grants = result.grants
    assert grants is not None
    waiting = result.jobs["queueing_delay"] > 0
    assert waiting[result.jobs["submit_time"] > 1000].mean() > 0.9
    gang = grants[grants["job_id"] == "a-gang"]
    assert gang["start"].iloc[0] <= 210 + 2 * LEASE
    assert gang["end"].iloc[-1] < small[-1]["submit_time"] / 2


@pytest.mark.parametrize("steady", [0, 1])
def test_idleness_earns_one_lease_of_the_quota_and_no_more(steady: int) -> None:
    """Tenant b leaves its half to a for 50 leases, but for `steady` jobs; then it has as much to do as a."""
    rows = [row(f"a{k}", 1, 0, 100 * LEASE) for k in range(8)]
    rows += [row(f"b-steady{k}", 1, 0, 100 * LEASE) for k in range(steady)]
    rows += [row(f"b{k}", 1, 50 * LEASE, 100 * LEASE) for k in range(8)]
    grants = run(rows, 4).grants
    assert grants is not None
    later = grants[grants["start"] >= 50 * LEASE]
    for leases in range(5, 40, 5):
        now = later[later["start"] < (50 + leases) * LEASE]
        ahead = (now["tenant"] == "b").sum() - (now["tenant"] == "a").sum()
        assert 0 <= ahead <= 2 + 1  # its quota, and a gang's lease
