"""The partial-allocation auction of tables: exact, whatever is bid; `study/test_auctions` tries lies."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from astraea.core.arrays import FloatArray, IntArray
from papers.themis.auction import Bid, auction

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


def logs_of(bids: Sequence[Bid], row: IntArray) -> FloatArray:
    return np.array([np.log(b.value[r]) for b, r in zip(bids, row, strict=True)])


@pytest.mark.parametrize(
    "seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(20, 160))]
)
def test_winners_and_payments_are_those_of_all_combinations(seed: int) -> None:
    """Product, tie-breaking and hidden payments are those of brute force."""
    bids, room = random_case(seed, *((7, 6) if seed == 10 else ()))
    out = auction(bids, room)
    logs, (row, log_product) = logs_of(bids, out.row), by_hand(bids, room)
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


def test_of_rows_that_are_worth_the_same_the_first_is_won() -> None:
    """Even if a later one uses less, with and without others in the way."""
    bid = Bid(np.array([[0], [2], [1], [1]]), np.array([1.0, 3.0, 3.0, 2.0]))
    small = Bid(np.array([[0], [1]]), np.array([1.0, 1.5]))
    assert auction([bid], np.array([4])).row.tolist() == [1]
    assert auction([bid, small], np.array([3])).row.tolist() == [1, 1]
    assert auction([bid, small], np.array([2])).row.tolist() == [2, 1]
    assert auction([bid, bid, small], np.array([4])).row.tolist() == [1, 2, 1]


def test_a_row_that_uses_nothing_may_be_worth_more_than_the_first() -> None:
    """It is won where nothing better is, and paid for in full by nobody."""
    bid = Bid(np.array([[0], [1], [0]]), np.array([1.0, 4.0, 2.0]))
    out = auction([bid, bid], np.array([1]))
    assert out.row.tolist() == [1, 2]
    assert out.kept.tolist() == pytest.approx([0.5, 1.0])
    assert auction([bid], np.array([0])).row.tolist() == [2]
