"""The partial-allocation auction of tables: exact, placeable, and no bidder gains by a false value."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.errors import InputError
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


class TestExactness:
    @seeds(20, ALL)
    def test_winners_and_payments_are_those_of_all_combinations(self, seed: int) -> None:
        """Product, tie-breaking and hidden payments are those of brute force."""
        case = random_case(seed)
        out = auction(case.bids, case.room)
        logs, best = log_values(case.bids, out.row), by_hand(case.bids, case.room)
        assert (room_used(case.bids, out) <= case.room).all()
        assert logs.sum() == pytest.approx(best.log_product, abs=2 * STEP * len(logs))
        assert out.row.tolist() == best.row
        for i in range(len(logs)):
            others = by_hand(without(case.bids, i), case.room).log_product
            assert np.log(out.kept[i]) == pytest.approx(logs.sum() - logs[i] - others, abs=2 * STEP * len(logs))
            assert out.kept[i] <= 1
            assert np.log(out.kept[i]) + logs[i] >= np.log(case.bids[i].value[0]) - 2 * STEP
            assert out.row[i] > 0 or out.kept[i] == 1

    def test_the_cases_are_what_they_should_be(self) -> None:
        """Brute force meets losers, payments, ties, no room, single bidders, and room for all."""
        outs = [(c, auction(c.bids, c.room)) for c in map(random_case, range(ALL))]
        assert sum(bool((out.kept < 1).any()) for _, out in outs) > 32
        assert sum(not case.room.any() for case, _ in outs) > 8
        assert sum(len(case.bids) == 1 for case, _ in outs) > 16
        assert sum(case.bids[0] is case.bids[-1] and len(case.bids) > 1 for case, _ in outs) > 16
        assert {len(case.room) for case, _ in outs} == {1, 2, 3}
        turned = [auction(case.bids[::-1], case.room).row[::-1] for case, _ in outs]
        assert sum(bool((row != out.row).any()) for row, (_, out) in zip(turned, outs, strict=True)) > 8  # ties

    @seeds(2, 6)
    def test_larger_auctions_agree_with_an_integer_program(self, seed: int) -> None:
        """Tables far beyond brute force: product and payments are those of a branch-and-bound solver."""
        rng = np.random.default_rng(seed)
        bids, room = larger(rng, bidders=10, rows=15), np.array([30, 12])
        out = auction(bids, room)
        logs = log_values(bids, out.row)
        assert (room_used(bids, out) <= room).all()
        assert logs.sum() == pytest.approx(by_program(bids, room), abs=1e-6)
        for i in (0, 5, 9):
            others = by_program(without(bids, i), room)
            assert np.log(out.kept[i]) == pytest.approx(logs.sum() - logs[i] - others, abs=1e-6)
        assert (out.kept < 1).sum() > 3

    @pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
    def test_products_of_many_values_neither_vanish_nor_overflow(self, scale: float) -> None:
        """Where all want one lot, those with the largest ratios win and pay for the first that does not."""
        ratio = np.random.default_rng(0).permutation(1.0 + np.arange(1, 301) / 8)
        bids = [Bid(np.array([[0], [1]]), np.array([scale, scale * r])) for r in ratio]
        out = auction(bids, np.array([20]))
        assert set(np.flatnonzero(out.row)) == set(np.argsort(-ratio)[:20])
        assert out.kept[out.row > 0] == pytest.approx(1 / np.sort(ratio)[-21])

    def test_a_ratio_beyond_all_floats_is_a_ratio(self) -> None:
        """A value may be so much larger than nothing that their ratio is no float."""
        bids = [Bid(np.array([[0], [1]]), np.array([1e-300, top])) for top in (1e299, 1e300, 1e-299)]
        out = auction(bids, np.array([1]))
        assert out.row.tolist() == [0, 1, 0]
        assert out.kept[1] == 0.0  # 1e-599
        out = auction(bids[1:], np.array([1]))
        assert out.row.tolist() == [1, 0]
        assert out.kept[0] == pytest.approx(0.1)

    def test_of_rows_that_are_worth_the_same_the_first_is_won(self) -> None:
        """Even if a later one uses less, with and without others in the way."""
        bid = Bid(np.array([[0], [2], [1], [1]]), np.array([1.0, 3.0, 3.0, 2.0]))
        small = Bid(np.array([[0], [1]]), np.array([1.0, 1.5]))
        assert auction([bid], np.array([4])).row.tolist() == [1]
        assert auction([bid, small], np.array([3])).row.tolist() == [1, 1]
        assert auction([bid, small], np.array([2])).row.tolist() == [2, 1]
        assert auction([bid, bid, small], np.array([4])).row.tolist() == [1, 2, 1]

    def test_a_row_that_uses_nothing_may_be_worth_more_than_the_first(self) -> None:
        """It is won where nothing better is, and paid for in full by nobody."""
        bid = Bid(np.array([[0], [1], [0]]), np.array([1.0, 4.0, 2.0]))
        out = auction([bid, bid], np.array([1]))
        assert out.row.tolist() == [1, 2]
        assert out.kept.tolist() == pytest.approx([0.5, 1.0])
        assert auction([bid], np.array([0])).row.tolist() == [2]

    def test_nobody_pays_where_all_fit(self) -> None:
        """Everybody has its best row if there is room for all, however much there is."""
        case = random_case(5)
        for more in (0, 1, 10**6):
            out = auction(case.bids, np.sum([b.use.max(axis=0) for b in case.bids], axis=0) + more)
            assert out.row.tolist() == [np.argmax(b.value) for b in case.bids]
            assert (out.kept == 1).all()

    def test_without_bidders_there_is_nothing_to_give(self) -> None:
        out = auction([], np.array([3, 1]))
        assert (out.row.shape, out.kept.shape) == ((0,), (0,))


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


class TestRoom:
    @seeds(10, 60)
    def test_what_is_won_can_be_placed(self, seed: int) -> None:
        """Lots largest first, each on the fullest machine that holds it: there always is one."""
        case = random_case(seed, bidders=12, rows=8)
        out = auction(case.bids, case.room)
        free = case.machines.copy()
        lots = lots_of(room_used(case.bids, out), case.sizes)
        assert (lots >= 0).all()
        for size, number in zip(case.sizes[::-1], lots[::-1], strict=True):
            for _ in range(number):
                holds = np.flatnonzero(free >= size)
                assert len(holds) > 0
                free[holds[np.argmin(free[holds])]] -= size

    @pytest.mark.parametrize("sizes", [[2], [1, 2], [2, 4], [1, 3], [1, 2, 4], [1, 2, 6]])
    def test_a_row_is_won_if_and_only_if_its_lots_can_be_placed(self, sizes: list[int]) -> None:
        """All small sets of lots on all small machines; whether they can be placed is found by trying every way."""
        rng = np.random.default_rng(0)
        chain, answers = np.array(sizes), []
        for _ in range(60):
            machines = rng.integers(0, 8, rng.integers(1, 4))
            for lots in product(range(4), repeat=len(sizes)):
                bid = Bid(use_of(np.array([np.zeros_like(chain), lots]), chain), np.array([1.0, 2.0]))
                won = bool(auction([bid], room_of(machines, chain)).row[0])
                assert won == placed(np.repeat(chain, lots)[::-1].tolist(), machines.tolist())
                answers.append(won)
        assert 0.1 < np.mean(answers) < 0.9


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


class TestTruth:
    @seeds(5, 20)
    def test_no_bidder_gains_by_false_values(self, seed: int) -> None:
        """The truth is a best response to whatever the others bid."""
        assert best_gain(random_case(seed, bidders=6, rows=6), pays=True) <= 1e-9

    def test_it_is_the_payment_that_keeps_bidders_honest(self) -> None:
        """The same search finds large gains in the auction that lets winners keep their whole prize."""
        gains = [best_gain(random_case(seed, bidders=6, rows=6), pays=False) for seed in range(20)]
        assert max(gains) > 0.5
        assert sum(g > 1e-6 for g in gains) > 5


class TestWhatDoesNotMatter:
    @seeds(5, 20)
    def test_the_order_of_bidders(self, seed: int) -> None:
        """Without ties; sums are exact, so payments are the same to the last bit."""
        case = random_case(4 * seed + 2, bidders=7, rows=6, ties=False)
        order = np.random.default_rng(seed).permutation(len(case.bids))
        out, turned = auction(case.bids, case.room), auction([case.bids[i] for i in order], case.room)
        assert turned.row.tolist() == out.row[order].tolist()
        assert turned.kept.tolist() == out.kept[order].tolist()

    @seeds(5, 20)
    def test_the_scale_of_a_bid(self, seed: int) -> None:
        """Only ratios of a bidder's values count, for itself and the others."""
        case = random_case(seed, bidders=7, rows=6)
        bids, i = list(case.bids), seed % len(case.bids)
        out = auction(bids, case.room)
        for scale in (2.0**-20, 3.7, 1e6):
            bids[i] = case.bids[i]._replace(value=case.bids[i].value * scale)
            scaled = auction(bids, case.room)
            assert scaled.row.tolist() == out.row.tolist()
            assert scaled.kept == pytest.approx(out.kept, rel=1e-10)
            if seed % 3 == 0 or scale == 2.0**-20:  # ratios are not rounded otherwise than before
                assert scaled.kept.tolist() == out.kept.tolist()

    @seeds(5, 20)
    def test_rows_that_nobody_would_want(self, seed: int) -> None:
        """Those that do not fit, that use more than one that is worth the same, or that are worth less than nothing."""
        case = random_case(seed, bidders=7, rows=6)
        bids = []
        for b in case.bids:
            use = np.concatenate([b.use, b.use + case.room.max() + 1, b.use + 1, b.use[::-1]])
            value = np.concatenate([b.value, 9 * b.value, b.value, np.full(len(b.value), b.value[0] / 2)])
            bids.append(Bid(use, value))
        out, more = auction(case.bids, case.room), auction(bids, case.room)
        assert more.row.tolist() == out.row.tolist()
        assert more.kept.tolist() == out.kept.tolist()

    @seeds(5, 20)
    def test_bidders_that_want_nothing(self, seed: int) -> None:
        """They win nothing and change nothing; what was bid stays as it was."""
        case = random_case(seed, bidders=7, rows=6)
        idle = Bid(np.zeros((1, len(case.room)), np.int64), np.array([0.3]))
        given = [(b.use.copy(), b.value.copy()) for b in case.bids]
        room = case.room.copy()
        out, more = auction(case.bids, case.room), auction([idle, *case.bids, idle], case.room)
        assert more.row.tolist() == [0, *out.row, 0]
        assert more.kept.tolist() == [1, *out.kept, 1]
        assert (case.room == room).all()
        for b, (use, value) in zip(case.bids, given, strict=True):
            assert (b.use == use).all()
            assert (b.value == value).all()

    def test_how_arrays_lie_in_memory(self) -> None:
        """Other integer types, other orders and arrays that may not be written."""
        case = random_case(11, bidders=7, rows=6)
        frozen = [Bid(np.asfortranarray(b.use.astype(np.int32)), b.value.copy()) for b in case.bids]
        for b in frozen:
            b.use.flags.writeable = b.value.flags.writeable = False
        out, other = auction(case.bids, case.room), auction(frozen, case.room.astype(np.int16))
        assert other.row.tolist() == out.row.tolist()
        assert other.kept.tolist() == out.kept.tolist()


GOOD = Bid(np.array([[0, 0], [2, 1], [1, 0]]), np.array([1.0, 3.0, 2.0]))


class TestBadInput:
    @pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
    def test_a_value_is_a_finite_number_above_0(self, value: float) -> None:
        """The sentence names bidder and row."""
        bad = GOOD._replace(value=np.array([1.0, 3.0, value]))
        with pytest.raises(InputError, match=rf"^bidder 1, row 2: value must be a finite number above 0, got {value}$"):
            auction([GOOD, bad, GOOD], np.array([4, 2]))

    @pytest.mark.parametrize(
        "use, sentence",
        [
            ([[0, 0], [2, -1], [1, 0]], r"row 1: use must be at least 0, got \[2, -1\]"),
            ([[0, 0], [2, 1], [1, 2]], r"row 2: use of a smaller size must include the larger ones, got \[1, 2\]"),
            ([[1, 0], [2, 1], [1, 0]], r"row 0: use must be 0 in the first row, got \[1, 0\]"),
        ],
    )
    def test_a_use_must_be_possible(self, use: list[list[int]], sentence: str) -> None:
        """The sentence names bidder and row."""
        with pytest.raises(InputError, match=rf"^bidder 2, {sentence}$"):
            auction([GOOD, GOOD, GOOD._replace(use=np.array(use))], np.array([4, 2]))

    @pytest.mark.parametrize(
        "bid",
        [
            Bid(GOOD.use, GOOD.value[:2]),
            Bid(GOOD.use[:, :1], GOOD.value),
            Bid(GOOD.use[:0], GOOD.value[:0]),
            Bid(GOOD.use, GOOD.value[:, None]),
            Bid(GOOD.use[0], GOOD.value),
            Bid(GOOD.use.astype(float), GOOD.value),
            Bid(GOOD.use, GOOD.value.astype(str)),
        ],
    )
    def test_shapes_and_types(self, bid: Bid) -> None:
        """The sentence names the bidder and what it gave."""
        with pytest.raises(InputError, match=r"^bidder 1: use must be whole numbers of shape \(rows, 2\) and value "):
            auction([GOOD, bid], np.array([4, 2]))

    @pytest.mark.parametrize("room", [[4, -1], [4.0, 2.0], [[4, 2]], [], 4])
    def test_room_counts_lots(self, room: list[float]) -> None:
        """One whole number for each size."""
        with pytest.raises(InputError, match=r"^the room must be whole numbers of at least 0, one for each size, got "):
            auction([GOOD], np.array(room))
