"""The partial-allocation auction for bids that are tables ([Mahajan2020] §3.3.1, after [Cole2013]).

Every bidder wins one row of its bid such that the product of all values is largest. A winner keeps only the part c of
its prize that makes up for what the others lose by its presence: the hidden payment. To keep the part c of a prize is
worth c times the prize here, so that bidder i has

    c_i v_i(x*) = prod_j v_j(x*) / prod_{j != i} v_j(x* without i)

The denominator is out of its reach, and the auction makes the numerator, with the values that were bid, as large as it
can be: nobody gains by other values than the true ones.

Free GPUs are counted in room. For gang sizes s_0 < s_1 < ..., each a multiple of the one before, room[k] is the sum of
floor(free / s_k) over machines. A lot of s_k GPUs on one machine uses up 1 of room[k] and s_k / s_i of room[i] for
every i < k, whichever machine it is. So lots can be placed exactly if they use no more than the room of every size.

Departures. Rows of a bid are whole gangs on identical machines, not single GPUs on each. An app that wins nothing is
worth something, so that the product has a maximum although not everybody can win.

The policy `themis` of the package has an auction of its own. There a bid is one gang or nothing and room is one number,
so that it is a knapsack of numbers inside the compiled engine; a test compares both.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.compilation import compiled

RESOLUTION: Final = 2.0**40
"""Gains are whole multiples of 1 / RESOLUTION, so that their sums are exact in any order."""


class Bid(NamedTuple):
    """Answer of an app to an offer; row 0 takes nothing."""

    use: IntArray  # lots of each size that a row takes, shape (rows, K); smaller ones include what larger ones use up
    value: FloatArray  # 1 / rho with that row, finite and above 0, shape (rows,)


class Outcome(NamedTuple):
    """Result of the auction."""

    row: IntArray  # row that each bidder wins, shape (n,); 0 is nothing
    kept: FloatArray  # part c of its prize that each keeps, 1 for losers and for winners in nobody's way, shape (n,)


def auction(bids: Sequence[Bid], room: IntArray) -> Outcome:
    """Find rows that fit together with the largest product of values, and the part that each bidder keeps of its own.

    Exact, by a dynamic program over the room that may be in use: it takes prod(room + 1) steps for each row, and that
    times 8 bytes for each bidder. Products are compared by sums of gains, log(value[row] / value[0]) rounded to
    multiples of 2**-40. If several are largest, each bidder in turn takes, of the rows from which that sum can still be
    reached, the one with the largest gain, of equal ones the first.

    Always value[0] / value[row] <= kept <= 1, the lower bound up to that rounding. Without bidder i the others could do
    what they do in x*, hence <= 1. With it they could do their best without it while i takes row 0, and x* is no worse.
    So their product in x* times value[row] / value[0] is at least that best one, hence the lower bound. If k times as
    much is worth k times as much to everybody, at least 1 / e is kept: a result of [Cole2013], for divisible goods.

    There is at least one bid. `room` is how many lots of each size fit on free GPUs, the smallest first, shape (K,).
    """
    start = np.array([0, *accumulate(len(b.value) for b in bids)])
    use = np.ascontiguousarray(np.concatenate([b.use for b in bids]), np.int64)
    return Outcome(*_solve(use, np.concatenate([b.value for b in bids], dtype=np.float64), start, room))


@compiled
def _solve(use: IntArray, value: FloatArray, start: IntArray, room: IntArray) -> tuple[IntArray, FloatArray]:
    """Rows and parts of bids one behind the other; `start` is where the rows of each begin."""
    gain = _gains(value, start)
    order, first = _serious(use, gain, start, room)
    n = len(start) - 1
    row, kept = np.zeros(n, np.int64), np.ones(n)
    wanted, most = np.zeros_like(room), np.zeros_like(room)
    for i in range(n):
        row[i] = order[first[i]] - start[i]
        for k in range(len(room)):
            wanted[k] += use[order[first[i]], k]
            large = 0
            for r in range(first[i], first[i + 1]):
                large = max(large, use[order[r], k])
            most[k] += large
    if _within(wanted, room):
        return row, kept  # nobody is in anyone's way
    left, size, step = np.zeros_like(room), np.zeros_like(room), np.ones_like(room)
    last = 0  # amounts as one number, that of the smallest size in steps of 1; complement: last - it
    for k in range(len(room)):
        left[k] = min(room[k], most[k])
        size[k] = left[k] + 1
        if k > 0:
            step[k] = step[k - 1] * size[k - 1]
        last += left[k] * step[k]
    use, gain = use[order], gain[order]
    after = np.zeros((n + 1, last + 1), np.int64)  # best sum of the bidders from i on with at most so much room
    for i in range(n - 1, -1, -1):
        a, b = first[i], first[i + 1]
        _add_bid(after[i + 1], after[i], use[a:b], gain[a:b], step, size)
    before, spare = np.zeros(last + 1, np.int64), np.zeros(last + 1, np.int64)  # the same of those before i
    at = last
    for i in range(n):
        a, b = first[i], first[i + 1]
        r = a
        while not (_within(use[r], left) and gain[r] + after[i + 1, at - _number(use[r], step)] == after[i, at]):
            r += 1
        for k in range(len(left)):
            left[k] -= use[r, k]
        at -= _number(use[r], step)
        row[i] = order[r] - start[i]
        if row[i] > 0:
            without = 0
            for amount in range(last + 1):
                without = max(without, before[amount] + after[i + 1, last - amount])
            kept[i] = np.exp((after[0, last] - gain[r] - without) / RESOLUTION)
        _add_bid(before, spare, use[a:b], gain[a:b], step, size)
        before, spare = spare, before
    return row, kept


@compiled
def _gains(value: FloatArray, start: IntArray) -> IntArray:
    """Gain of each row over the first of its bid in steps of 1 / RESOLUTION, 0 for those that are worth less."""
    gain = np.zeros(len(value), np.int64)
    for i in range(len(start) - 1):
        nothing = value[start[i]]
        for r in range(start[i], start[i + 1]):
            if value[r] > nothing:
                is_far = value[r] * 1e-300 > nothing  # the ratio may be beyond all floats
                log = np.log(value[r]) - np.log(nothing) if is_far else np.log(value[r] / nothing)
                gain[r] = np.rint(log * RESOLUTION)
    return gain


@compiled
def _serious(use: IntArray, gain: IntArray, start: IntArray, room: IntArray) -> tuple[IntArray, IntArray]:
    """Rows that could win, each bidder's in the order in which it takes them, and where each bidder's begin.

    Left out are those that do not fit, and those after a row that uses no more of anything. So the last one of each
    bidder uses nothing: row 0, unless another one that uses nothing is worth more.
    """
    order, first = np.empty(len(gain), np.int64), np.zeros_like(start)
    count = 0
    for i in range(len(start) - 1):
        for k in np.argsort(-gain[start[i] : start[i + 1]], kind="mergesort"):
            r = start[i] + k
            stays = _within(use[r], room)
            for q in range(first[i], count):
                stays = stays and not _within(use[order[q]], use[r])
            if stays:
                order[count] = r
                count += 1
        first[i + 1] = count
    return order[:count], first


@compiled
def _within(a: IntArray, b: IntArray) -> bool:
    """Return True if no entry is above its limit."""
    for k in range(len(a)):
        if a[k] > b[k]:
            return False
    return True


@compiled
def _add_bid(best: IntArray, better: IntArray, use: IntArray, gain: IntArray, step: IntArray, size: IntArray) -> None:
    """Return the best sum of gains for each amount of room with one more bid, from that without it."""
    rows, width = len(use) - 1, size[0]
    for i in range(len(best)):
        better[i] = best[i] + gain[rows]
    for r in range(rows):
        plus, shift = gain[r], _number(use[r], step)
        for begin in range(0, len(best), width):  # amounts of all sizes but the smallest
            fits = True
            for k in range(1, len(step)):
                fits = fits and use[r, k] <= begin // step[k] % size[k]
            if fits:
                end = begin + width
                _raise(better[begin + use[r, 0] : end], best[begin + use[r, 0] - shift : end - shift], plus)


@compiled  # apart, as the compiler then takes several numbers at a time
def _raise(new: IntArray, old: IntArray, plus: int) -> None:
    for j in range(len(new)):
        new[j] = max(new[j], old[j] + plus)


@compiled
def _number(use: IntArray, step: IntArray) -> int:
    """Write amounts as one number."""
    number = 0
    for k in range(len(step)):
        number += use[k] * step[k]
    return number
