"""Where functions, classes and modules come from: the project, an installed package, or a user."""

from __future__ import annotations

import builtins
import sys
import sysconfig
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final

from astraea.core import source

ON_HEAP: Final = 1 << 9
"""Flag of classes that a class statement made."""

_PYTHON: Final = Path(sysconfig.get_path("stdlib"))


def file(value: Any) -> Path:
    """Return the file that a function, class or module comes from; no path of a file if it has none."""
    if isinstance(value, FunctionType):
        return Path(value.__code__.co_filename)
    name = _module(value)
    found = "" if name == "__main__" else getattr(sys.modules.get(name), "__file__", None)
    return Path(found or "")


def is_ours(value: Any) -> bool:
    """Whether a function, class or module is of the project."""
    return source.of_file(file(value)) is not None


def is_foreign(value: Any) -> bool:
    """Whether it is a Python function, a class or a module of a user: neither of the project nor of a package."""
    return isinstance(value, FunctionType | ModuleType | type) and owner(value) is None and not is_ours(value)


def owner(value: Any) -> str | None:
    """Return the installed package, or the module of Python's own, that a function, class or module comes from."""
    top = _module(value).partition(".")[0]
    place = file(value)
    if isinstance(value, FunctionType) and not place.is_file():
        return None  # from a notebook, or made by `exec`
    if top == "builtins" and isinstance(value, type) and getattr(builtins, value.__name__, None) is not value:
        return None if value.__flags__ & ON_HEAP else top
    if top in sys.stdlib_module_names and (place == Path() or place.is_relative_to(_PYTHON)):
        return top
    packages = [k for k, part in enumerate(place.parts) if part in ("site-packages", "dist-packages")]
    return place.parts[packages[-1] + 1].removesuffix(".py") if packages and not is_ours(value) else None


def known_name(value: Any) -> tuple[str, str] | None:
    """Return the package that hands out this very object, and by which name; None if none does.

    A function or class that a package made for its caller has no such name, and may contain anything.
    """
    own = _module(value)
    for place in (own, own.partition(".")[0], "numpy", "scipy.special"):  # a ufunc need not say where it comes from
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
