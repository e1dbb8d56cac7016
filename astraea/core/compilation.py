"""Compiled functions, and where their machine code is kept.

numba checks machine code that it kept against the function's own file only, so a change in a function or a constant of
another file that was compiled into it would go unnoticed. The machine code of a module is therefore kept in a folder
that is named after the digest of everything the module can reach (`astraea.core.source`).
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import numba
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model
from numba.misc.appdirs import AppDirs

from astraea.core import source
from astraea.core.units import DAY

MONTH: Final = 30 * DAY
"""Machine code that no process has asked for in this time is removed [s]."""

_OURS: Final = re.compile(r"\w+-[0-9a-f]{16}")
"""Names of our folders: a module and a digest."""


@cache
def _home() -> Path | None:
    """Find the writable folder of all machine code; None where the user's cache is read-only."""
    named = numba.config.CACHE_DIR  # which others may use, too
    caches = Path(named, "astraea") if named else Path(AppDirs("astraea", appauthor=False).user_cache_dir)
    folder = caches / "compiled"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


@cache
def _folder(home: Path, name: str) -> Path:
    """Make a folder of machine code, or note that it is in use; remove those of ours that were not for a month."""
    folder = home / name
    with suppress(OSError):  # another process does the same
        if folder.is_dir():
            os.utime(folder)
        else:
            folder.mkdir()
            for other in home.iterdir():
                if _OURS.fullmatch(other.name) and other.stat().st_mtime < time.time() - MONTH:
                    shutil.rmtree(other, ignore_errors=True)
    return folder


def compiled(function: Callable[..., Any], *, inline: bool = False) -> Any:
    """`numba.njit`, plain Python under NUMBA_DISABLE_JIT=1.

    The machine code of a function of the project is kept on disk; a function from elsewhere, such as a policy in a
    notebook, is compiled anew by each process. With `inline` it is compiled into its callers by force.
    """
    options = {"error_model": "numpy", "forceinline": inline}
    found, home = source.of_file(Path(function.__code__.co_filename)), _home()
    if found is None or home is None:
        return numba.njit(**options)(function)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_folder(home, f"{function.__module__.rpartition('.')[2]}-{found.digest[:16]}"))
    try:  # numba reads the name of the folder when it makes the function
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = before


def inlined(function: Callable[..., Any]) -> Any:
    """`compiled`, and into its callers by force: what the loop of the simulator is made of."""
    return compiled(function, inline=True)


class Borrowed(types.Type):  # type: ignore[misc]
    """Where a tuple of arrays, or of such tuples, lies: what compiled functions hand on instead of the tuple."""

    def __init__(self, state: Any) -> None:
        self.state = state
        super().__init__(name=f"Borrowed({state})")


@register_model(Borrowed)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, manager.lookup(kind.state).get_value_type().as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Borrowed

    def generic_resolve(self, kind: Any, name: str) -> Any:
        if name not in kind.state.fields:
            return None  # numba says so, with the line
        field = kind.state.types[kind.state.fields.index(name)]
        return Borrowed(field) if isinstance(field, types.BaseTuple) else field


@lower_getattr_generic(Borrowed)
def _field(context: Any, builder: Any, kind: Any, place: Any, name: str) -> Any:
    position = kind.state.fields.index(name)
    field, there = kind.state.types[position], cgutils.gep_inbounds(builder, place, 0, position)
    if isinstance(field, types.BaseTuple):
        return there
    array = context.make_array(field)(context, builder, value=builder.load(there))
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    return array._getvalue()


def _borrowed(context: Any, state: Any) -> Any:
    return Borrowed(state)(state), lambda _, builder, __, values: cgutils.alloca_once_value(builder, values[0])


borrowed = (lambda state: state) if numba.config.DISABLE_JIT else intrinsic(_borrowed)
"""In a compiled function: its state, for the functions that it calls, with the same fields.

numba hands a tuple on field by field, and counts the users of every array in it, one by one; for a state of some twenty
arrays that costs more, in time and to compile, than what a short function does with it.
"""
