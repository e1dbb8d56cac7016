"""Compiled functions of users read their globals as they are now, not as they were when numba compiled them."""

from __future__ import annotations

import threading
import types
from typing import Any

import numba
import numpy as np
import pytest
from numba import objmode
from numba.extending import register_jitable

from astraea.core.compilation import compiled
from astraea.core.errors import InputError
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
    assert cell["inner"](1.0) == 2.0  # compiled by itself, too
    assert current(cell["factorial"])(3) == 6.0
    assert current(outer) is current(outer)  # compiled once
    cell["LIMITS"][:] = 2.0, 0.0
    assert outer(3.0) == 6.0  # numba has frozen it
    assert current(outer)(3.0) == 7.0
    cell["FACTOR"] = 5.0
    assert current(outer)(3.0) == 11.0
    assert current(cell["factorial"])(3) == 30.0
    cell["LIMITS"] = np.array([0.0, 1.0])
    assert current(outer)(3.0) == 6.0


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


def test_helpers_in_modules() -> None:
    scope: dict[str, Any] = {"compiled": compiled, "settings": types.ModuleType("settings")}
    exec("LIMIT = 1.0\n@compiled\ndef inner():\n    return LIMIT", scope)
    scope["settings"].below = types.ModuleType("below")
    scope["settings"].below.inner, scope["settings"].LIMIT = scope["inner"], 10.0
    exec("@compiled\ndef outer():\n    return settings.below.inner() + settings.LIMIT", scope)
    assert scope["outer"]() == current(scope["outer"])() == 11.0
    scope["LIMIT"], scope["settings"].LIMIT = 2.0, 20.0
    assert current(scope["outer"])() == 22.0
    assert scope["settings"].below.inner is scope["inner"]


def test_options_and_signatures_stay(cell: dict[str, Any]) -> None:
    cell["inner"] = numba.njit("int64(float64)", locals={"x": numba.float32})(cell["inner"].py_func)
    fast = numba.njit(fastmath=True, error_model="numpy")(cell["inner"].py_func)
    assert current(fast).targetoptions == fast.targetoptions
    made = current(cell["inner"])
    assert made.nopython_signatures == cell["inner"].nopython_signatures and made.locals == cell["inner"].locals
    assert current(cell["outer"])(1.5) == cell["outer"](1.5) == 4.0
    cell["FACTOR"] = 3.0
    assert current(cell["outer"])(1.5) == 6.0


def test_what_cannot_be_compiled_again_is_refused(cell: dict[str, Any]) -> None:
    text = """
@register_jitable
def kept():
    return FACTOR
@compiled
def calls_kept():
    return kept()
def plain():
    return inner(1.0)
@compiled
def leaves():
    with objmode(x="float64"):
        x = plain()
    return x
PAIR = 1, inner
@compiled
def takes():
    return PAIR[1](1.0)
@compiled
def defaults(helper=inner):
    return helper(1.0)
"""
    exec(text, cell | {"register_jitable": register_jitable, "objmode": objmode}, more := {})  # type: ignore[var-annotated]
    for function in ("calls_kept", "leaves", "takes"):
        more[function].py_func.__globals__.update(more)
    for _ in range(2):
        with pytest.raises(InputError, match=r"^calls_kept: kept cannot be compiled again"):
            current(more["calls_kept"])
        with pytest.raises(InputError, match=r"^leaves: plain: inner cannot be compiled again"):
            current(more["leaves"])
        with pytest.raises(InputError, match=r"^takes: PAIR cannot be compiled again"):
            current(more["takes"])
        with pytest.raises(InputError, match=r"^defaults\(\) cannot be compiled again"):
            current(more["defaults"])
    cell["FACTOR"] = numba.vectorize(["float64(float64)"])(lambda x: x)
    with pytest.raises(InputError, match=r"^outer: inner: FACTOR is a DUFunc, whose content cannot be known"):
        current(cell["outer"])


def test_an_attribute_is_no_global(cell: dict[str, Any]) -> None:
    """A user with another object under the name of an attribute is not refused."""
    exec("@compiled\ndef size(x):\n    return x.size", cell)
    cell["size_of"], cell["size"] = cell["size"], threading.Lock()
    assert current(cell["size_of"])(np.zeros(3)) == 3


def test_functions_of_the_project_are_left_alone() -> None:
    from astraea.cluster.policy import grant

    assert current(grant) is grant
    assert current(summary) is summary
