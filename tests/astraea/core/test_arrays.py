"""Parts in whole numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from astraea.core.arrays import apportion


@given(st.lists(st.floats(0.01, 1000.0), min_size=1, max_size=20), st.integers(0, 1000))
def test_whole_parts_add_up_and_stay_within_one_of_the_exact_ones(weights: list[float], total: int) -> None:
    parts = total * np.array(weights) / sum(weights)
    got = apportion(parts, total)
    assert got.sum() == total
    assert (np.abs(got - parts) < 1 + 1e-6).all()


def test_of_equal_remainders_the_first_is_rounded_up() -> None:
    assert apportion(np.array([1.5, 2.25, 0.5, 1.75]), 6).tolist() == [2, 2, 0, 2]
    assert apportion(np.full(3, 1 / 3) * 10, 10).tolist() == [4, 3, 3]
    assert apportion(np.array([0.5, 0.3, 0.2]) * 4, 4).tolist() == [2, 1, 1]
