"""Content decides the key of a user's policy, and compiled functions read their globals as they are now."""

from __future__ import annotations

import sys
import threading
import types
from typing import Any

import numba
import numpy as np
import pandas as pd
import pytest
from numba.extending import register_jitable
from places import HELPERS, ROOT
from processes import run

from astraea.core.compilation import compiled
from astraea.core.content import content, is_users, refreshed
from astraea.core.errors import InputError
from astraea.core.metrics import summary

CELL = """
import numpy as np
from typing import NamedTuple
LIMITS = np.array([1.0, 2.0])
FACTOR = 1.0
NAMES = {"a", "b", "c"}
class Pair(NamedTuple):
    first: int = 1

@compiled
def inner(x):
    return x * LIMITS[0] + FACTOR

@compiled
def outer(x):
    return inner(x) + LIMITS[1]

@compiled
def factorial(n):
    return n * factorial(n - 1) if n > 1 else FACTOR

def plain(x, limit=2):
    return [outer(y) for y in x if y in ("a", "b")], NAMES, Pair(limit), np.floor
"""


def session(text: str = CELL, name: str = "<cell>") -> dict[str, Any]:
    """The names that a notebook has after a cell."""
    scope: dict[str, Any] = {"__name__": "__main__", "compiled": compiled}
    exec(compile(text, name, "exec"), scope)
    return scope


EDITS = {
    "a constant": ("FACTOR = 1.0", "FACTOR = 2.0"),
    "an array": ("[1.0, 2.0]", "[1.0, 2.5]"),
    "a helper": ("x * LIMITS[0]", "x - LIMITS[0]"),
    "the order of arguments": ("outer(y)", "outer(-y)"),
    "a default": ("limit=2", "limit=3"),
    "a default of a class": ("first: int = 1", "first: int = 2"),
    "a set": ('"b", "c"}', '"b", "d"}'),
    "a name of a library": ("np.floor", "np.ceil"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_whatever_a_function_reads_is_in_its_content(edit: str) -> None:
    text = CELL.replace(*EDITS[edit])
    assert text != CELL
    assert content(session()["plain"]) == content(session("\n\n" + CELL, "<another cell>")["plain"])
    assert content(session()["plain"]) != content(session(text)["plain"])


ASK = "import test_content as t; print(t.content(t.session(name=t.sys.argv[4])['plain']))"


def test_content_is_the_same_in_every_process() -> None:
    """Sets of texts have another order in each."""
    places = [str(ROOT), str(HELPERS), str(ROOT / "tests" / "astraea" / "core")]
    code = f"import sys; sys.path[:0] = sys.argv[1:4]; {ASK}"
    found = {
        run(sys.executable, "-c", code, *places, f"<cell {seed}>", env={"PYTHONHASHSEED": seed}).stdout
        for seed in ("0", "1", "2")
    }
    assert found == {content(session()["plain"]) + "\n"}


def test_equal_values_have_equal_content_and_others_differ() -> None:
    values: list[Any] = [
        0, 0.0, -0.0, False, None, "", b"", (), [], {}, set(), frozenset(), 1, 1.0, True, "1", (1,), [1], {1: 1},
        (1, 1), ((1,), 1), "a b", ("a", "b"), ("a b",), np.float32(1), np.float64(1), np.zeros(2), np.zeros((2, 1)),
        np.zeros(2, np.int64), np.array(["a"], dtype=object), np.array(["b"], dtype=object), np.sin, np.cos, len, int,
        float, np, threading, numba.types.int64, summary, compiled, {"a": 1, "b": 2}, {"b": 2, "a": 1},
    ]  # fmt: skip
    table = pd.DataFrame({"a": [1.0, np.nan], "b": ["x", None]})
    values += [table, table.rename(columns={"a": "c"}), table.fillna({"a": 0}), table.astype(object)]
    digests = [content(value) for value in values]
    assert len({*digests}) == len(values)
    assert content({"a", "b"}) == content({"b", "a"}) and content(np.arange(3)) == content(np.arange(4)[:3])


def test_what_cannot_be_known_is_refused() -> None:
    scope = session()
    scope["FACTOR"] = [threading.Lock()]
    with pytest.raises(InputError, match=r"^outer: inner: FACTOR is or contains a lock, whose content cannot be known"):
        content(scope["outer"], "outer")
    exec("@compiled\ndef size(x):\n    return x.size", scope)
    own, scope["size"] = scope["size"], threading.Lock()
    assert content(own) and is_users(own)  # an attribute is no global


needs_numba = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


@needs_numba
def test_what_a_function_reads_is_read_again_when_it_has_changed() -> None:
    cell = session()
    outer = cell["outer"]
    assert outer(3.0) == refreshed(outer, "outer")(3.0) == 6.0
    assert cell["inner"](1.0) == 2.0  # compiled by itself, too
    assert refreshed(cell["factorial"], "factorial")(3) == 6.0
    cell["LIMITS"][:] = 2.0, 0.0
    assert outer(3.0) == 6.0  # numba has frozen it
    assert refreshed(outer, "outer")(3.0) == 7.0
    cell["FACTOR"] = 5.0
    assert refreshed(outer, "outer")(3.0) == 11.0
    assert refreshed(cell["factorial"], "factorial")(3) == 30.0
    cell["inner"] = compiled(lambda x: x)
    assert refreshed(outer, "outer")(3.0) == 3.0


@needs_numba
def test_closures_modules_and_signatures() -> None:
    def made(limit: float) -> Any:
        @compiled
        def below(x: float) -> float:
            return x + limit

        def change(value: float) -> None:
            nonlocal limit
            limit = value

        return below, change

    below, change = made(1.0)
    assert refreshed(below, "below")(1.0) == 2.0
    change(5.0)
    assert refreshed(below, "below")(1.0) == 6.0
    scope: dict[str, Any] = {"compiled": compiled, "settings": types.ModuleType("settings"), "__name__": "__main__"}
    exec("LIMIT = 1.0\n@compiled\ndef inner():\n    return LIMIT", scope)
    scope["settings"].below = types.ModuleType("below")
    scope["settings"].below.inner, scope["settings"].LIMIT = scope["inner"], 10.0
    exec("@compiled\ndef outer():\n    return settings.below.inner() + settings.LIMIT", scope)
    assert refreshed(scope["outer"], "outer")() == 11.0
    scope["LIMIT"], scope["settings"].LIMIT = 2.0, 20.0
    assert refreshed(scope["outer"], "outer")() == 22.0
    cell = session()
    cell["inner"] = numba.njit("float64(float64)", fastmath=True)(cell["inner"].py_func)
    assert refreshed(cell["outer"], "outer")(1.0) == 4.0
    cell["FACTOR"] = 3.0
    assert refreshed(cell["outer"], "outer")(1.0) == 6.0
    assert cell["inner"].targetoptions["fastmath"] and len(cell["inner"].nopython_signatures) == 1


@needs_numba
def test_what_numba_may_not_compile_again_is_refused() -> None:
    cell = session()
    cell["register_jitable"] = register_jitable
    exec("""
@register_jitable
def kept():
    return FACTOR
@compiled
def calls_kept():
    return kept()
@compiled
def even(n):
    return True if n == 0 else odd(n - 1)
@compiled
def odd(n):
    return False if n == 0 else even(n - 1)
""", cell)  # fmt: skip
    with pytest.raises(InputError, match=r"^calls_kept: kept is not made with numba.njit, so numba may not compile"):
        refreshed(cell["calls_kept"], "calls_kept")
    with pytest.raises(InputError, match=r"^even: odd: even calls itself through other functions"):
        refreshed(cell["even"], "even")
    cell["FACTOR"] = numba.vectorize(["float64(float64)"])(lambda x: x)
    with pytest.raises(InputError, match=r"^outer: inner: FACTOR is or contains a DUFunc"):
        refreshed(cell["outer"], "outer")


def test_functions_of_the_project_are_left_alone() -> None:
    from astraea.cluster.policy import grant

    assert refreshed(grant, "grant") is grant and not is_users(grant)
    assert refreshed(summary, "summary") is summary
