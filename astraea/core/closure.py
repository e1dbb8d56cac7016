"""What a function of a user takes from around it (globals, cells, attributes of modules), and what a class says."""

from __future__ import annotations

import dis
import enum
import functools
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from astraea.core.origins import is_foreign


def names(function: FunctionType) -> dict[str, Any]:
    """Return what a function takes from the module or the function around it, by name.

    Attributes of modules of users are among it with their full name, such as ``settings.LIMIT``.
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
    """Return the names in a code that are no attributes."""
    return frozenset(
        step.argval
        for step in dis.get_instructions(code)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "IMPORT_NAME", "IMPORT_FROM")
    )


def inner_codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code and that of the functions and comprehensions inside it."""
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
    """Return what a class of a user says; of an enum its values and its functions, as the rest differs by version."""
    parts = {name: part for name, part in vars(cls).items() if name not in _OF_CLASSES}
    if issubclass(cls, enum.Enum):
        inner = {name: getattr(part, "__func__", getattr(part, "fget", part)) for name, part in parts.items()}
        parts = {name: part for name, part in parts.items() if is_foreign(inner[name])}
        parts |= {name: member.value for name, member in cls.__members__.items()}
    return parts


def is_named_tuple(value: Any) -> bool:
    """Whether it is a tuple whose places have names."""
    return isinstance(value, tuple) and hasattr(value, "_fields")
