"""Fingerprints of values: equal fingerprints mean equal content, functions included.

- A function of the project: its name and the digest of what its module can reach (`astraea.core.source`).
- A function from elsewhere, such as a policy in a notebook: its code, without comments and file names, and everything
  that it uses. These are globals, attributes of modules and classes, cells and defaults; functions among them in turn.
- An object that another package provides under a name: this name and the version of that package.
- Data: their content. Cached properties of a dataclass (`cached_property`) do not count.

A value whose content cannot be known is refused with a message. So are instances of subclasses of numbers, texts and
containers, because they may have further attributes.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import functools
import pathlib
import re
import sys
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from hashlib import sha256
from importlib import metadata
from pickle import PicklingError
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType, SimpleNamespace
from typing import Any, Final

import numpy as np
import pandas as pd
from joblib.hashing import NumpyHasher
from numba.core.dispatcher import Dispatcher
from numba.core.types import Type as NumbaType

from astraea.core import origins, source
from astraea.core.errors import InputError
from astraea.core.origins import is_foreign, is_named_tuple, known_name, of_project, owner

PACKAGES: Final = {"sklearn": "scikit-learn"}
"""Distribution names of packages that are imported under another name."""

_WRITTEN: Final = {
    bool, int, float, complex, str, bytes, range, decimal.Decimal, fractions.Fraction, datetime.date,
    datetime.datetime, datetime.time, datetime.timedelta, pd.Timestamp, pd.Timedelta, pathlib.PosixPath,
    pathlib.WindowsPath, pathlib.PurePosixPath, pathlib.PureWindowsPath, type(None), type(...), type(NotImplemented),
}  # fmt: skip
"""Types whose `repr` is their whole content."""

_ARRAYS: Final = (np.ndarray, pd.DataFrame, pd.Series, pd.Index, pd.api.extensions.ExtensionArray)
_MAPPINGS: Final = (dict, OrderedDict, MappingProxyType, defaultdict)

_PARTS: Final[dict[type, Callable[[Any], tuple[Any, ...]]]] = {
    slice: lambda value: ((value.start, value.stop, value.step),),
    re.Pattern: lambda value: ((value.pattern, value.flags),),
    MethodType: lambda value: (value.__func__, value.__self__),
    functools.partial: lambda value: (value.func, value.args, value.keywords),
    functools.cached_property: lambda value: (value.func,),
    property: lambda value: (value.fget, value.fset, value.fdel),
    staticmethod: lambda value: (value.__func__,),
    classmethod: lambda value: (value.__func__,),
    SimpleNamespace: lambda value: (vars(value),),
}
"""The parts that make up the content of a value, by type."""

_DESCRIPTORS: Final = (
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
    types.MethodDescriptorType, types.WrapperDescriptorType,
)  # fmt: skip
"""Descriptors that Python itself adds to a class: of slots and fields, and wrappers."""

_FIELD: Final = type(vars(source.Source)["digest"])
"""Descriptor of a field of a named tuple."""


def fingerprint(value: Any, name: str = "the value") -> str:
    """Return the SHA-256 of a value's content: plain values, containers, arrays, tables, functions, classes.

    `InputError` if it contains something whose content cannot be known, such as an open file; `name` says where.
    """
    return _Walk().of(value, name)


def with_functions(value: Any, name: str) -> tuple[str, list[tuple[str, Any]]]:
    """Return the fingerprint of a value, and the users' functions in it, compiled or not, each with its name."""
    walk = _Walk()
    return walk.of(value, name), walk.functions


def version(package: str) -> str:
    """Return the version of an installed package by its import name; for the standard library, Python's version."""
    if package in sys.stdlib_module_names:
        return sys.version.partition(" ")[0]
    try:
        return _version(PACKAGES.get(package, package))
    except metadata.PackageNotFoundError:
        return ""


_version = functools.cache(metadata.version)


def plain(function: Any) -> Any:
    """Return the Python function that numba compiled, or the value itself."""
    return function.py_func if is_compiled(function) else function


def is_compiled(function: Any) -> bool:
    """Return whether the value is a numba function that is compiled at each call with new types."""
    return isinstance(function, Dispatcher)


@dataclass
class _Walk:
    """The state of one fingerprint; a value inside itself, such as a recursive function, is given by its depth."""

    open: list[Any] = field(default_factory=list)
    known: dict[int, tuple[Any, str]] = field(default_factory=dict)  #: finished values and digests, by `id`
    functions: list[tuple[str, Any]] = field(default_factory=list)

    def of(self, value: Any, name: str) -> str:
        """Return the digest of one value."""
        if id(value) in self.known:
            return self.known[id(value)][1]
        bare = plain(value)
        for depth, outer in enumerate(self.open):
            if outer is bare:
                return _digest([f"itself, at depth {depth}"])
        if isinstance(bare, FunctionType) and is_foreign(bare):
            self.functions.append((name, value))
        self.open.append(bare)
        digest = _digest(self._words(value, name))
        self.open.pop()
        self.known[id(value)] = value, digest
        return digest

    def _words(self, value: Any, name: str) -> Iterator[str]:
        kind = type(value)
        if (kind in _WRITTEN and getattr(value, "tzinfo", None) is None) or isinstance(value, NumbaType | np.dtype):
            yield from (kind.__qualname__, repr(value))
        elif isinstance(value, np.generic) and kind is value.dtype.type and not value.dtype.hasobject:
            is_void = isinstance(value, np.void)  # a long one is not written in full
            yield from (kind.__qualname__, repr((value.dtype, value.tobytes())) if is_void else repr(value))
        elif isinstance(value, _ARRAYS):
            yield from (kind.__qualname__, _content_hash(value, name))
        else:
            if is_compiled(value) and (options := _options(value)):
                yield self.of(options, f"{name}: options")
            yield type(plain(value)).__qualname__
            yield from self._content(plain(value), name)

    def _content(self, value: Any, name: str) -> Iterator[str]:
        kind = type(value)
        if kind in (tuple, list) or (is_named_tuple(value) and not getattr(value, "__dict__", None)):
            yield from (self.of(part, f"{name}[{k}]") for k, part in enumerate(value))
            yield from self._class_of_user(value)
        elif kind in _MAPPINGS:
            for key, part in value.items():
                yield from (self.of(key, name), self.of(part, f"{name}[{key!r}]"))
            if kind is defaultdict:
                yield self.of(value.default_factory, name)
        elif kind in (set, frozenset):  # without an order, so each part on its own
            yield from sorted(_Walk([*self.open], {}, self.functions).of(part, name) for part in value)
        elif kind in _PARTS:
            yield from (self.of(part, name) for part in _PARTS[kind](value))
        elif isinstance(value, enum.Enum):
            yield from (str(value.name), self.of(value.value, name), self.of(kind, kind.__qualname__))
        elif isinstance(value, FunctionType):
            yield from self._function(value, name)
        elif kind is BuiltinFunctionType and not isinstance(value.__self__, ModuleType | None):
            yield from (value.__name__, self.of(value.__self__, name))
        elif isinstance(value, type):
            yield from self._class(value, name)
        elif kind is ModuleType and (found := of_project(value)) is not None:
            yield found.digest
        elif kind is ModuleType and (package := owner(value)) is not None:
            yield from (value.__name__, version(package))
        elif is_dataclass(value):
            for f in fields(value):
                yield from (f.name, self.of(getattr(value, f.name), f"{name}.{f.name}"))
            yield from self._class_of_user(value)
        elif isinstance(value, _DESCRIPTORS):
            yield value.__qualname__
        elif kind is _FIELD:
            yield repr(value.__reduce__()[1][0])
        elif callable(value) and (known := known_name(value)) is not None:
            yield from (known[1], known[0], version(known[0]))
        else:
            raise _refusal(value, name)

    def _function(self, function: FunctionType, name: str) -> Iterator[str]:
        yield function.__qualname__
        package, ours, closed = owner(function), of_project(function), function.__code__.co_freevars
        if package is not None:
            yield from (package, version(package))
            if not closed or known_name(function) is not None:
                return
        elif ours is not None:
            yield ours.digest
        yield from _code(function.__code__, function.__doc__)
        yield self.of(function.__defaults__, f"{name}()")
        yield self.of(function.__kwdefaults__, f"{name}()")
        for used, value in origins.names(function).items():
            if used in closed or (package is None and ours is None):
                # the used parts of a user's module follow
                yield from (used, "" if isinstance(value, ModuleType) and is_foreign(value) else
                            self.of(value, f"{name}: {used}"))  # fmt: skip

    def _class_of_user(self, value: Any) -> Iterator[str]:
        if is_foreign(type(value)):
            yield self.of(type(value), type(value).__qualname__)

    def _class(self, cls: type, name: str) -> Iterator[str]:
        yield cls.__qualname__
        package = owner(cls)
        if package is not None and (not cls.__flags__ & origins.ON_HEAP or known_name(cls) is not None):
            yield from (package, version(package))
        elif (ours := of_project(cls)) is not None:
            yield ours.digest
        else:
            yield from (self.of(base, name) for base in (*cls.__bases__, type(cls)))
            for key, part in sorted(origins.parts_of_class(cls).items()):
                yield from (key, self.of(part, f"{name}.{key}"))


def _digest(words: Iterable[str]) -> str:
    h = sha256()
    for word in words:
        h.update(f"{len(word)}:{word}".encode())
    return h.hexdigest()


def _options(function: Any) -> dict[str, Any]:
    """Return the numba options that affect how a user's function is compiled."""
    given = {**function.targetoptions, **function.locals, "signatures": str(signatures(function) or "") or None}
    kept = {name: value for name, value in given.items() if value is not None and name not in ("cache", "nopython")}
    return kept if is_foreign(function.py_func) else {}


def signatures(function: Any) -> list[Any]:
    """Return the types that a compiled function is restricted to; an empty list if there is no restriction."""
    return [] if function._can_compile else list(function.nopython_signatures)


def _code(code: CodeType, doc: str | None) -> Iterator[str]:
    """Yield what a function's code does, without its location."""
    for part in origins.inner_codes(code):
        kept = [c for c in part.co_consts if not isinstance(c, CodeType) and not (part is code and c == doc)]
        yield repr((
            part.co_name, part.co_code, part.co_exceptiontable, part.co_names, part.co_varnames, part.co_freevars,
            part.co_cellvars, part.co_argcount, part.co_posonlyargcount, part.co_kwonlyargcount, part.co_flags,
        ))  # fmt: skip
        yield _Walk().of(kept, "a constant")


class _Hasher(NumpyHasher):  # type: ignore[misc]
    """`joblib.hash`, but it refuses users' functions and classes, which joblib would hash by name alone."""

    def save(self, obj: Any) -> None:
        if is_foreign(obj):
            raise PicklingError
        super().save(obj)


def _content_hash(value: Any, name: str) -> str:
    """Return the hash of an array or a table."""
    if owner(type(value)) in ("numpy", "pandas") and not isinstance(value, np.ma.MaskedArray):
        with suppress(Exception):  # of any kind, because objects in it can raise anything
            return str(_Hasher().hash(value))
    raise _refusal(value, name)


def _refusal(value: Any, name: str) -> InputError:
    return InputError(
        f"{name} is a {type(value).__qualname__}, whose content cannot be known, so results that depend on it "
        "cannot be cached; use numbers, texts, arrays, tables, or containers and functions of these"
    )
