"""How compiled functions are made, where they are kept, and the digests that say whether they are still good.

numba checks a cached function against its own file only, so a change in a function or a constant that was compiled
into it would go unnoticed. The compiled functions of a room are therefore kept in a folder that is named after the
source of everything that they can be made of: the room itself and `core`.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import numba
import pooch
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model

PACKAGE: Final = Path(__file__).resolve().parents[1]


@cache
def digest(*places: str, root: Path = PACKAGE) -> str:
    """SHA-256 over names and contents of every Python file and file of data in some folders and files of the package.

    Parameters
    ----------
    *places : str
        Paths relative to the package, or to `root`, such as ``core`` or ``traces/trace.py``.
    """
    files = {root / place for place in places if place.endswith(".py")}
    for place in places:
        if not place.endswith(".py"):
            files |= {file for file in (root / place).rglob("*") if file.suffix in (".py", ".toml", ".mplstyle")}
    h = hashlib.sha256()
    for path in sorted(files, key=lambda p: p.relative_to(root).as_posix()):
        h.update(path.relative_to(root).as_posix().encode())
        h.update(path.read_bytes())
    return h.hexdigest()


@cache
def _home() -> Path:
    """A writable folder for compiled functions; a temporary one where the user's cache is read-only."""
    if numba.config.CACHE_DIR:
        return Path(numba.config.CACHE_DIR)
    folder = Path(pooch.os_cache("astraea"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return Path(tempfile.mkdtemp(prefix="astraea-compiled-"))


def compiled(function: Callable[..., Any], *, inline: bool = False) -> Any:
    """`numba.njit`, plain Python under NUMBA_DISABLE_JIT=1.

    What lies in the package, or in ``verification/`` beside it, is cached on disk; a function from elsewhere, such as
    a policy in a notebook, is compiled anew by each process.

    Parameters
    ----------
    function : function
    inline : bool
        Whether it is compiled into its callers by force.
    """
    options = {"error_model": "numpy", "forceinline": inline}
    path = Path(function.__code__.co_filename)
    if path.is_relative_to(PACKAGE):
        room = path.relative_to(PACKAGE).parts[0]
        key = digest("core", room)
    elif path.is_relative_to(PACKAGE.parent / "verification"):
        room, key = "verification", digest("verification", "astraea/core", "astraea/gavel", root=PACKAGE.parent)
    else:
        return numba.njit(**options)(function)
    home = _home()
    try:  # numba reads the folder when the function is made
        numba.config.CACHE_DIR = str(home / f"{room}-{key[:16]}")
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = str(home)


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
