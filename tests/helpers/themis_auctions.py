"""Auctions drawn by chance and small ones whose answer is found by trying everything."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from astraea.core.arrays import FloatArray, IntArray
from papers.themis.auction import Bid, Outcome, auction

STEP = 2.0**-40
"""Gains, and so logarithms of payments per bidder, are known up to this."""


def seeds(few: int, many: int) -> pytest.MarkDecorator:
    """Random auctions: the first few are for every change."""
    rest = pytest.mark.exhaustive
    return pytest.mark.parametrize("seed", [*range(few), *(pytest.param(k, marks=rest) for k in range(few, many))])


ALL = 160
"""Random auctions that are compared with all combinations."""

CHAINS = ([1], [2], [1, 2], [2, 4], [1, 3], [1, 2, 4], [1, 4, 8], [1, 3, 6])


class Case(NamedTuple):
    """An auction, and the gang sizes and machines behind its room [GPU]."""

    bids: list[Bid]
    room: IntArray
    sizes: IntArray
    machines: IntArray


def room_of(machines: IntArray, sizes: IntArray) -> IntArray:
    """Lots of each size that fit on single machines."""
    room: IntArray = (machines[:, None] // sizes).sum(axis=0)
    return room


def use_of(lots: IntArray, sizes: IntArray) -> IntArray:
    """What lots of each size use up of the room of every size; of shape (..., K) both."""
    shares = np.tril(sizes[:, None] // sizes)  # row: size of the lot, column: size of the room
    use: IntArray = lots @ shares
    return use


def lots_of(use: IntArray, sizes: IntArray) -> IntArray:
    """Lots of each size that use up so much: the inverse of `use_of`."""
    lots: IntArray = np.rint(use @ np.linalg.inv(np.tril(sizes[:, None] // sizes))).astype(np.int64)
    return lots


def random_case(seed: int, *, bidders: int = 5, rows: int = 4, ties: bool | None = None) -> Case:
    """Bids of lots on random machines; with ties gains are few, so that many products are equal."""
    rng = np.random.default_rng(seed)
    ties = seed % 3 == 0 if ties is None else ties
    sizes = np.array(CHAINS[rng.integers(len(CHAINS))])
    machines = rng.integers(0, 2 * sizes[-1] + 1, rng.integers(1, 4))
    if seed % 10 == 7:
        machines[:] = 0
    bids = []
    for _ in range(rng.integers(2, bidders + 1) if seed % 8 else 1):
        n = int(rng.integers(2, rows + 1))
        lots = rng.integers(0, 3, (n, len(sizes)))
        lots[0] = 0
        ratio = rng.choice([0.5, 1.0, 2.0, 4.0], n) if ties else np.exp(rng.normal(0.7, 1.0, n))
        ratio[0] = 1.0
        bids.append(Bid(use_of(lots, sizes), ratio * (0.25 if ties else rng.lognormal(-2, 1))))
    if seed % 4 == 1:
        bids[-1] = bids[0]
    return Case(bids, room_of(machines, sizes), sizes, machines)


class Best(NamedTuple):
    """What brute force finds: a row of each bidder, and the sum of the logarithms of values."""

    row: list[int]
    log_product: float


def by_hand(bids: Sequence[Bid], room: IntArray) -> Best:
    """All combinations of rows; of equal products each bidder in turn has its largest gain, then its first row."""
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
    return Best(row, log_product[fits].max())


def without(bids: Sequence[Bid], i: int) -> list[Bid]:
    return [b for j, b in enumerate(bids) if j != i]


def log_values(bids: Sequence[Bid], row: IntArray) -> FloatArray:
    return np.array([np.log(b.value[r]) for b, r in zip(bids, row, strict=True)])


def room_used(bids: Sequence[Bid], out: Outcome) -> IntArray:
    used: IntArray = np.sum([b.use[r] for b, r in zip(bids, out.row, strict=True)], axis=0)
    return used


def larger(rng: np.random.Generator, bidders: int, rows: int) -> list[Bid]:
    """Bids of GPUs 1 and 2, worth more the more there are."""
    bids = []
    for _ in range(bidders):
        lots = rng.integers(0, 6, (rows, 2))
        lots[0] = 0
        use = use_of(lots, np.array([1, 2]))
        bids.append(Bid(use, rng.lognormal(-2, 1) * (1 + use @ rng.uniform(0, 1, 2) * rng.uniform(0.8, 1, rows))))
    return bids


def by_program(bids: Sequence[Bid], room: IntArray) -> float:
    """Largest sum of logarithms of values, by HiGHS."""
    use = np.concatenate([b.use for b in bids])
    bidder = np.repeat(np.arange(len(bids)), [len(b.value) for b in bids])
    one_row = LinearConstraint((bidder == np.arange(len(bids))[:, None]).astype(float), 1, 1)
    found = milp(
        -np.concatenate([np.log(b.value) for b in bids]),
        integrality=np.ones(len(use)),
        bounds=Bounds(0, 1),
        constraints=[one_row, LinearConstraint(use.T.astype(float), -np.inf, room)],
        options={"mip_rel_gap": 0.0},
    )
    assert found.status == 0
    return -float(found.fun)


def placed(lots: Sequence[int], machines: Sequence[int]) -> bool:
    """Whether lots of so many GPUs can be placed, each on one machine: every way is tried."""
    if not lots:
        return True
    ways = {m: k for k, m in enumerate(machines) if m >= lots[0]}.values()
    return any(placed(lots[1:], [m - lots[0] * (k == way) for k, m in enumerate(machines)]) for way in ways)


def lies(truth: Bid, rng: np.random.Generator) -> list[FloatArray]:
    """Values that a bidder might report: some or all multiplied, steeper, bent, in another order, other ones."""
    v, factors = truth.value, [0.01, 0.5, 0.9, 0.99, 1.01, 1.1, 2.0, 100.0]
    each = np.eye(len(v), dtype=bool)
    out = [v * f for f in factors]
    out += [np.where(each[0], v * f, v * g) for f in factors for g in factors]
    out += [np.where(one, v * f, v) for one in each for f in factors]
    out += [v.min() + (v - v.min()) * f + 1e-9 for f in (0.1, 0.5, 2.0, 10.0)]
    out += [v**f for f in (0.2, 0.5, 2.0, 5.0)]
    out += [rng.permutation(v) for _ in range(10)]
    out += [rng.lognormal(0, 1.5, len(v)) for _ in range(30)]
    out += [v * rng.lognormal(0, 0.5, len(v)) for _ in range(30)]
    return out


def best_gain(case: Case, *, pays: bool) -> float:
    """Largest part by which a false report makes what a bidder keeps worth more to it."""
    rng = np.random.default_rng(0)

    def utility(bids: list[Bid], i: int) -> float:
        out = auction(bids, case.room)
        return float((out.kept[i] if pays else 1.0) * case.bids[i].value[out.row[i]])

    gains = []
    for i, truth in enumerate(case.bids):
        honest = utility(case.bids, i)
        for value in lies(truth, rng):
            reported = [*case.bids[:i], Bid(truth.use, value), *case.bids[i + 1 :]]
            gains.append(utility(reported, i) / honest - 1)
    return max(gains)
