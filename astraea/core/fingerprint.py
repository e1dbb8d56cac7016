"""Fingerprints of values: equal ones say that two values are made of the same content, functions included.

- A function of the project is its name and the digest of what its module can reach (`astraea.core.source`).
- A function from elsewhere, such as a policy in a notebook, is its code, without comments and the names of files, and
  everything that it closes over: globals, attributes of modules and classes, cells, defaults, and the functions among
  these in turn.
- What belongs to another package is its name and the version of that package.
- Data are their content. What a dataclass has remembered (`cached_property`) is no part of it.

Whatever has a content that cannot be known is refused in a sentence.
"""

from __future__ import annotations

import builtins
import datetime
import decimal
import enum
import fractions
import functools
import pathlib
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, Final

import joblib
import numpy as np
import pandas as pd
from numba.core.types import Type as NumbaType

from astraea.core import source
from astraea.core.errors import InputError

PACKAGES: Final = {"sklearn": "scikit-learn"}
"""Names of packages that differ from what one imports."""

_WRITTEN: Final = (
    bool, int, float, complex, str, bytes, range, slice, decimal.Decimal, fractions.Fraction, datetime.date,
    datetime.time, datetime.timedelta, pathlib.PurePath, re.Pattern, NumbaType, np.generic, np.dtype,
)  # fmt: skip
"""Types whose `repr` says everything."""

_ARRAYS: Final = (np.ndarray, pd.DataFrame, pd.Series, pd.Index, pd.api.extensions.ExtensionArray)


def fingerprint(value: Any, name: str = "the value") -> str:
    """Return the SHA-256 of what a value is made of.

    Parameters
    ----------
    value : object
        Plain values, containers, arrays, tables, dataclasses of them, functions and classes.
    name : str
        What it is called in a message.

    Raises
    ------
    InputError
        If it contains something whose content cannot be known, such as an open file; says where.
    """
    return _Walk().of(value, name)


def version(package: str) -> str:
    """Return the version of an installed package by the name that one imports; that of Python for its own modules."""
    if package in sys.stdlib_module_names:
        return sys.version.partition(" ")[0]
    try:
        return _version(PACKAGES.get(package, package))
    except metadata.PackageNotFoundError:
        return ""


_version = functools.cache(metadata.version)


def plain(function: Any) -> Any:
    """Return the Python function that numba compiled, or the value itself."""
    return getattr(function, "py_func", function)


def is_foreign(function: Any) -> bool:
    """Whether it is a Python function of a user: neither of the project nor of an installed package."""
    return isinstance(function, FunctionType) and _owner(function) is None and not _is_ours(function)


def names(function: FunctionType) -> dict[str, Any]:
    """Return what a function takes from the module or the function around it, by name.

    Attributes of modules and classes are among it with their full name, such as ``settings.LIMIT``.
    """
    used = {name for code in _codes(function.__code__) for name in code.co_names}
    found = {name: function.__globals__[name] for name in sorted(used) if name in function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not filled yet
            continue
    opened = [name for name, value in found.items() if isinstance(value, ModuleType)]
    while opened:  # a user's modules are as changeable as globals
        module = opened.pop()
        if _owner(found[module]) is None and not _is_ours(found[module]):
            for name in sorted(used & vars(found[module]).keys()):
                value = found[f"{module}.{name}"] = vars(found[module])[name]
                if isinstance(value, ModuleType) and module.count(".") < 8:
                    opened.append(f"{module}.{name}")
    return found


class _Walk:
    """One fingerprint; what contains itself, such as a recursive function, is referred to by its depth."""

    def __init__(self) -> None:
        self.open: list[Any] = []

    def of(self, value: Any, name: str) -> str:
        """Return the digest of one value."""
        h = sha256()
        for word in self._words(value, name):
            h.update(f"{len(word)}:{word}".encode())
        return h.hexdigest()

    def _words(self, value: Any, name: str) -> Iterator[str]:
        if value is None or value is Ellipsis or value is NotImplemented:
            yield repr(value)
            return
        if isinstance(value, enum.Enum):
            yield from (type(value).__qualname__, value.name)
            return
        if isinstance(value, _WRITTEN):
            yield from (type(value).__qualname__, repr(value))
            return
        if isinstance(value, _ARRAYS):
            yield from (type(value).__qualname__, str(joblib.hash(value)))
            return
        value = plain(value)
        for depth, outer in enumerate(self.open):
            if outer is value:
                yield f"itself, at depth {depth}"
                return
        self.open.append(value)
        yield type(value).__qualname__
        yield from self._content(value, name)
        self.open.pop()

    def _content(self, value: Any, name: str) -> Iterator[str]:
        if isinstance(value, tuple | list):
            yield from (self.of(part, f"{name}[{k}]") for k, part in enumerate(value))
        elif isinstance(value, Mapping):
            for key, part in value.items():
                yield from (self.of(key, name), self.of(part, f"{name}[{key!r}]"))
        elif isinstance(value, set | frozenset):
            yield from sorted(self.of(part, name) for part in value)
        elif isinstance(value, FunctionType):
            yield from self._function(value, name)
        elif isinstance(value, MethodType):
            yield from (self.of(value.__func__, name), self.of(value.__self__, name))
        elif isinstance(value, functools.partial):
            yield from (self.of(part, name) for part in (value.func, value.args, value.keywords))
        elif isinstance(value, type):
            yield from self._class(value, name)
        elif isinstance(value, ModuleType):
            yield from self._module(value)
        elif is_dataclass(value):
            for f in fields(value):
                yield from (f.name, self.of(getattr(value, f.name), f"{name}.{f.name}"))
            if _owner(type(value)) is None and not _is_ours(type(value)):
                yield self.of(type(value), type(value).__qualname__)
        elif isinstance(value, SimpleNamespace):
            yield self.of(vars(value), name)
        elif isinstance(value, BuiltinFunctionType | np.ufunc) or (_owner(value) and callable(value)):
            yield from (str(getattr(value, "__name__", "")), str(_owner(value)), version(_owner(value) or "builtins"))
        else:
            raise InputError(
                f"{name} is a {type(value).__qualname__}, whose content cannot be known, so no result that depends on "
                "it can be kept; use numbers, texts, arrays, tables, or containers and functions of these"
            )

    def _function(self, function: FunctionType, name: str) -> Iterator[str]:
        yield function.__qualname__
        if (owner := _owner(function)) is not None:
            yield from (owner, version(owner))
            return
        of_project = source.of_file(_file(function))
        if of_project is not None:
            yield of_project.digest
        yield from _code(function.__code__, function.__doc__)
        yield self.of(function.__defaults__, f"{name}()")
        yield self.of(function.__kwdefaults__, f"{name}()")
        closed = function.__code__.co_freevars
        for used, value in names(function).items():
            if of_project is None or used in closed:
                yield from (used, self.of(value, f"{name}: {used}"))

    def _class(self, cls: type, name: str) -> Iterator[str]:
        yield cls.__qualname__
        if (owner := _owner(cls)) is not None:
            yield from (owner, version(owner))
        elif (found := source.of_file(_file(cls))) is not None:
            yield found.digest
        else:
            yield from (self.of(base, name) for base in cls.__bases__)
            for key, part in sorted(vars(cls).items()):
                if key not in _OF_CLASSES and not isinstance(part, _GIVEN):
                    inner = (getattr(part, attribute, None) for attribute in ("__func__", "fget", "func"))
                    yield from (key, self.of(next(filter(None, inner), part), f"{name}.{key}"))

    def _module(self, module: ModuleType) -> Iterator[str]:
        """What is used of a module of a user is in `names`."""
        if (found := source.of_file(_file(module))) is not None:
            yield found.digest
        elif (owner := _owner(module)) is not None:
            yield from (module.__name__, version(owner))


_OF_CLASSES: Final = {
    "__annotate__", "__annotate_func__", "__annotations__", "__annotations_cache__",
    "__dataclass_fields__", "__dataclass_params__", "__dict__", "__doc__", "__firstlineno__", "__module__",
    "__orig_bases__", "__slots__", "__static_attributes__", "__weakref__",
}  # fmt: skip
_GIVEN: Final = (
    type(np.ndarray.T), type(functools.partial.func),
    type(tuple.__add__), type(vars(source.Source)["digest"]),
)  # fmt: skip
"""What Python makes of a class by itself: descriptors of slots and fields, and wrappers."""


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code and that of the functions and comprehensions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _code(code: CodeType, doc: str | None) -> Iterator[str]:
    """Yield what a function's code does; nothing of where it stands."""
    for part in _codes(code):
        kept = [c for c in part.co_consts if not isinstance(c, CodeType) and not (part is code and c == doc)]
        yield repr((
            part.co_name, part.co_code, part.co_exceptiontable, part.co_names, part.co_varnames, part.co_freevars,
            part.co_cellvars, part.co_argcount, part.co_posonlyargcount, part.co_kwonlyargcount, part.co_flags,
        ))  # fmt: skip
        yield _Walk().of(kept, "a constant")


def _file(value: Any) -> Path:
    """Return the file that a function, class or module comes from; no path of a file if it has none."""
    if isinstance(value, FunctionType):
        return Path(value.__code__.co_filename)
    name = value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", ""))
    found = "" if name == "__main__" else getattr(sys.modules.get(name), "__file__", None)
    return Path(found or "")


def _is_ours(value: Any) -> bool:
    """Whether a function, class or module is of the project."""
    return source.of_file(_file(value)) is not None


def _owner(value: Any) -> str | None:
    """Return the installed package, or the module of Python's own, that a function, class or module comes from."""
    name = value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", ""))
    top = name.partition(".")[0]
    file = _file(value)
    if isinstance(value, FunctionType) and not file.is_file():
        return None  # from a notebook, or made by `exec`
    if top == "builtins" and isinstance(value, type) and getattr(builtins, value.__name__, None) is not value:
        return None if value.__flags__ & _ON_HEAP else top
    if top in sys.stdlib_module_names and (file == Path() or file.is_relative_to(_PYTHON)):
        return top
    packages = [k for k, part in enumerate(file.parts) if part in ("site-packages", "dist-packages")]
    return file.parts[packages[-1] + 1].removesuffix(".py") if packages and not _is_ours(value) else None


_ON_HEAP: Final = 1 << 9
"""Flag of classes that a class statement made."""

_PYTHON: Final = Path(sysconfig.get_path("stdlib"))
