"""Fingerprints of values: equal fingerprints mean equal content, functions included.

A fingerprint is the SHA-256 of a pickle. What pickle writes as a name only is replaced by its content:

- A function of the project: its name and the digest of what its module can reach (`astraea.core.source`).
- A function from elsewhere, such as a policy in a notebook: its code, without comments and file names, and everything
  that it uses. These are globals, attributes of modules and classes, cells and defaults; functions among them in turn.
- An object that another package provides under a name: this name and the version of that package.

Of a dataclass its fields count, and no cached properties (`cached_property`). A value whose content cannot be known is
refused with a message. So are instances of other classes that are not of a package in `EXACT`.
"""

from __future__ import annotations

import copyreg
import enum
import functools
import io
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from hashlib import sha256
from importlib import metadata
from types import CodeType, FunctionType, MappingProxyType, ModuleType, NoneType
from typing import Any, Final

import numpy as np
from numba.core.dispatcher import Dispatcher

from astraea.core import origins
from astraea.core.errors import InputError
from astraea.core.origins import is_foreign, known_name, of_project, owner

PACKAGES: Final = {"sklearn": "scikit-learn"}
"""Distribution names of packages that are imported under another name."""

EXACT: Final = {
    "_collections", "builtins", "collections", "datetime", "decimal", "fractions", "functools", "numpy", "pandas",
    "pathlib", "pyarrow", "re", "types", "zoneinfo",
}  # fmt: skip
"""Packages whose objects are pickled with all their content."""

_PLAIN: Final = {NoneType, bool, int, float, str, bytes, tuple, list, dict}

_PARTS: Final[dict[type, Callable[[Any], Any]]] = {
    MappingProxyType: dict,
    functools.cached_property: lambda value: value.func,
    property: lambda value: (value.fget, value.fset, value.fdel),
    staticmethod: lambda value: value.__func__,
    classmethod: lambda value: value.__func__,
    CodeType: lambda code: (
        code.co_name, code.co_code, code.co_exceptiontable, code.co_names, code.co_varnames, code.co_freevars,
        code.co_cellvars, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags,
        code.co_consts,
    ),
}  # fmt: skip
"""The content of values that pickle refuses, by type; of code without its location."""


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
    known: dict[int, tuple[Any, str]] = field(default_factory=dict)  #: finished functions and digests, by `id`
    functions: list[tuple[str, Any]] = field(default_factory=list)

    def of(self, value: Any, name: str) -> str:
        """Return the digest of a value."""
        file = io.BytesIO()
        try:
            _Pickler(file, self, value, name).dump(value)
        except InputError:
            raise
        except Exception:  # of any kind, because objects in it can raise anything
            raise _refusal(value, f"{name} is") from None
        return sha256(file.getbuffer()).hexdigest()

    def of_code(self, value: Any, name: str) -> str:
        """Return the digest of a function, class or module."""
        if id(value) in self.known:
            return self.known[id(value)][1]
        bare = plain(value)
        for depth, outer in enumerate(self.open):
            if outer is bare:
                return f"itself, at depth {depth}"
        if isinstance(bare, FunctionType) and is_foreign(bare):
            self.functions.append((name, value))
        self.open.append(bare)
        digest = self.of([_options(value), *self._content(bare, name)], name)
        self.open.pop()
        self.known[id(value)] = value, digest
        return digest

    def _content(self, value: Any, name: str) -> Iterator[Any]:
        package, ours = owner(value), of_project(value)
        if isinstance(value, ModuleType):
            if package is None and ours is None:
                raise _refusal(value, f"{name} is")
            yield ours.digest if ours is not None else (value.__name__, version(str(package)))
            return
        is_class = isinstance(value, type)
        yield value.__qualname__
        if package is not None:
            yield package, version(package)
            is_whole = not (value.__flags__ & origins.ON_HEAP if is_class else value.__code__.co_freevars)
            if is_whole or known_name(value) is not None:
                return
        if ours is not None:
            yield ours.digest
        if not is_class:
            yield from self._function(value, name, is_ours=package is not None or ours is not None)
        elif ours is None:
            yield (*value.__bases__, type(value))
            for key, part in sorted(origins.parts_of_class(value).items()):
                yield key, self.of(part, f"{name}.{key}")

    def _function(self, function: FunctionType, name: str, *, is_ours: bool) -> Iterator[Any]:
        code, doc = function.__code__, function.__doc__
        yield code.replace(co_consts=tuple(None if doc is not None and c == doc else c for c in code.co_consts))
        yield self.of([function.__defaults__, function.__kwdefaults__], f"{name}()")
        for used, value in origins.names(function).items():
            if used in code.co_freevars or not is_ours:  # the used parts of a user's module follow
                is_module = isinstance(value, ModuleType) and is_foreign(value)
                yield used, "" if is_module else self.of(value, f"{name}: {used}")


class _Pickler(pickle.Pickler):
    """A pickler of one value."""

    def __init__(self, file: io.BytesIO, walk: _Walk, root: Any, name: str) -> None:
        super().__init__(file, protocol=4)
        self.fast = True  # without a memo, in which two equal values differ from one that occurs twice
        self.walk, self.root, self.name = walk, root, name

    def persistent_id(self, value: Any) -> Any:
        """Return the content of what pickle knows only by its name, or in no order, or not at all; else None."""
        kind, walk = type(value), self.walk
        if kind in _PLAIN:
            return None
        if isinstance(value, FunctionType | type | ModuleType) or is_compiled(value):
            return walk.of_code(value, self.name)
        of = kind if is_foreign(kind) else kind.__qualname__
        if kind in (set, frozenset):  # without an order, so each part on its own
            return of, sorted(_Walk([*walk.open], {}, walk.functions).of(part, self.name) for part in value)
        if kind in _PARTS:
            return of, _PARTS[kind](value)
        if isinstance(value, enum.Enum):
            return of, value.name, value.value
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return of, tuple(value), getattr(value, "__dict__", None)
        if is_dataclass(value):
            return of, [(f.name, getattr(value, f.name)) for f in fields(value)]
        if callable(value) and (known := known_name(value)) is not None:
            return known, version(known[0])
        return None

    def reducer_override(self, value: Any) -> Any:
        """Return how any other value is made, unless that is only a name."""
        kind = type(value)
        if owner(kind) in EXACT and not isinstance(value, np.ma.MaskedArray):
            with suppress(Exception):
                reduce = copyreg.dispatch_table.get(kind)
                reduced = reduce(value) if reduce else value.__reduce_ex__(4)
                if not isinstance(reduced, str) or value is ... or known_name(value) is not None:
                    return reduced
        raise _refusal(value, f"{self.name} {'is' if value is self.root else 'contains'}")


def _options(function: Any) -> dict[str, Any]:
    """Return the numba options that affect how a user's function is compiled."""
    if not is_compiled(function) or not is_foreign(function.py_func):
        return {}
    given = {**function.targetoptions, "locals": function.locals, "signatures": signatures(function)}
    return {name: str(value) for name, value in given.items() if value and name not in ("cache", "nopython")}


def signatures(function: Any) -> list[Any]:
    """Return the types that a compiled function is restricted to; an empty list if there is no restriction."""
    return [] if function._can_compile else list(function.nopython_signatures)


def _refusal(value: Any, place: str) -> InputError:
    return InputError(
        f"{place} a {type(value).__qualname__}, whose content cannot be known, so results that depend on it "
        "cannot be cached; use numbers, texts, arrays, tables, or containers and functions of these"
    )
