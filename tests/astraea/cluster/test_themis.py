"""Themis: the bidders, the auction, no gain from lies, and the rest after the auction."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from schedules import check, jobs, simulated

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies.themis import auction
from astraea.cluster.settings import Settings

F = npt.NDArray[np.float64]


class Bids(NamedTuple):
    """One auction: gangs, values with and without them, and the GPUs that are free."""

    demand: npt.NDArray[np.int64]
    gang: F
    nothing: F
    free: int


def random_bids(seed: int, most: int = 9) -> Bids:
    """Gains of all sizes; every third auction has only two gains, so that many sets tie."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most + 1))
    nothing = rng.lognormal(-2, 1, n)
    ratio = rng.choice([1.5, 3.0], n) if seed % 3 == 0 else 1 + rng.lognormal(-1, 1.5, n)
    return Bids(rng.choice([1, 1, 2, 3, 4, 8], n), nothing * ratio, nothing, int(rng.integers(1, 13)))


def by_hand(bids: Bids, without: int = -1) -> tuple[F, tuple[int, ...]]:
    """Values in the set with the largest product among all that fit; among equals, the one with earlier bidders."""
    best_key: tuple[float, tuple[int, ...]] = (-np.inf, ())
    best: tuple[F, tuple[int, ...]] = (np.empty(0), ())
    for chosen in product((0, 1), repeat=len(bids.demand)):
        if np.dot(chosen, bids.demand) <= bids.free and not (without >= 0 and chosen[without]):
            values = np.where(chosen, bids.gang, bids.nothing)
            key = (round(float(np.log(values).sum()), 9), chosen)
            if key > best_key:
                best_key, best = key, (values, chosen)
    return best


@pytest.mark.parametrize("seed", range(12))
def test_winners_and_payments_are_those_of_all_subsets(seed: int) -> None:
    bids = random_bids(seed)
    kept = auction(*bids)
    values, chosen = by_hand(bids)
    assert tuple((kept > 0).astype(int)) == chosen
    for i in np.flatnonzero(chosen):
        others = np.arange(len(kept)) != i
        expected = values[others].prod() / by_hand(bids, without=int(i))[0][others].prod()
        assert kept[i] == pytest.approx(expected, rel=1e-7)
        assert bids.nothing[i] <= kept[i] * bids.gang[i] * (1 + 1e-8)
        assert kept[i] <= 1


@pytest.mark.parametrize("seed", range(6))
def test_a_bidder_gains_nothing_by_misreporting(seed: int) -> None:
    """It reports other values: a grid over both, and random ones; GPUs that are withheld are worth nothing."""
    bids, rng = random_bids(seed, most=6), np.random.default_rng(seed)
    truth = auction(*bids)
    grid = [0.1, 0.5, 0.9, 0.99, 1.0, 1.01, 1.1, 2.0, 10.0, 1000.0]
    for i in range(len(bids.demand)):
        least = truth[i] * bids.gang[i] if truth[i] > 0 else bids.nothing[i]
        for a, b in [*product(grid, grid), *rng.lognormal(0, 1, (60, 2))]:
            gang, nothing = bids.gang.copy(), bids.nothing.copy()
            gang[i], nothing[i] = a * gang[i], b * nothing[i]
            kept = auction(bids.demand, gang, nothing, bids.free)[i]
            assert (kept * bids.gang[i] if kept > 0 else bids.nothing[i]) <= least * (1 + 1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_products_of_many_values_neither_vanish_nor_overflow(scale: float) -> None:
    rng = np.random.default_rng(0)
    n, ratio = 500, rng.uniform(1.001, 1e3, 500)
    demand, nothing = rng.choice([1, 2, 4, 8, 16], n), np.full(n, scale)
    kept = auction(demand, nothing * ratio, nothing, 200)
    won = kept > 0
    assert 200 - demand[won].sum() < demand[~won].min()
    assert ((1 / ratio[won] <= kept[won] * (1 + 1e-8)) & (kept[won] <= 1)).all()
    assert (kept[won] < 1).any()


SCHEDULES: dict[str, tuple[Any, ...]] = {
    "the knob trades efficiency for fairness": (
        # f = 0: both bid. First they are alike, and a0 draws 0.65 below c = 90 / 120. At 30 s a0 has 60 s to go, 30 s
        # behind it, a1 90 s and 30 s: waiting costs a0 more, and so on. Else only the worse one bids: they take turns.
        2, {"lease_term": 30, "f": [0, 0.5, 1]},
        "a0 2 0 90 |S==r==r==          |S==...R==...R==    |S==...R==...R==",
        "a1 2 0 90 |.........S==r==r== |...S==...R==...R== |...S==...R==...R==",
    ),
    "the hidden payment is a lottery": (  # c is 30 / 60 at 0 s, 40 / 70 at 10 s and 50 / 80 at 20 s
        2, {"lease_term": 30, "f": 0},
        "a0 2 0 30 |..S==",  # draws 0.65, 0.75 and 0.51
        "a1 2 0 30 |.....S==",
    ),
    "who did not bid gets what is withheld": (
        2, {"lease_term": 30, "f": 0.34},
        "a0 2 0 30 |...S==",  # at 30 s, c is 60 / 90 and it draws 0.33
        "a1 2 0 30 |......S==",
        "a2 2 0 30 |S==",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SCHEDULES.values(), ids=SCHEDULES)
def test_schedule(case: tuple[Any, ...]) -> None:
    check("themis", *case)


# on nodes of two GPUs, a GPU is free on each of two nodes at 30 s: that of a0 beside a1, and that of a3 beside a2
HALVES = ["a0 1 0 30", "a1 1 0 90", "a2 1 0 90", "a3 1 0 30"]
TWO = [*HALVES, "a4 4 10 1", "a5 2 10 10", "a6 1 10 120", "a7 1 10 120"]


@pytest.mark.parametrize(
    "rows, cluster, options, time, expected",
    [
        # leftovers go to gangs that need not be scattered: a4 bids in vain; a5, the next worst, needs two GPUs
        (TWO, Cluster(2, 2), {}, 30, ["a6 start 1", "a7 start 1"]),
        (TWO, Cluster(1, 4), {}, 30, ["a5 start 1"]),
        # they are what the winners leave of the nodes: a5 wins the third node; a6, the next worst, would be scattered
        (
            [*HALVES, "a4 2 0 30", "a5 2 10 2", "a6 2 10 10", "a7 1 10 120", "a8 1 10 120"], Cluster(3, 2), {},
            30, ["a5 start 1", "a7 start 1", "a8 start 1"],
        ),
        # a1 has 80 / (60 * 3) and a2 80 / 60, as its share is more than the GPU that it needs
        (["a0 4 0 30", "a1 4 10 60", "a2 1 10 60"], Cluster(1, 4), {"isolated": "cluster-share"}, 30, ["a2 start 1"]),
        # both have 80 / (60 * 3), and a1 was submitted first
        (["a0 4 0 30", "a1 4 10 60", "a2 1 10 60"], Cluster(1, 4), {"isolated": "times-n"}, 30, ["a1 start 1"]),
        # a renewal stands in line by its fairness: a0 is better off than a4 and a5 and loses its GPU
        (
            ["a0 1 0 90", "a1 1 0 30", "a2 1 10 30", "a3 3 10 2", "a4 1 10 30", "a5 1 10 30"], Cluster(1, 3),
            {"lease_term": 30}, 30, ["a4 start 1", "a5 start 1"],
        ),
        # from 20 s on a4 holds one GPU of each node; at 50 s it asks for renewal; a5, worse off, would be scattered,
        # and a6, the worst, bids in vain for the whole cluster
        (
            ["a0 1 0 20", "a1 1 0 500", "a2 1 0 500", "a3 1 0 20", "a4 2 10 600", "a5 2 30 300", "a6 4 20 1"],
            Cluster(2, 2), {"lease_term": 30}, 50, ["a4 renewal 2"],
        ),
    ],
)  # fmt: skip
def test_who_gets_what_is_left(
    rows: list[str], cluster: Cluster, options: dict[str, Any], time: float, expected: list[str]
) -> None:
    """Leases that begin at a time, with their nodes, where the single worst bids."""
    settings = Settings(checkpoint_overhead=0)
    result = simulated(jobs(*rows), cluster, "themis", settings=settings, **{"lease_term": 60, "f": 1} | options)
    begin = result.log[result.log["start"] == time].sort_values("job_id")
    assert [f"{g.job_id} {g.kind} {g.nodes}" for g in begin.itertuples()] == expected
