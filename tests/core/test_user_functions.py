"""Compiled functions of users read their globals as they are now, not as they were when numba compiled them."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

from astraea.core.compilation import compiled
from astraea.core.metrics import summary
from astraea.core.user_functions import current

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")

CELL = """
import numpy as np
LIMITS = np.array([1.0, 2.0])
FACTOR = 1.0

@compiled
def inner(x):
    return x * LIMITS[0] + FACTOR

@compiled
def outer(x):
    return inner(x) + LIMITS[1]

@compiled
def factorial(n):
    return n * factorial(n - 1) if n > 1 else FACTOR
"""


@pytest.fixture
def cell() -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "__main__", "compiled": compiled}
    exec(compile(CELL, "<cell>", "exec"), scope)
    return scope


def test_what_a_function_reads_is_read_again_when_it_has_changed(cell: dict[str, Any]) -> None:
    outer = cell["outer"]
    assert outer(3.0) == current(outer)(3.0) == 6.0
    assert current(outer) is current(outer)  # compiled once
    cell["LIMITS"][:] = 2.0, 0.0
    assert outer(3.0) == 6.0  # numba has frozen it
    assert current(outer)(3.0) == 7.0
    cell["FACTOR"] = 5.0
    assert current(outer)(3.0) == 11.0
    cell["LIMITS"] = np.array([0.0, 1.0])
    assert current(outer)(3.0) == 6.0


def test_recursion(cell: dict[str, Any]) -> None:
    assert current(cell["factorial"])(3) == 6.0
    cell["FACTOR"] = 2.0
    assert current(cell["factorial"])(3) == 12.0


def test_a_cell_of_a_closure() -> None:
    def made(limit: float) -> Any:
        @compiled
        def below(x: float) -> float:
            return x + limit

        def change(value: float) -> None:
            nonlocal limit
            limit = value

        return below, change

    below, change = made(1.0)
    assert current(below)(1.0) == 2.0
    change(5.0)
    assert current(below)(1.0) == 6.0


def test_options_stay(cell: dict[str, Any]) -> None:
    fast = numba.njit(fastmath=True, error_model="numpy")(cell["inner"].py_func)
    assert current(fast).targetoptions == fast.targetoptions


def test_functions_of_the_project_are_left_alone() -> None:
    from astraea.cluster.policy import grant

    assert current(grant) is grant
    assert current(summary) is summary
