"""Products are added up in the order in which they stand."""

from __future__ import annotations

import numpy as np
import pytest

from papers.gavel.sums import dot


def in_order(a: list[float], b: list[float]) -> float:
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total


@pytest.mark.parametrize("types", [2, 3, 7])
def test_every_sum_is_that_of_a_plain_loop_to_the_last_bit(types: int) -> None:
    draw = np.random.default_rng(types)
    many, few, rows = draw.random((500, types)), draw.random(types), draw.random(500)
    assert dot(many, few).tolist() == [in_order(row, few.tolist()) for row in many.tolist()]
    assert dot(rows, many).tolist() == [in_order(rows.tolist(), column) for column in many.T.tolist()]
    assert dot(np.zeros((0, types)), few).shape == (0,)
    assert float(dot(few, few)) == in_order(few.tolist(), few.tolist())
