"""HiveD: its buddy cells, its schedules, and that nobody waits for what the own cells could hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import drawn, jobs, small_view

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import View
from astraea.cluster.policies.hived import hived
from astraea.cluster.policies.hived_cells import Cells, free_cell, lay_out, owned
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.result import Result
from astraea.traces.trace import Trace


def state(cluster: Cluster, weights: list[float]) -> tuple[View, Cells]:
    """Nothing runs; tenants of these weights, with a job each."""
    names = [f"t{t:02}" for t in range(len(weights))]
    frame = pd.DataFrame({"job_id": names, "tenant": names, "demand": 1, "submit_time": 0.0, "duration": 1.0})
    trace = Trace.from_frame(frame, weights=dict(zip(names, weights, strict=True)))
    view = small_view(trace, cluster, memory=hived.memory)
    return view, lay_out(view)


def free_cells(taken: str) -> list[int]:
    """Sizes of the free buddies of a cell, from left to right; x is a GPU that is taken."""
    flags, sizes, a = np.array([c == "x" for c in taken]), [], 0
    while a < len(taken):
        sizes.append(int(free_cell(flags, 0, len(taken), a)))
        a += max(sizes[-1], 1)
    return [size for size in sizes if size > 0]


@pytest.mark.parametrize(
    "taken, sizes",
    [
        ("........", [8]),
        ("x.......", [1, 2, 4]),  # one GPU splits the node to the bottom
        ("xxx.....", [1, 4]),
        ("...x....", [2, 1, 4]),
        ("xx..xx..", [2, 2]),  # four are free, but no buddies: no cell of 4
        ("xxxx....", [4]),
        ("xxxxxxxx", []),
        ("......", [6]),  # a node of six is 4 + 2
        ("x.....", [1, 2, 2]),
        ("......x", [4, 2]),
    ],
)
def test_free_buddies(taken: str, sizes: list[int]) -> None:
    assert free_cells(taken) == sizes


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 9), st.integers(1, 17), st.lists(st.integers(1, 40), min_size=1, max_size=9))
def test_cells_of_all_tenants_add_up_to_their_quotas_and_do_not_overlap(n: int, p: int, weights: list[float]) -> None:
    view, cells = state(Cluster(n, p), weights)
    uses = np.zeros(n * p, int)
    for t in range(len(weights)):
        sizes = [owned(view, cells, t, level) for level in range(len(cells.first))]
        assert sum(sizes) == view.tenant[t].whole_quota == cells.left[t]
        assert sizes[-1] == view.tenant[t].whole_quota // p * p
        assert cells.first[-1, t] % p == 0  # whole nodes are nodes
        for level, size in enumerate(sizes):
            first = int(cells.first[level, t])
            uses[first : first + size] += 1
            if size > 0 and level < len(sizes) - 1:
                assert size == 2**level
                assert p & (p - 1) > 0 or first % size == 0  # powers of two are buddies of their node
    assert uses.max() <= 1


def simulated(rows: list[dict[str, Any]], cluster: Cluster, weights: dict[str, float], lease_term: float) -> Result:
    """Run without overheads."""
    trace = Trace.from_frame(pd.DataFrame(rows), weights=weights)
    free_of_charge = Settings(checkpoint_overhead=0, restart_overhead=0)
    result = simulate(trace, cluster, hived(lease_term=lease_term), settings=free_of_charge, keep_log=True)
    assert len(result.excluded_jobs) == 0
    return result


@pytest.mark.parametrize(
    "lease_term, picture",
    [
        (200, ["a0 S=====", "a1 S==...R=====", "b2    S=="]),  # a1 had no checkpoint, and has all to do again
        (20, ["a0 S=r=r=", "a1 S=r...R=r=", "b2    S=r"]),  # its checkpoint at 20 s saves it 20 of 30 s
    ],
)
def test_a_spot_job_loses_what_it_did_since_its_checkpoint(lease_term: float, picture: list[str]) -> None:
    # a and b own 2 of 4 GPUs each; a1 runs in b's cell until b2 needs it, then waits for its own
    rows = jobs("a0 2 0 60", "a1 2 0 60", "b2 2 30 30")
    assert drawn(simulated(rows, Cluster(1, 4), {"a": 1, "b": 1}, lease_term), 10) == picture


def test_a_spot_job_is_not_renewed_where_it_stands_in_the_way() -> None:
    # at the end of its lease a1 has lost nothing yet: 60 s of work in 60 s
    rows = jobs("a0 2 0 60", "a1 2 0 60", "b2 2 20 20")
    assert drawn(simulated(rows, Cluster(1, 4), {"a": 1, "b": 1}, 20), 10) == [
        "a0 S=r=r=",
        "a1 S=..R=r=",
        "b2   S=",
    ]


def test_only_spot_jobs_pay_for_checkpoints() -> None:
    """a0 is guaranteed, a1 is not; nobody takes the GPUs of either."""
    trace = Trace.from_frame(pd.DataFrame(jobs("a0 2 0 400", "a1 2 0 400", "b2 1 900 10")), weights={"a": 1, "b": 1})
    result = simulate(trace, Cluster(1, 4), hived(lease_term=100), settings=Settings(checkpoint_overhead=5))
    assert result.jobs["leases"].tolist() == [4, 5, 1]
    assert result.jobs["overhead"].tolist() == [0, 4 * 5, 0]
    assert result.jobs["end_time"].tolist() == [400, 420, 910]


def test_a_demand_that_no_cells_hold_is_a_spot_job() -> None:
    # a owns 4 + 2 + 1 of 8 GPUs, of which none holds 5: a0 runs at once, but gives way to a3
    rows = jobs("a0 5 0 40", "b1 1 0 10", "a2 2 10 40", "a3 4 20 20")
    assert drawn(simulated(rows, Cluster(1, 8), {"a": 7, "b": 1}, 200), 10) == [
        "a0 S=..R===",
        "b1 S",
        "a2  S===",
        "a3   S=",
    ]


def test_a_guaranteed_job_goes_where_no_spot_job_is() -> None:
    # a owns the first two nodes and b the third; b3 is a spot job on the first
    rows = jobs("b2 4 0 90", "b3 2 0 90", "a4 4 10 60", "a5 3 20 30")
    result = simulated(rows, Cluster(3, 4), {"a": 2, "b": 1}, 200)
    assert drawn(result, 10) == [
        "b2 S========",
        "b3 S=...R========",  # back to the beginning when a5 needs the first node
        "a4  S=====",
        "a5   S==",
    ]
    assert result.grants is not None and result.placements is not None
    nodes = result.placements.assign(job=result.grants["job_id"].to_numpy()[result.placements["grant"]])
    assert nodes.groupby("job")["node"].first().to_dict() == {"a4": 1, "a5": 0, "b2": 2, "b3": 0}


@pytest.mark.parametrize(
    "rows, picture",
    [
        (
            jobs("a0 4 0 60", "a1 1 0 60", "a2 1 10 60", "a3 2 20 60", "b4 1 30 30", "b5 2 40 20"),
            [
                "a0 S==r==",
                "a1 S==...R==",  # has just saved its state: b4 costs it nothing, and would cost a2 20 s
                "a2  S==r==",
                "a3   S=..R==r==",  # one gang for b5's two GPUs
                "b4    S==",
                "b5     S=",
            ],
        ),
        (
            jobs("a0 4 0 60", "a1 2 0 60", "a2 1 10 60", "a3 1 20 60", "b4 1 30 30"),
            [
                "a0 S==r==",
                "a1 S==r==",  # would lose nothing, but is larger
                "a2  S==r==",
                "a3   S...R==r==",  # of the small ones it has run least
                "b4    S==",
            ],
        ),
    ],
)
def test_who_makes_room(rows: list[dict[str, Any]], picture: list[str]) -> None:
    # a0 fills a's half of the node; the other jobs of a run in b's
    assert drawn(simulated(rows, Cluster(1, 8), {"a": 1, "b": 1}, 30), 10) == picture
