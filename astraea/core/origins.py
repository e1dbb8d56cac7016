"""The origin of functions, classes and modules (project, package or user), and the contents of users' own."""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from astraea.core import source

ON_HEAP: Final = 1 << 9
"""Flag of classes that a class statement made."""

_PYTHON: Final = Path(sysconfig.get_path("stdlib"))


def of_project(value: Any) -> source.Source | None:
    """Return the source that a function, class or module of the project computes with; None for any other."""
    return source.of_file(_file(value))


def is_foreign(value: Any) -> bool:
    """Return whether it is a user's Python function, class or module: not from the project or a package."""
    return (
        isinstance(value, FunctionType | ModuleType | type) and owner(value) is None and of_project(value) is None
    )


def owner(value: Any) -> str | None:
    """Return the installed package or standard module that a function, class or module comes from; else None."""
    top = _module(value).partition(".")[0]
    place = _file(value)
    if isinstance(value, FunctionType) and not place.is_file():
        return None  # from a notebook, or made by `exec`
    if top == "builtins" and isinstance(value, type) and getattr(builtins, value.__name__, None) is not value:
        return None if value.__flags__ & ON_HEAP else top
    if top in sys.stdlib_module_names and (place == Path() or place.is_relative_to(_PYTHON)):
        return top
    packages = [k for k, part in enumerate(place.parts) if part in ("site-packages", "dist-packages")]
    return place.parts[packages[-1] + 1].removesuffix(".py") if packages and of_project(value) is None else None


def known_name(value: Any) -> tuple[str, str] | None:
    """Return (package, name) under which a package provides this very object; None if there is none.

    A function or class that a package made for its caller has no such name and may contain anything.
    """
    own = _module(value)
    for place in (own, own.partition(".")[0], "numpy", "scipy.special"):  # a ufunc may not know its module
        module: Any = sys.modules.get(place)
        if module is None or (package := owner(module)) is None:
            continue
        path, there = str(getattr(value, "__qualname__", "")), module
        for name in path.split("."):
            there = getattr(there, name, None)
        if there is value:
            return package, path
        if found := sorted(name for name, other in vars(module).items() if other is value):
            return package, found[0]
    return None


def _module(value: Any) -> str:
    return value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", ""))


def _file(value: Any) -> Path:
    """Return the file that a function, class or module comes from; an empty path if there is none."""
    if isinstance(value, FunctionType):
        return Path(value.__code__.co_filename)
    name = _module(value)
    found = "" if name == "__main__" else getattr(sys.modules.get(name), "__file__", None)
    return Path(found or "")


def names(function: FunctionType) -> dict[str, Any]:
    """Return what a user's function takes from its module or an enclosing function, by name.

    Attributes of users' modules are included under their full names, such as ``settings.LIMIT``.
    """
    codes = [*inner_codes(function.__code__)]
    loaded = {name for code in codes for name in _loaded(code)}
    found = {name: function.__globals__[name] for name in sorted(loaded) if name in function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not filled yet
            continue
    used = {name for code in codes for name in code.co_names}
    opened = [name for name, value in found.items() if isinstance(value, ModuleType)]
    while opened:  # a user's modules are as changeable as globals
        module = opened.pop()
        if is_foreign(found[module]):
            for name in sorted(used & vars(found[module]).keys()):
                value = found[f"{module}.{name}"] = vars(found[module])[name]
                if isinstance(value, ModuleType) and module.count(".") < 8:
                    opened.append(f"{module}.{name}")
    return found


@functools.cache
def _loaded(code: CodeType) -> frozenset[str]:
    """Return the names in a code that are not attributes."""
    return frozenset(
        step.argval
        for step in dis.get_instructions(code)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "IMPORT_NAME", "IMPORT_FROM")
    )


def inner_codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code and the code of functions and comprehensions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from inner_codes(constant)


_OF_CLASSES: Final = {
    "__annotate__", "__annotate_func__", "__annotations__", "__annotations_cache__",
    "__dataclass_fields__", "__dataclass_params__", "__dict__", "__doc__", "__firstlineno__", "__module__",
    "__orig_bases__", "__slots__", "__static_attributes__", "__weakref__", "_abc_impl",
}  # fmt: skip


def parts_of_class(cls: type) -> dict[str, Any]:
    """Return the attributes of a user's class; of an enum only values and functions, as the rest varies by version."""
    parts = {name: part for name, part in vars(cls).items() if name not in _OF_CLASSES}
    if issubclass(cls, enum.Enum):
        inner = {name: getattr(part, "__func__", getattr(part, "fget", part)) for name, part in parts.items()}
        parts = {name: part for name, part in parts.items() if is_foreign(inner[name])}
        parts |= {name: member.value for name, member in cls.__members__.items()}
    return parts
