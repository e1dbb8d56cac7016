"""Fingerprints of what is more than plain data: told apart by all that it is made of, or refused."""

from __future__ import annotations

import ctypes
import dataclasses
import enum
import functools
import math
import operator
import re
import types
from collections import defaultdict
from typing import Any

import numba
import numpy as np
import pandas as pd
import pytest
import scipy.special
from scipy.interpolate import CubicSpline

from astraea.core.errors import InputError
from astraea.core.fingerprint import fingerprint


def enum_of(value: int) -> Any:
    return enum.IntEnum("Mode", {"A": value})


def enum_with_method(value: int) -> Any:
    class Mode(enum.Enum):
        A = 1

        def get(self) -> int:
            return value

    return Mode


def setter(value: int) -> Any:
    class C:
        @property
        def x(self) -> int:
            return 1

        @x.setter
        def x(self, _: int) -> None:
            self.y = value

    return C


def meta(value: int) -> Any:
    return type("Meta", (type,), {"x": value})("C", (), {})


def void(value: float) -> Any:
    array = np.zeros(1, [("a", "f8", (5000,))])
    array["a"][0, 2500] = value
    return array[0]


def with_attribute(kind: type, value: int) -> Any:
    made = type("Sub", (kind,), {})(kind())
    made.x = value
    return made


def dispatching(value: int) -> Any:
    @functools.singledispatch
    def f(_: Any) -> int:
        return value

    return f


def of_numba(how: Any) -> Any:
    def make(value: int) -> Any:
        return how(multiplying(value))

    return make


def multiplying(value: float) -> Any:
    def read(x: float) -> float:
        return x * value

    return read


TOLD_APART: dict[str, Any] = {
    "member": lambda k: enum_of(k).A,
    "enum": enum_of,
    "method of enum": enum_with_method,
    "pattern": lambda k: re.compile("a" * 300 + str(k)),
    "flags": lambda k: re.compile("a", re.I if k == 1 else re.M),
    "void": void,
    "setter": setter,
    "metaclass": meta,
    "factory": lambda k: defaultdict((int, float, str)[k]),
    "slice": lambda k: slice(k),
    "array of objects": lambda k: np.array(["a", k], object),
    "method of a builtin": lambda k: {k}.__contains__,
    "class of dataclasses": lambda k: dataclasses.make_dataclass("C", [("x", int, k)]),
    "options": lambda k: numba.njit(fastmath=bool(k - 1))(multiplying(1)),
}

REFUSED: dict[str, Any] = {
    "CFunc": of_numba(numba.cfunc("float64(float64)")),
    "DUFunc": of_numba(numba.vectorize(["float64(float64)"])),
    "GUFunc": lambda k: numba.guvectorize(["void(f8[:], f8[:])"], "(n)->(n)")(lambda x, y: None),
    "StencilFunc": lambda k: numba.stencil(lambda a: a[0] * k),
    "CFunctionType": lambda k: ctypes.CFUNCTYPE(ctypes.c_int)(lambda: k),
    "ufunc": lambda k: np.frompyfunc(lambda x: x + k, 1, 1),
    "vectorize": lambda k: np.vectorize(lambda x: x + k),
    "poly1d": lambda k: np.poly1d([1, k]),
    "CubicSpline": lambda k: CubicSpline([0, 1, 2], [0, 1, k]),
    "itemgetter": operator.itemgetter,
    "_lru_cache_wrapper": lambda k: functools.lru_cache(lambda: k),
    "Sub": lambda k: with_attribute(list, k),
    "Sub ": lambda k: with_attribute(float, k),
    "Sub  ": lambda k: with_attribute(dict, k),
    "ndarray": lambda k: np.array([lambda: k], object),
    "ndarray ": lambda k: np.array([enum_of], object),
    "DataFrame": lambda k: pd.DataFrame({"a": [lambda: k]}),
    "MaskedArray": lambda k: np.ma.array([1, 2], mask=[0, k - 1]),
    "module": lambda k: types.ModuleType("settings"),
}


@pytest.mark.parametrize("name", TOLD_APART)
def test_what_differs_in_one_thing_is_told_apart(name: str) -> None:
    make = TOLD_APART[name]
    assert fingerprint(make(1)) == fingerprint(make(1)) != fingerprint(make(2))


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_content_that_nobody_says_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=rf"^it is an? .*{name.strip()}, whose content cannot be known"):
        fingerprint(REFUSED[name](1), "it")


def test_a_function_that_a_package_made_is_not_its_name() -> None:
    with pytest.raises(InputError, match=r"^it: .*, whose content cannot be known"):
        fingerprint(dispatching(1), "it")


HANDED_OUT = [scipy.special.expit, np.add, np.mean, math.sqrt, numba.objmode, tuple.__new__, print]


@pytest.mark.parametrize("value", HANDED_OUT)
def test_what_a_package_hands_out_is_known(value: Any) -> None:
    assert fingerprint(value) == fingerprint(value) != fingerprint(np.sin)
