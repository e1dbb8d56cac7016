"""The partial-allocation auction of tables: exact, placeable, and no bidder gains by a false value."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from themis_auctions import (
    ALL,
    STEP,
    by_hand,
    by_program,
    larger,
    log_values,
    lots_of,
    placed,
    random_case,
    room_of,
    room_used,
    seeds,
    use_of,
    without,
)

from astraea.core.errors import InputError
from papers.themis.auction import Bid, auction


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
