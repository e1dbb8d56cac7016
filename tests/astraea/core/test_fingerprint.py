"""Fingerprints are equal for equal content only; unknown content is refused."""

from __future__ import annotations

import ctypes
import dataclasses
import enum
import functools
import math
import operator
import re
import sys
import threading
import types
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pandas as pd
import pytest
import scipy.special
from places import HELPERS, ROOT
from processes import run
from scipy.interpolate import CubicSpline

from astraea.core import fingerprint as module
from astraea.core import origins
from astraea.core.errors import InputError
from astraea.core.fingerprint import fingerprint, version
from astraea.core.metrics import summary


class Pair(NamedTuple):
    first: float
    second: float = 1.0


@dataclass(frozen=True)
class Box:
    content: Any

    @cached_property
    def remembered(self) -> int:
        return 1


DIFFERENT: list[Any] = [
    None, True, 1, 1.0, "1", b"1", -0.0, 0.0, float("nan"), (), [], {}, set(), (1, 2), [1, 2], {1: 2}, {2: 1}, {1, 2},
    Pair(1.0), Pair(1.0, 2.0), (1.0, 1.0), Box(1), Box(2), ((1,), 2), (1, (2,)), "12", ("1", "2"), ("12", ""),
    np.arange(3), np.arange(3.0), np.arange(3)[::-1], np.float64(1), np.array(["a"], object), np.dtype("i8"),
    pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]}), pd.Series([1]), range(3), Path("a"), numba.types.int64,
    types.SimpleNamespace(a=1), summary, np.sin, len, max, int, Pair, functools.partial(max, 1), scipy.special.expit,
    np.add, np.mean, math.sqrt, numba.objmode, tuple.__new__, print,
]  # fmt: skip


def test_different_values_have_different_fingerprints() -> None:
    found = [fingerprint(value) for value in DIFFERENT]
    assert len(set(found)) == len(DIFFERENT)
    assert found == [fingerprint(value) for value in DIFFERENT]


def test_equal_content_has_one_fingerprint() -> None:
    shared = (1, 2)
    assert fingerprint([shared, shared]) == fingerprint([tuple([1, 2]), tuple([1, 2])])
    assert fingerprint({"a", "b", "c"}) == fingerprint({"c", "b", "a"})
    box = Box(3)
    before = fingerprint(box)
    assert box.remembered and fingerprint(box) == before


SOURCE = """
import settings
def outer(x, y={default}):
    # {comment}
    '''{doc}'''
    def inner():
        return [z * {factor} for z in range(x)]
    return helper(inner()) + settings.LIMIT + settings.below.LIMIT + NUMBERS[0] + Bag.size + TABLE["a"]
def helper(x):
    return {helped}
class Bag:
    size = {size}
"""
BASE: dict[str, Any] = {
    "default": 1, "comment": "", "doc": "", "factor": 2, "helped": "len(x)", "size": 3, "limit": 4, "below": 5,
    "number": 6, "table": 7, "file": "one.py", "lines": 0,
}  # fmt: skip


def function(**changes: Any) -> Any:
    """A user's function with many values in its closure."""
    given = BASE | changes
    settings, below = types.ModuleType("settings"), types.ModuleType("settings.below")
    settings.LIMIT, below.LIMIT, settings.below = given["limit"], given["below"], below  # type: ignore[attr-defined]
    scope: dict[str, Any] = {"NUMBERS": np.array([given["number"]]), "TABLE": {"a": given["table"]}}
    text = "\n" * given["lines"] + SOURCE.format(**given).replace("import settings", "")
    exec(compile(text, given["file"], "exec"), scope | {"settings": settings}, scope)
    scope["settings"] = settings
    outer = scope["outer"]
    return types.FunctionType(outer.__code__, scope, "outer", outer.__defaults__)


def test_everything_that_a_function_uses_is_in_its_fingerprint_and_not_where_it_stands() -> None:
    names = ["default", "factor", "size", "limit", "below", "number", "table"]
    for change in ({"helped": "sum(x)"}, *({name: 99} for name in names)):
        assert fingerprint(function(**change)) != fingerprint(function()), change
    for change in ({"comment": "x"}, {"doc": "x"}, {"file": "two.py"}, {"lines": 7}):
        assert fingerprint(function(**change)) == fingerprint(function()), change


def closing_over(value: Any) -> Any:
    def read() -> Any:
        return value

    return read


def test_cells_and_compiled_functions() -> None:
    assert fingerprint(closing_over(closing_over(1))) != fingerprint(closing_over(closing_over(2)))
    python = closing_over(1)
    assert fingerprint(numba.njit(python)) == fingerprint(python)


def test_functions_that_call_each_other() -> None:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec("def f(n):\n    return g(n)\ndef g(n):\n    return f(n - 1) if n else LAST\nLAST = 1", scope)
    before = fingerprint(scope["f"])
    assert fingerprint(scope["f"]) == before != fingerprint(scope["g"])
    scope["LAST"] = 2
    assert fingerprint(scope["f"]) != before


def test_what_belongs_to_a_package_is_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(pd.concat), fingerprint(closing_over(1))
    assert version("sklearn") and version("os") == sys.version.partition(" ")[0]
    monkeypatch.setattr(module, "_version", lambda _: "another")
    assert fingerprint(pd.concat) != before[0]
    assert fingerprint(closing_over(1)) == before[1]


def test_no_function_is_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time for a web of helpers does not double with each helper."""
    calls, names = 0, origins.names

    def count(function: Any) -> dict[str, Any]:
        nonlocal calls
        calls += 1
        return names(function)

    monkeypatch.setattr(origins, "names", count)
    scope: dict[str, Any] = {}
    layers = [[f"f{layer}_{k}" for k in range(3)] for layer in range(9)]
    for here, below in zip(layers, [*layers[1:], []], strict=True):
        for name in here:
            exec(f"def {name}():\n    return [{', '.join([*here, *below])}]", scope)
    assert fingerprint(scope["f0_0"]) == fingerprint(scope["f0_0"])
    assert calls == 2 * 27


def void(value: float) -> Any:
    array = np.zeros(1, [("a", "f8", (5000,))])
    array["a"][0, 2500] = value
    return array[0]


def with_attribute(kind: type, value: int) -> Any:
    made = type("Sub", (kind,), {})(kind())
    made.x = value
    return made


CLASSES = {
    "method of enum": "class C(enum.Enum):\n    A = 1\n    def get(self): return VALUE",
    "setter": "class C:\n    x = property(lambda self: 1, lambda self, _: VALUE)",
    "metaclass": "class Meta(type):\n    x = VALUE\nclass C(metaclass=Meta): pass",
    "dispatching": "@functools.singledispatch\ndef C(_): return VALUE",
}


def made(name: str, value: int) -> Any:
    """A class, or a function that looks like one, with a hidden value."""
    scope: dict[str, Any] = {"__name__": "__main__", "enum": enum, "functools": functools}
    exec(CLASSES[name].replace("VALUE", str(value)), scope)
    return scope["C"]


TOLD_APART: dict[str, Any] = {
    "member": lambda k: enum.IntEnum("Mode", {"A": k}).A,
    "enum": lambda k: enum.IntEnum("Mode", {"A": k}),
    "method of enum": lambda k: made("method of enum", k),
    "pattern": lambda k: re.compile("a" * 300 + str(k)),
    "flags": lambda k: re.compile("a", re.I if k == 1 else re.M),
    "void": void,
    "setter": lambda k: made("setter", k),
    "metaclass": lambda k: made("metaclass", k),
    "factory": lambda k: defaultdict((int, float, str)[k]),
    "slice": lambda k: slice(k),
    "array of objects": lambda k: np.array(["a", k], object),
    "array of functions": lambda k: np.array([lambda: k], object),
    "table of functions": lambda k: pd.DataFrame({"a": [lambda: k]}),
    "vectorized": lambda k: np.vectorize(lambda x: x + k),
    "cached property": lambda k: cached_property(lambda self: k),
    "slots": lambda k: dataclasses.make_dataclass("C", [("x", int, k)], slots=True)(),
    "order of a mapping": lambda k: types.MappingProxyType({k: 0, 3 - k: 0}),
    "method of a builtin": lambda k: {k}.__contains__,
    "class of dataclasses": lambda k: dataclasses.make_dataclass("C", [("x", int, k)]),
    "options": lambda k: numba.njit(fastmath=bool(k - 1))(closing_over(1)),
}

REFUSED: dict[str, Any] = {
    "DUFunc": lambda k: numba.vectorize(["float64(float64)"])(lambda x: x * k),
    "GUFunc": lambda k: numba.guvectorize(["void(f8[:], f8[:])"], "(n)->(n)")(lambda x, y: None),
    "StencilFunc": lambda k: numba.stencil(lambda a: a[0] * k),
    "CFunctionType": lambda k: ctypes.CFUNCTYPE(ctypes.c_int)(lambda: k),
    "ufunc": lambda k: np.frompyfunc(lambda x: x + k, 1, 1),
    "CubicSpline": lambda k: CubicSpline([0, 1, 2], [0, 1, k]),
    "itemgetter": operator.itemgetter,
    "_lru_cache_wrapper": lambda k: functools.lru_cache(lambda: k),
    "Sub": lambda k: with_attribute(list, k),
    "Sub ": lambda k: with_attribute(float, k),
    "MaskedArray": lambda k: np.ma.array([1, 2], mask=[0, k - 1]),
    "module": lambda k: types.ModuleType("settings"),
}


@pytest.mark.parametrize("name", TOLD_APART)
def test_what_differs_in_one_thing_is_told_apart(name: str) -> None:
    make = TOLD_APART[name]
    assert fingerprint(make(1)) == fingerprint(make(1)) != fingerprint(make(2))


def test_what_has_content_that_nobody_says_is_refused() -> None:
    for name, make in REFUSED.items():
        with pytest.raises(InputError, match=rf"^it is an? .*{name.strip()}, whose content cannot be known"):
            fingerprint(make(1), "it")
    with pytest.raises(InputError, match=r"^policy x: value contains a lock, whose content cannot be known"):
        fingerprint(closing_over({"a": (1, threading.Lock())}), "policy x")
    with pytest.raises(InputError, match=r"^it: .*, whose content cannot be known"):  # not its name alone
        fingerprint(made("dispatching", 1), "it")


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]\nimport test_fingerprint as made\n"
        "print(made.fingerprint([made.function(), *made.DIFFERENT]))"
    )
    call = (sys.executable, "-c", code, ROOT, HELPERS, Path(__file__).parent)
    there = run(*call, env={"PYTHONHASHSEED": "1"}).stdout.strip()
    assert there == fingerprint([function(), *DIFFERENT])
