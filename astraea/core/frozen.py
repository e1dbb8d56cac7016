"""Frozen dataclasses whose arrays are read-only: `read_only`."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

import numpy as np

C = TypeVar("C")


def read_only(cls: type[C]) -> type[C]:
    """Make the arrays of a frozen dataclass, also those in a tuple, read-only copies, also after pickling."""
    init = cls.__init__

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        __setstate__(self, self.__dict__)

    def __setstate__(self: Any, state: dict[str, Any]) -> None:
        self.__dict__.update({name: _closed(value) for name, value in state.items()})

    for method in (__init__, __setstate__):
        setattr(cls, method.__name__, method)
    return cls


def _closed(value: Any) -> Any:
    if type(value) is tuple and any(isinstance(part, np.ndarray) for part in value):
        return tuple(_closed(part) for part in value)
    if isinstance(value, np.ndarray) and (value.flags.writeable or value.base is not None):
        value = value.copy()
        value.flags.writeable = False
    return value
