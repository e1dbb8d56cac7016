"""The content of values: equal digests mean equal content, that of the functions in them included.

Python's own ways do not give that. `pickle` stores a function of a module as a name, and `cloudpickle` stores where a
function was defined, which differs between two sessions of a notebook. Here a function of the user's counts with its
code and everything that it reads: globals, attributes of the user's modules, cells and defaults, and in turn the
functions among them. A function of the project counts with its name and the digest of its source, a function of a
library and a class with their names. A value whose content cannot be known is refused.
"""

from __future__ import annotations

import dis
import enum
import sys
import sysconfig
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from pathlib import Path
from types import CodeType, EllipsisType, FunctionType, MappingProxyType, ModuleType, NoneType
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher

from astraea.core import source
from astraea.core.errors import InputError

_PLAIN: Final = {NoneType, EllipsisType, bool, int, float, complex, str, bytes, slice, range}


def content(value: Any, name: str = "the value") -> str:
    """Return the SHA-256 of a value's content: numbers, texts, arrays, tables, containers, functions, classes.

    `InputError` if it contains something whose content cannot be known, such as an open file; `name` says where.
    """
    return _Walk().of(value, name)


def refreshed(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function after it was compiled again, if it is a user's and something that it reads has changed.

    numba reads globals once, when it compiles. So all compiled functions of the user that this one reaches are compiled
    again where needed, a function before those that call it. `InputError` as for `content`, and for a function that
    numba would not compile again.
    """
    walk = _Walk()
    walk.of(function, name)
    for one, digest in walk.compiled:
        if _COMPILED.get(one) != digest:
            one.recompile()
            one._MemoMixin__uuid = None  # a worker that knows the old one under its name must not go on with it
            _COMPILED[one] = digest
    return function


_COMPILED: Final[MutableMapping[Any, str]] = WeakKeyDictionary()
"""Users' compiled functions, and the content with which each was compiled last."""


def is_users(value: Any) -> bool:
    """Return whether a function, class or module is neither of the project nor of a library."""
    bare = _plain(value)
    return not _is_ours(bare) and not _is_of_library(bare)


def _plain(function: Any) -> Any:
    """Return the Python function that numba compiled, or the value itself."""
    return function.py_func if isinstance(function, Dispatcher) else function


@dataclass
class _Walk:
    """The state of one digest."""

    open: list[Any] = field(default_factory=list)  #: functions that are being read, the innermost last
    known: dict[int, tuple[Any, str]] = field(default_factory=dict)  #: functions that were read, by their `id`
    compiled: list[tuple[Any, str]] = field(default_factory=list)  #: users' compiled functions, the called ones first

    def of(self, value: Any, name: str) -> str:
        h = sha256()
        for part in self.parts(value, name):
            h.update(len(part).to_bytes(8) + part)
        return h.hexdigest()

    def parts(self, value: Any, name: str) -> Iterator[bytes]:
        """Yield what a value consists of, unambiguously."""
        kind = type(value)
        is_function = isinstance(value, FunctionType | Dispatcher)
        yield b"function" if is_function else kind.__qualname__.encode()
        if kind in _PLAIN:
            yield repr(value).encode("utf-8", "surrogatepass")
        elif isinstance(value, np.generic) or (kind in _ARRAYS and not value.dtype.hasobject):
            yield f"{value.dtype.descr} {value.shape}".encode()
            yield value.tobytes()
        elif kind in (dict, MappingProxyType):
            yield from self.parts([*value.items()], name)
        elif kind in _ARRAYS:  # of Python objects, such as texts
            yield str(value.shape).encode()
            yield from self.parts(value.ravel().tolist(), name)
        elif kind in (tuple, list) or (isinstance(value, tuple) and hasattr(value, "_fields")):
            yield f"{getattr(value, '_fields', '')} {len(value)}".encode()
            for part in value:
                yield from self.parts(part, name)
        elif kind in (set, frozenset):  # in no order
            yield from sorted(self.of(part, name).encode() for part in value)
        elif isinstance(value, enum.Enum):
            yield from self.parts((value.name, value.value), name)
        elif is_dataclass(kind):  # without what it remembers in a `cached_property`
            yield self.of_name(kind, name).encode()
            for f in fields(kind):
                yield from self.parts(getattr(value, f.name), f"{name}.{f.name}")
        elif f"{kind.__module__}.{kind.__name__}" == "pandas.DataFrame":  # without pandas there is none
            yield from self.parts([value.index.tolist(), [(c, *_column(value[c])) for c in value]], name)
        elif kind is CodeType:
            yield from self.parts([getattr(value, part) for part in _OF_CODE], name)
        elif isinstance(value, types.Type | np.dtype):
            yield str(value).encode()
        elif is_function:
            yield self.of_function(value, name).encode()
        else:
            yield self.of_name(value, name).encode()

    def of_function(self, value: Any, name: str) -> str:
        """Return the digest of a function, compiled or not."""
        if id(value) in self.known:
            return self.known[id(value)][1]
        python = _plain(value)
        if depths := [depth for depth, outer in enumerate(self.open) if outer is python]:
            if isinstance(value, Dispatcher) and python is not self.open[-1]:
                raise InputError(f"{name} calls itself through other functions, so it cannot be compiled again")
            return f"itself, at depth {depths[0]}"
        self.open.append(python)
        digest = self.of([*self._of_function(value, python, name)], name)
        self.open.pop()
        self.known[id(value)] = value, digest
        if isinstance(value, Dispatcher) and is_users(value):
            self.compiled.append((value, digest))
        return digest

    def _of_function(self, value: Any, python: FunctionType, name: str) -> Iterator[Any]:
        if _is_of_library(python):
            yield self.of_name(value, name)
            return
        yield source.digest(python.__module__) if _is_ours(python) else python.__code__
        yield python.__qualname__
        yield self.of([python.__defaults__, python.__kwdefaults__], f"{name}()")
        if isinstance(value, Dispatcher) and not _is_ours(python):
            restricted: Any = value
            only = [] if restricted._can_compile else restricted.nopython_signatures
            yield [f"{key}={option}" for key, option in sorted(value.targetoptions.items())], f"{value.locals} {only}"
        for used, found in _names(python).items():
            if _is_ours(python) and used not in python.__code__.co_freevars:
                continue
            if isinstance(value, Dispatcher) and isinstance(found, FunctionType) and is_users(found):
                raise InputError(
                    f"{name}: {used} is not made with numba.njit, so numba may not compile it again after a change"
                )
            if not (isinstance(found, ModuleType) and is_users(found)):  # what is used of a user's module follows
                yield used, self.of(found, f"{name}: {used}")

    def of_name(self, value: Any, name: str) -> str:
        """Return the name of something of the project or of a library, or the content of a user's simple class."""
        module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or "numpy"
        called = getattr(value, "__qualname__", getattr(value, "__name__", ""))
        if isinstance(value, ModuleType) and not is_users(value):
            return f"{module} {_version(module)}"
        if called and not is_users(value) and module in sys.modules:
            try:
                is_known = attrgetter(called)(sys.modules[module]) is value
            except AttributeError:  # a library made it for its caller, and it may contain anything
                is_known = False
            if is_known:
                return f"{module} {called} {_version(module)}"
        if isinstance(value, enum.EnumType):
            members: dict[str, Any] = dict(value.__members__)
            return self.of([(key, member.value) for key, member in members.items()], name)
        if isinstance(value, type) and hasattr(value, "_field_defaults"):  # a NamedTuple
            return self.of([called, getattr(value, "_fields", ()), value._field_defaults], name)
        raise InputError(
            f"{name} is or contains a {type(value).__qualname__}, whose content cannot be known, so results that "
            "depend on it cannot be cached; use numbers, texts, arrays, or containers and functions of these"
        )


def _column(column: Any) -> tuple[str, Any]:
    """Return the type and the values of a table's column; a missing value is None unless it is a number."""
    is_number = isinstance(column.dtype, np.dtype) and not column.dtype.hasobject
    values = column.to_numpy() if is_number else column.astype(object).where(column.notna(), None).tolist()
    return str(column.dtype), values


_ARRAYS: Final = (np.ndarray, np.recarray)

_OF_CODE: Final = (
    "co_name", "co_code", "co_exceptiontable", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount",
    "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_consts",
)  # fmt: skip
"""Attributes of code that determine what it does; the others are places in its file."""


def _names(function: FunctionType) -> dict[str, Any]:
    """Return what a function reads from its module, an enclosing function, and the user's modules, by name."""
    codes = [*_inner(function.__code__)]
    found = {name: function.__globals__[name] for code in codes for name in _loaded(code) & function.__globals__.keys()}
    found = dict(sorted(found.items()))
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # not filled yet
            found[name] = cell.cell_contents
    used = sorted({name for code in codes for name in code.co_names})
    opened = [name for name, value in found.items() if isinstance(value, ModuleType) and is_users(value)]
    while opened:  # a user's modules are as changeable as globals
        outer = opened.pop()
        for name in [name for name in used if name in vars(found[outer])]:
            value = found[f"{outer}.{name}"] = vars(found[outer])[name]
            if isinstance(value, ModuleType) and is_users(value) and outer.count(".") < 8:
                opened.append(f"{outer}.{name}")
    return found


def _inner(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code and the code of functions and comprehensions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _inner(constant)


def _loaded(code: CodeType) -> set[str]:
    """Return the names in a code that are not attributes."""
    globals_ = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
    return {step.argval for step in dis.get_instructions(code) if step.opname in globals_}


def _place(value: Any) -> tuple[str, str]:
    """Return the module and the file that a function, class or module comes from, or "" for each."""
    module = value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", "") or "")
    if isinstance(value, FunctionType):
        return module, value.__code__.co_filename
    return module, "" if module == "__main__" else str(getattr(sys.modules.get(module), "__file__", None) or "")


def _is_ours(value: Any) -> bool:
    """Return whether a function, class or module is of the project."""
    return source.is_ours(*_place(value))


def _is_of_library(value: Any) -> bool:
    """Return whether a function, class or module is of Python or of an installed package."""
    module, file = _place(value)
    if not file:
        return module != "__main__" and module.partition(".")[0] in sys.stdlib_module_names
    is_installed = not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)
    return (is_installed or Path(file).is_relative_to(_PYTHON)) and not _is_ours(value)


_PYTHON: Final = Path(sysconfig.get_path("stdlib"))


@cache
def _version(module: str) -> str:
    try:
        return version(module.partition(".")[0])
    except PackageNotFoundError:
        return ""
