"""Placement, node by node."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine import placement
from astraea.cluster.engine.placement import PLACEMENTS
from astraea.cluster.engine.state import Private, View, new_state
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.traces.trace import Trace


def state(free: list[int], kind: str, per_node: int = 4) -> tuple[View, Private]:
    """Engine state in which the nodes have these free GPUs, with two jobs that hold nothing."""
    jobs = pd.DataFrame({"job_id": [0, 1], "tenant": "t", "demand": 1, "submit_time": 0.0, "duration": 1.0})
    s, x = new_state(
        Trace.from_frame(jobs), Cluster(len(free), per_node), parameters=np.zeros(1), estimate=(np.zeros(2),) * 3,
        memory=(0, 0), seed=0, keep_log=False, placement=PLACEMENTS.index(kind),
    )  # fmt: skip
    s.node_free[:] = free
    return s, x


def held(s: View, j: int) -> dict[int, int]:
    """GPUs that job `j` holds, by node."""
    out, piece = {}, int(s.job[j].first_piece)
    while piece >= 0:
        out[int(s.piece[piece].node)] = int(s.piece[piece].gpus)
        piece = int(s.piece[piece].next)
    return dict(sorted(out.items()))


@pytest.mark.parametrize(
    "kind, free, gpus, expected",
    [
        ("consolidated", [4, 2, 3], 2, {1: 2}),  # best fit: the fullest node that holds it
        ("consolidated", [4, 3, 3], 2, {1: 2}),  # of equals, the first
        ("consolidated", [3, 4, 4], 4, {1: 4}),  # whole nodes
        ("consolidated", [4, 1, 2, 4], 6, {0: 4, 2: 2}),  # a whole node and the fullest that holds the rest
        ("consolidated", [4, 1, 4], 6, {0: 4, 2: 2}),  # the rest on a node that was empty
        ("consolidated", [3, 2, 3], 4, {0: 3, 1: 1}),  # cannot be on one node: emptiest first, then the best fit
        ("consolidated", [4, 1, 1, 1], 6, {0: 4, 1: 1, 2: 1}),
        ("consolidated", [1, 1, 1, 1], 4, {0: 1, 1: 1, 2: 1, 3: 1}),
        ("strict", [4, 2, 3], 2, {1: 2}),
        ("strict", [3, 3, 3], 4, {}),  # waits
        ("strict", [4, 1, 1, 1], 6, {}),
        ("strict", [4, 1, 2, 4], 6, {0: 4, 2: 2}),
        ("spread", [4, 4, 4], 4, {0: 2, 1: 1, 2: 1}),
        ("spread", [1, 4, 2], 3, {1: 3}),  # always from the node with most free GPUs; of equals, the first
        ("spread", [1, 4, 2], 4, {1: 3, 2: 1}),
    ],
)
def test_where_a_gang_goes(kind: str, free: list[int], gpus: int, expected: dict[int, int]) -> None:
    s, x = state(free, kind)
    assert placement.place(s, x, 0, gpus) == len(expected)
    assert held(s, 0) == expected
    assert s.node_free.tolist() == [f - expected.get(node, 0) for node, f in enumerate(free)]
    assert placement.count_nodes(s, 0) == len(expected)
    placement.give_back(s, 0)
    assert s.node_free.tolist() == free
    assert held(s, 0) == {}


def test_random_placement_takes_every_free_gpu_equally_often() -> None:
    free, draws = [4, 1, 0, 3], 4000
    counts = np.zeros(4)
    s, x = state(free, "random")
    for seed in range(draws):
        x.engine[0].random = seed
        placement.place(s, x, 0, 1)
        counts[next(iter(held(s, 0)))] += 1
        placement.give_back(s, 0)
    expected = np.array(free) * draws / 8
    chi_square = ((counts - expected)[expected > 0] ** 2 / expected[expected > 0]).sum()
    assert counts[2] == 0
    assert chi_square < 13.8  # 0.999 quantile, two degrees of freedom


def scattered(seed: int) -> list[tuple[int, int]]:
    """Nodes and GPUs of 30 gangs placed at random."""
    jobs = pd.DataFrame({"job_id": range(30), "tenant": "t", "demand": 4, "submit_time": 0.0, "duration": 1000.0})
    settings = Settings(placement="random")
    result = simulate(Trace.from_frame(jobs), Cluster(20, 8), "fifo", seed, settings=settings, keep_log=True)
    assert result.placements is not None
    return list(result.placements[["node", "gpus"]].itertuples(index=False, name=None))


def test_random_placement_depends_on_the_seed_and_on_nothing_else() -> None:
    assert scattered(3) == scattered(3)
    assert scattered(3) != scattered(4)


@pytest.mark.parametrize("sensitivity, seconds", [(1.0, 600.0), (0.75, 800.0), (0.5, 1200.0)])
def test_a_spread_gang_runs_at_its_sensitivity(sensitivity: float, seconds: float) -> None:
    jobs = pd.DataFrame(
        {"job_id": [0, 1], "tenant": "t", "demand": [4, 5], "submit_time": [0.0, 5000.0], "duration": 600.0,
         "sensitivity": sensitivity}
    )  # fmt: skip
    near, far = (
        simulate(Trace.from_frame(jobs), Cluster(4, 4), "fifo", settings=Settings(placement=p)).jobs
        for p in ("consolidated", "spread")
    )
    # 5 GPUs need two nodes: they are not spread more than they must be in one case, and over four in the other
    assert (near["end_time"] - near["first_start_time"]).tolist() == [600, 600]
    assert (far["end_time"] - far["first_start_time"]).tolist() == [seconds, seconds]
    assert (far["slowdown"] == 1).all()
