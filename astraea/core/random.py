"""Random streams by name, and 64-bit hash lotteries for auctions that give the same draws on every platform."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.checks import whole_number
from astraea.core.compilation import inlined

#: increment of splitmix64's state from one number to the next
STEP = np.uint64(0x9E3779B97F4A7C15)


def streams(seed: int, names: Iterable[str]) -> dict[str, np.random.Generator]:
    """Return one independent stream per name from a seed of at least 0; appending a name leaves the others alone."""
    names = tuple(names)
    children = np.random.SeedSequence(whole_number(seed, "the seed")).spawn(len(names))
    return {name: np.random.default_rng(child) for name, child in zip(names, children, strict=True)}


@inlined
def splitmix64(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return one step of splitmix64 from each state (Steele et al., OOPSLA 2014); sums wrap at 2**64 silently."""
    z = state + STEP
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inlined
def lottery(items: IntArray, now: float) -> FloatArray:
    """Draw a number in [0, 1) per item at this time: splitmix64 of the time [2**-10 s], then of that and the item."""
    clock = np.full(len(items), int(now * 1024)).astype(np.uint64)
    mixed: npt.NDArray[np.uint64] = splitmix64(splitmix64(clock) + items.astype(np.uint64))
    numbers: FloatArray = (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return numbers


@inlined
def number_of_bidders(candidates: int, f: float) -> int:
    """Number of bidders in an auction: the part 1 - f of the candidates, rounded up, at least 1 ([Mahajan2020])."""
    return max(1, candidates - int(np.floor(f * candidates + 1e-9)))  # 0.29 of 100 are 29, whatever floats make of it
