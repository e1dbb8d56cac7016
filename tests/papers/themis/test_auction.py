"""The partial-allocation auction: exact, whatever is bid; what searches among random ones find, and one by hand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd
import pytest

from astraea.core.arrays import IntArray
from papers.themis.apps import MODELS
from papers.themis.auction import Bid, Outcome, auction
from papers.themis.study import auctions

STEP = 2.0**-40
"""Gains, and so logarithms of payments per bidder, are known up to this."""

CHAINS = ([1], [2], [1, 2], [2, 4], [1, 3], [1, 2, 4], [1, 4, 8], [1, 3, 6])


def random_case(seed: int, bidders: int = 5, rows: int = 4) -> tuple[list[Bid], IntArray]:
    """Bids of lots, and the room on random machines; every third has few gains, so that many products are equal."""
    rng = np.random.default_rng(seed)
    sizes = np.array(CHAINS[rng.integers(len(CHAINS))])
    shares = np.tril(sizes[:, None] // sizes)  # row: size of the lot, column: size of the room
    machines = rng.integers(0, 2 * sizes[-1] + 1, rng.integers(1, 4))
    if seed % 10 == 7:
        machines[:] = 0
    bids = []
    for _ in range(rng.integers(2, bidders + 1) if seed % 8 else 1):
        n = int(rng.integers(2, rows + 1))
        lots = rng.integers(0, 3, (n, len(sizes)))
        lots[0] = 0
        ratio = rng.choice([0.5, 1.0, 2.0, 4.0], n) if seed % 3 == 0 else np.exp(rng.normal(0.7, 1.0, n))
        ratio[0] = 1.0
        bids.append(Bid(lots @ shares, ratio * (0.25 if seed % 3 == 0 else rng.lognormal(-2, 1))))
    if seed % 4 == 1:
        bids[-1] = bids[0]
    return bids, (machines[:, None] // sizes).sum(axis=0)


def by_hand(bids: Sequence[Bid], room: IntArray) -> tuple[list[int], float]:
    """A row of each bidder, and the sum of the logarithms of values: all combinations are tried.

    Of equal products each bidder in turn has its largest gain, then its first row.
    """
    combos = np.array(list(product(*(range(len(b.value)) for b in bids))), np.int64)
    use, gain, log_product = np.zeros((len(combos), len(room)), np.int64), np.zeros(len(combos)), np.zeros(len(combos))
    gains = [np.rint(np.log(b.value / b.value[0]) / STEP) for b in bids]
    for i, b in enumerate(bids):
        use += b.use[combos[:, i]]
        gain += gains[i][combos[:, i]]
        log_product += np.log(b.value[combos[:, i]])
    fits = (use <= room).all(axis=1)
    best = combos[fits & (gain == gain[fits].max())]
    row = max(best.tolist(), key=lambda c: [(gains[i][r], -r) for i, r in enumerate(c)])
    return row, log_product[fits].max()


@pytest.mark.parametrize(
    "seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(20, 160))]
)
def test_winners_and_payments_are_those_of_all_combinations(seed: int) -> None:
    """Product, tie-breaking and hidden payments are those of brute force."""
    bids, room = random_case(seed, *((7, 6) if seed == 10 else ()))
    out = auction(bids, room)
    logs = np.array([np.log(b.value[r]) for b, r in zip(bids, out.row, strict=True)])
    row, log_product = by_hand(bids, room)
    assert (np.sum([b.use[r] for b, r in zip(bids, out.row, strict=True)], axis=0) <= room).all()
    assert logs.sum() == pytest.approx(log_product, abs=2 * STEP * len(logs))
    assert out.row.tolist() == row
    for i in range(len(logs)):
        _, others = by_hand([*bids[:i], *bids[i + 1 :]], room) if len(bids) > 1 else ([], 0.0)
        assert np.log(out.kept[i]) == pytest.approx(logs.sum() - logs[i] - others, abs=2 * STEP * len(logs))
        assert out.kept[i] <= 1
        assert np.log(out.kept[i]) + logs[i] >= np.log(bids[i].value[0]) - 2 * STEP
        assert out.row[i] > 0 or out.kept[i] == 1


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_products_of_many_values_neither_vanish_nor_overflow(scale: float) -> None:
    """Where all want one lot, those with the largest ratios win and pay for the first that does not."""
    ratio = np.random.default_rng(0).permutation(1.0 + np.arange(1, 301) / 8)
    bids = [Bid(np.array([[0], [1]]), np.array([scale, scale * r])) for r in ratio]
    out = auction(bids, np.array([20]))
    assert set(np.flatnonzero(out.row)) == set(np.argsort(-ratio)[:20])
    assert out.kept[out.row > 0] == pytest.approx(1 / np.sort(ratio)[-21])


def test_a_ratio_beyond_all_floats_is_a_ratio() -> None:
    """A value may be so much larger than nothing that their ratio is no float."""
    bids = [Bid(np.array([[0], [1]]), np.array([1e-300, top])) for top in (1e299, 1e300, 1e-299)]
    out = auction(bids, np.array([1]))
    assert out.row.tolist() == [0, 1, 0]
    assert out.kept[1] == 0.0  # 1e-599


def test_a_seed_is_an_auction_in_any_chunk() -> None:
    pd.testing.assert_frame_equal(auctions.failures(0, 8)[5:8].reset_index(drop=True), auctions.failures(5, 8))


def test_brute_force_notices_what_is_not_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """An auction that gives nothing to anybody is found out wherever something could be won."""
    cases = [auctions.random_case(seed) for seed in range(60)]
    best = [bool(auction(*case).row.any()) for case in cases]
    nothing = lambda bids, _: Outcome(np.zeros(len(bids), np.int64), np.ones(len(bids)))  # noqa: E731
    monkeypatch.setattr(auctions, "auction", nothing)
    assert [auctions.is_maximal(case) for case in cases] == [not won for won in best] and 0 < sum(best) < len(best)


def test_parts_of_a_prize_are_worth_what_the_app_says() -> None:
    """Whole parts are rows of the bid, others lie between; what is on one machine is kept first."""
    for seed in range(20):
        arbiter, agents = auctions.random_offer(seed)
        table, rows = auctions.bid(arbiter, agents[0])
        known = {tuple(row): value for row, value in zip(rows.tolist(), table.value, strict=True)}
        for row in rows:
            gangs = int(row.sum())
            kept = [min(n, row[0]) for n in range(gangs + 1)]
            worth = [known[local, n - local] for n, local in enumerate(kept)]
            for n in range(gangs):
                for part in (0.0, 0.25, 1.0):
                    got = auctions.expected_value(arbiter, agents[0], row, (n + part) / gangs)
                    assert got == pytest.approx((1 - part) * worth[n] + part * worth[n + 1])


def test_the_example_by_hand() -> None:
    """Twelve gang-epochs of 2 min, of which each app could have run one at a time with a third of the cluster.

    One row is won by each, and the two that suffer from being spread are not. Each pays.
    """
    table = auctions.example_table()
    rho = table.set_index(["app", "local", "spread"])["rho"]
    alone, waited, lease = 12 * 120, 600, 900
    first, second = 8 * 120, 4 * 120  # of both jobs, of the better one
    for app, slowdown in (("vgg16", 2.0), ("resnet50", 1.25), ("inception-v3", 1.0)):
        assert rho[app, 0, 0] == pytest.approx((waited + lease + alone) / alone)
        assert rho[app, 1, 0] == pytest.approx((waited + alone) / alone)
        assert rho[app, 0, 1] == pytest.approx((waited + slowdown * alone) / alone)
        assert rho[app, 2, 0] == pytest.approx((waited + first / 2 + second) / alone)
        assert rho[app, 1, 1] == pytest.approx((waited + first / (1 + 1 / slowdown) + second) / alone)
    won = table[table["won"]].set_index("app")
    assert won.index.tolist() == list(MODELS)
    assert won["local"].tolist() == [1, 1, 0] and won["spread"].tolist() == [0, 0, 1]
    assert table["kept"].notna().tolist() == table["won"].tolist()
    assert (won["kept"] < 0.8).all()
