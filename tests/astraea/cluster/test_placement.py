"""Placement, node by node."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import View
from astraea.cluster.policy import all_candidates, fits, grant, place_on, policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.traces.trace import Trace


@policy("pinned")
def pinned(s: View) -> None:
    """First in, first out; a job whose weight is above 1 stands on the node of that number, counted from 2."""
    for j in all_candidates(s):
        if fits(s, j):
            grant(s, j)
            if s.job[j].weight > 1:
                place_on(s, j, int(s.job[j].weight) - 2, s.job[j].demand)


def placed(free: list[int], kind: str, gangs: list[int]) -> list[dict[int, int]]:
    """GPUs of each gang by node, one after the other for a second each, where the nodes have these free GPUs."""
    per_node, end = 4, 1000.0 + 10 * len(gangs)
    held = [(0.0, per_node - gpus, end, node + 2) for node, gpus in enumerate(free) if gpus < per_node]
    rows = held + [(10.0 * (k + 1), gpus, 1.0, 1) for k, gpus in enumerate(gangs)]
    jobs = pd.DataFrame(rows, columns=["submit_time", "demand", "duration", "weight"])
    trace = Trace.from_frame(jobs.assign(job_id=[f"{k:05}" for k in range(len(rows))], tenant="t"))
    settings = Settings(placement=kind)
    result = simulate(trace, Cluster(len(free), per_node), pinned, settings=settings, keep_log=True)
    assert result.grants is not None and result.placements is not None
    pieces = {g: dict(zip(x["node"], x["gpus"], strict=True)) for g, x in result.placements.groupby("grant")}
    starts = zip(result.grants["start"], result.grants["nodes"], strict=True)
    assert all(nodes == len(pieces[g]) for g, (_, nodes) in enumerate(starts))
    order = np.argsort(result.grants["job_id"].to_numpy())[len(held) :]
    return [pieces[g] if result.grants["start"][g] < end else {} for g in order]


@pytest.mark.parametrize(
    "kind, free, gpus, expected",
    [
        ("consolidated", [4, 3, 3], 2, {1: 2}),  # best fit: the fullest node that holds it; of equals, the first
        ("consolidated", [4, 1, 2, 4], 6, {0: 4, 2: 2}),  # a whole node and the fullest that holds the rest
        ("consolidated", [4, 1, 4], 6, {0: 4, 2: 2}),  # the rest on a node that was empty
        ("consolidated", [3, 2, 3], 4, {0: 3, 1: 1}),  # cannot be on one node: emptiest first, then the best fit
        ("strict", [4, 1, 2, 4], 6, {0: 4, 2: 2}),
        ("strict", [4, 1, 1, 1], 6, {}),  # waits
        ("spread", [1, 4, 2], 4, {1: 3, 2: 1}),  # always from the node with most free GPUs; of equals, the first
    ],
)
def test_where_a_gang_goes(kind: str, free: list[int], gpus: int, expected: dict[int, int]) -> None:
    assert placed(free, kind, [gpus]) == [expected]


def test_random_placement_takes_every_free_gpu_equally_often() -> None:
    free, draws = [4, 1, 0, 3], 4000
    counts = np.bincount([node for gang in placed(free, "random", [1] * draws) for node in gang], minlength=4)
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
