"""Users' compiled functions, such as a policy in a notebook: recompiled when something that they read has changed."""

from __future__ import annotations

from collections.abc import MutableMapping
from types import CellType, FunctionType, ModuleType
from typing import Any, Final
from weakref import WeakKeyDictionary

import numba
from numba.core.registry import cpu_target

from astraea.core.errors import InputError
from astraea.core.fingerprint import is_compiled, plain, signatures, with_functions
from astraea.core.origins import is_foreign, names


def current(function: Any) -> Any:
    """Return a compiled function that reads its globals as they are now; numba reads them once, when it compiles.

    A user's function is recompiled, with the users' functions that it calls, if anything that they read has changed;
    any other function is returned as it is. `InputError` names something that it reads whose content cannot be known,
    or a function that it calls and that cannot be recompiled.
    """
    if not _is_compiled_by_user(function):
        return function
    mark, functions = with_functions(function, plain(function).__name__)
    known = _CURRENT.get(function)
    if known is None or known[0] != mark:
        copies = _Copies()
        known = mark, copies.of(function)
        cpu_target.typing_context.refresh()  # or it would not know functions that were made since it last compiled
        for name, other in functions:
            if id(other) not in copies.made and _is_compiled(other):
                raise InputError(
                    f"{name} cannot be compiled again, so it may not see what has changed; make it with "
                    "numba.njit, and call it by its name or as an attribute of a module"
                )
        _CURRENT[function] = known
    return known[1]


_CURRENT: Final[MutableMapping[Any, tuple[str, Any]]] = WeakKeyDictionary()


def _is_compiled_by_user(function: Any) -> bool:
    return is_compiled(function) and is_foreign(plain(function))


def _is_compiled(function: Any) -> bool:
    """Return whether compiled code can call it; numba also accepts a plain function with ``register_jitable``."""
    try:
        return cpu_target.typing_context.resolve_value_type(function) is not None
    except ValueError:
        return False


class _Copies:
    """Copies of users' functions, made from their Python code with the current globals, and of those that they call."""

    def __init__(self) -> None:
        self.made: dict[int, tuple[Any, Any]] = {}  # by the `id` of the first

    def of(self, value: Any) -> Any:
        """Return a copy of a user's compiled function; any other value as it is."""
        if id(value) in self.made:
            return self.made[id(value)][1]
        return self._function(value) if _is_compiled_by_user(value) else value

    def _function(self, function: Any) -> Any:
        python = plain(function)
        copy = FunctionType(python.__code__, {**python.__globals__}, python.__name__, python.__defaults__,
                            python.__closure__ and tuple(CellType() for _ in python.__closure__))  # fmt: skip
        copy.__module__, copy.__qualname__, copy.__doc__ = python.__module__, python.__qualname__, python.__doc__
        made = numba.jit(locals=function.locals, **function.targetoptions)(copy)
        self.made[id(function)] = function, made
        found = self._names(python)
        copy.__globals__.update({name: value for name, value in found.items() if name in copy.__globals__})
        for name, cell in zip(python.__code__.co_freevars, copy.__closure__ or (), strict=True):
            if name in found:
                cell.cell_contents = found[name]
        if only := signatures(function):
            for signature in only:
                made.compile(signature)
            made.disable_compile()
        return made

    def _names(self, python: FunctionType) -> dict[str, Any]:
        """Return copies of what a function takes from around it; of a user's module only what it uses."""
        found: dict[str, Any] = {}
        for name, value in names(python).items():
            outer, _, attribute = name.rpartition(".")
            if isinstance(value, ModuleType) and is_foreign(value):  # under another name a worker gets it by value
                found[name] = ModuleType(f"{value.__name__}, copied", value.__doc__)
            else:
                found[name] = self.of(value)
            if outer:
                setattr(found[outer], attribute, found[name])
        return found
