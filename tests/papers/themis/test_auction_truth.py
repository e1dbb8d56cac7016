"""Who says more than is true gains nothing, and what does not matter changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from themis_auctions import (
    best_gain,
    random_case,
    seeds,
)

from papers.themis.auction import Bid, auction


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
