"""Frozen dataclasses whose contents cannot be changed either: `read_only`."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Final, TypeVar

import numpy as np

C = TypeVar("C")

_HANDED_OUT: Final = re.compile(r"\b(DataFrame|dict|list|Mapping)\b")


def read_only(cls: type[C]) -> type[C]:
    """Make the contents of a frozen dataclass's fields unchangeable, also after pickling.

    - Arrays, including those in a tuple or a `cached_property`, are read-only, and no other code can write to their
      memory. numpy refuses to make them writeable again, unless they contain Python objects.
    - Each access to a field annotated as `DataFrame` returns a new table; the tables share their memory until one is
      changed (copy-on-write of pandas). A `dict` or a `list` is copied.
    - A field annotated as `Mapping` is a read-only view.
    """
    for f in fields(cls):  # type: ignore[arg-type]
        if _HANDED_OUT.search(str(f.type)):
            setattr(cls, f.name, _HandedOut(f.name, str(f.type)))
    for member in vars(cls).values():
        if isinstance(member, functools.cached_property):
            member.func = functools.partial(_computed, member.func)
    init = cls.__init__

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        _freeze(self)

    def __setstate__(self: Any, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        _freeze(self)

    for method in (__init__, __setstate__):
        setattr(cls, method.__name__, method)
    return cls


def frozen(value: Any) -> Any:
    """Return a read-only array, or a tuple of such; any other value unchanged."""
    if type(value) is np.ndarray and not value.dtype.hasobject:
        if not isinstance(value.base, bytes):  # an array's owner can make it writeable again; bytes stay closed
            value = np.ndarray(value.shape, value.dtype, value.tobytes())
    elif isinstance(value, np.ndarray):
        if value.base is not None or value.flags.writeable:
            value = value.copy()
            value.flags.writeable = False
    elif type(value) is tuple and any(isinstance(part, np.ndarray) for part in value):
        value = tuple(frozen(part) for part in value)
    return value


def _computed(compute: Callable[[Any], Any], instance: Any) -> Any:
    return frozen(compute(instance))


def _freeze(instance: Any) -> None:
    """Freeze the fields, and cached properties from before pickling."""
    for name, value in instance.__dict__.items():
        instance.__dict__[name] = frozen(value)


class _HandedOut:
    """A field that returns a copy or a view of its content, by its annotation, because importing pandas is slow."""

    def __init__(self, name: str, annotation: str) -> None:
        self.name = name
        self.is_table, self.is_view = "DataFrame" in annotation, "Mapping" in annotation

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self.name]
        return MappingProxyType(value) if self.is_view and isinstance(value, dict) else self._copied(value)

    def __set__(self, instance: Any, value: Any) -> None:
        if self.is_view and isinstance(value, Mapping):
            value = dict(value)
        instance.__dict__[self.name] = self._copied(value)

    def _copied(self, value: Any) -> Any:
        if self.is_table and value is not None:
            return value.copy(deep=False)
        return copy.deepcopy(value) if isinstance(value, dict | list) else value
