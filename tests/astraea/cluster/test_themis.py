"""Themis: who bids, what the auction gives, that lying about it does not pay, and who gets what is left."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from schedules import drawn, jobs, simulated

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.policies.themis import auction
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.traces.trace import Trace

F = npt.NDArray[np.float64]


class Bids(NamedTuple):
    """One auction: gangs, values with and without them, and the GPUs that are free."""

    demand: npt.NDArray[np.int64]
    gang: F
    nothing: F
    free: int


def random_bids(seed: int, most: int = 9) -> Bids:
    """Gains of all sizes; in every third auction only two, so that many sets tie."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most + 1))
    nothing = rng.lognormal(-2, 1, n)
    ratio = rng.choice([1.5, 3.0], n) if seed % 3 == 0 else 1 + rng.lognormal(-1, 1.5, n)
    return Bids(rng.choice([1, 1, 2, 3, 4, 8], n), nothing * ratio, nothing, int(rng.integers(1, 13)))


def by_hand(bids: Bids, without: int = -1) -> tuple[F, tuple[int, ...]]:
    """Values in the set with the largest product among all that fit; of equals, the one with the earlier bidders."""
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


def worth(bids: Bids, kept: F, i: int) -> float:
    """What the auction is worth to bidder `i` by its true values; what is withheld is worth nothing."""
    return float(kept[i] * bids.gang[i] if kept[i] > 0 else bids.nothing[i])


def lies(bids: Bids, i: int, rng: np.random.Generator) -> list[Bids]:
    """The same auction with other values reported by bidder `i`: a grid over both, and random ones."""
    grid = [0.1, 0.5, 0.9, 0.99, 1.0, 1.01, 1.1, 2.0, 10.0, 1000.0]
    factors = [*product(grid, grid), *rng.lognormal(0, 1, (60, 2))]
    out = []
    for a, b in factors:
        gang, nothing = bids.gang.copy(), bids.nothing.copy()
        gang[i], nothing[i] = a * gang[i], b * nothing[i]
        out.append(bids._replace(gang=gang, nothing=nothing))
    return out


@pytest.mark.parametrize("seed", range(6))
def test_a_bidder_gains_nothing_by_misreporting(seed: int) -> None:
    bids, rng = random_bids(seed, most=6), np.random.default_rng(seed)
    truth = auction(*bids)
    for i in range(len(bids.demand)):
        best = max(worth(bids, auction(*lie), i) for lie in lies(bids, i, rng))
        assert best <= worth(bids, truth, i) * (1 + 1e-9)


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


@pytest.mark.parametrize(
    "f, picture",
    [
        # Both bid. In the beginning they are alike, and a0 draws 0.65 below c = 90 / 120. At 30 s a0 has 60 s to go and
        # 30 s behind it, a1 90 s and 30 s: waiting costs a0 more, and so on.
        (0, ["a0 S==r==r==", "a1 .........S==r==r=="]),
        # Only the worse one bids, so they take turns.
        (0.5, ["a0 S==...R==...R==", "a1 ...S==...R==...R=="]),
        (1, ["a0 S==...R==...R==", "a1 ...S==...R==...R=="]),
    ],
)
def test_the_knob_trades_efficiency_for_fairness(f: float, picture: list[str]) -> None:
    assert drawn(simulated(jobs("a0 2 0 90", "a1 2 0 90"), 2, "themis", lease_term=30, f=f), 10) == picture


@pytest.mark.parametrize(
    "rows, f, picture",
    [
        # c is 30 / 60 at 0 s, 40 / 70 at 10 s and 50 / 80 at 20 s; a0 draws 0.65, 0.75 and 0.51
        (("a0 2 0 30", "a1 2 0 30"), 0, ["a0 ..S==", "a1 .....S=="]),
        # a2 did not bid and gets what is withheld; at 30 s, c is 60 / 90 and a0 draws 0.33
        (("a0 2 0 30", "a1 2 0 30", "a2 2 0 30"), 0.34, ["a0 ...S==", "a1 ......S==", "a2 S=="]),
    ],
)
def test_the_hidden_payment_is_a_lottery(rows: tuple[str, ...], f: float, picture: list[str]) -> None:
    assert drawn(simulated(jobs(*rows), 2, "themis", lease_term=30, f=f), 10) == picture


def first_starts(rows: list[str], cluster: Cluster, lease_term: float, **parameters: str) -> dict[str, float]:
    """When each job starts if the single worst bids."""
    policy, settings = get_policy("themis")(lease_term=lease_term, f=1, **parameters), Settings(checkpoint_overhead=0)
    result = simulate(Trace.from_frame(pd.DataFrame(jobs(*rows))), cluster, policy, settings=settings)
    return dict(zip(result.jobs["job_id"], result.jobs["first_start_time"], strict=True))


@pytest.mark.parametrize("cluster, expected", [(Cluster(2, 2), ["a6", "a7"]), (Cluster(1, 4), ["a5"])])
def test_leftovers_go_to_gangs_that_need_not_be_scattered(cluster: Cluster, expected: list[str]) -> None:
    """At 30 s a GPU is free on each of two nodes. a4 bids in vain; a5, the next worst, needs two GPUs."""
    run = ["a0 1 0 30", "a1 1 0 90", "a2 1 0 90", "a3 1 0 30"]  # a0 with a1 and a2 with a3 on a node
    starts = first_starts([*run, "a4 4 10 1", "a5 2 10 10", "a6 1 10 120", "a7 1 10 120"], cluster, 60)
    assert [j for j, start in starts.items() if start == 30] == expected


def test_leftovers_are_what_the_winners_leave_of_the_nodes() -> None:
    """As before with a third node, free too: a5 wins it, so that a6, the next worst, would be scattered."""
    rows = ["a0 1 0 30", "a1 1 0 90", "a2 1 0 90", "a3 1 0 30", "a4 2 0 30"]
    starts = first_starts([*rows, "a5 2 10 2", "a6 2 10 10", "a7 1 10 120", "a8 1 10 120"], Cluster(3, 2), 60)
    assert [j for j, start in starts.items() if start == 30] == ["a5", "a7", "a8"]


@pytest.mark.parametrize(
    "isolated, expected",
    [
        # at 30 s a1 has 80 / (60 * 3) and a2 80 / 60, as its share is more than the GPU that it needs
        ("cluster-share", {"a0": 0, "a1": 90, "a2": 30}),
        # both have 80 / (60 * 3), and a1 was submitted first
        ("times-n", {"a0": 0, "a1": 30, "a2": 90}),
    ],
)
def test_what_a_job_is_compared_with(isolated: str, expected: dict[str, float]) -> None:
    assert first_starts(["a0 4 0 30", "a1 4 10 60", "a2 1 10 60"], Cluster(1, 4), 60, isolated=isolated) == expected


def test_a_renewal_stands_in_line_for_leftovers_by_its_fairness() -> None:
    """At 30 s two GPUs are free, one of them that of a0, which is better off than a4 and a5 and loses it."""
    rows = jobs("a0 1 0 90", "a1 1 0 30", "a2 1 10 30", "a3 3 10 2", "a4 1 10 30", "a5 1 10 30")
    result = simulated(rows, 3, "themis", lease_term=30, f=1)
    assert result.grants is not None
    at = result.grants[result.grants["start"] == 30]
    assert list(zip(at["job_id"], at["kind"], strict=True)) == [("a4", "start"), ("a5", "start")]


def test_a_scattered_job_that_asks_for_renewal_keeps_its_nodes() -> None:
    """From 20 s on a4 holds one GPU of each node; at 50 s it asks for renewal while a5, worse off, would be scattered.

    a6, the worst, bids in vain for the whole cluster.
    """
    rows = ["a0 1 0 20", "a1 1 0 500", "a2 1 0 500", "a3 1 0 20", "a4 2 10 600", "a5 2 30 300", "a6 4 20 1"]
    trace = Trace.from_frame(pd.DataFrame(jobs(*rows)))
    policy, settings = get_policy("themis")(lease_term=30, f=1), Settings(checkpoint_overhead=0)
    result = simulate(trace, Cluster(2, 2), policy, settings=settings, keep_log=True)
    assert result.grants is not None
    at = result.grants[result.grants["start"] == 50]
    assert list(zip(at["job_id"], at["kind"], at["nodes"], strict=True)) == [("a4", "renewal", 2)]
