"""Compiled functions, and the folders where their machine code is cached.

numba checks cached machine code against the function's own file only. It would miss a change in a function or constant
that was compiled in from another file. Therefore machine code is kept in a folder named after the digest of the
project's code (`astraea.core.source`) and the version of numba.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar

import numba
import numpy as np
from numba import types
from numba.core import cgutils, event
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    overload,
    register_model,
    typeof_impl,
    unbox,
)
from numba.misc.appdirs import AppDirs
from numba.np import arrayobj

from astraea.core import source
from astraea.core.units import DAY

T = TypeVar("T")

MONTH: Final = 30 * DAY
"""Machine code that no process has asked for in this time is removed [s]."""

_OURS: Final = re.compile(r"\w+-[0-9a-f]{16}")
"""Names of our folders: a package and a digest."""


@cache
def _home() -> Path | None:
    """Find a writable folder for all machine code; None if the user's cache is read-only."""
    named = numba.config.CACHE_DIR  # other programs may use it, too
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
    """Make a folder of machine code, or mark it as used; remove our folders that were not used for a month."""
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


def _name(module: str) -> str:
    """Return the name of the folder of a module's machine code."""
    digest = sha256(f"{source.digest(module)} {numba.__version__}".encode()).hexdigest()
    return f"{module.partition('.')[0]}-{digest[:16]}"


def compiled(function: Callable[..., Any], *, inline: bool = False) -> Any:
    """Compile a function with `numba.njit`; under NUMBA_DISABLE_JIT=1 it stays plain Python.

    Machine code of the project's functions is cached on disk; each process compiles functions from elsewhere, such as a
    policy in a notebook, anew. With `inline` the function is always inlined into its callers.
    """
    options = {"error_model": "numpy", "forceinline": inline}
    module, home = function.__module__, _home()
    if home is None or not source.is_ours(module, function.__code__.co_filename):
        return numba.njit(**options)(function)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_folder(home, _name(module)))
    try:  # numba reads the name of the folder when it makes the function
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = before


def inlined(function: Callable[..., Any]) -> Any:
    """`compiled`, always inlined into its callers: for the parts of the simulator's loop."""
    return compiled(function, inline=True)


@contextmanager
def announced(what: str) -> Iterator[None]:
    """Say on the standard error stream that numba compiles `what`, when it really begins to, and not if it is loaded.

    Worker processes say nothing; the process that started them does (`astraea.experiments.cache`).
    """
    if is_silent:
        yield
        return
    with event.install_listener("numba:compile", _Listener(what)):
        yield


is_silent = False
"""True in a worker process."""


class _Listener(event.Listener):  # type: ignore[misc]
    def __init__(self, what: str) -> None:
        self.what = what

    def on_start(self, _: Any) -> None:
        if self.what:
            print(f"compiling {self.what}: about a minute, only once", file=sys.stderr, flush=True)
        self.what = ""

    def on_end(self, _: Any) -> None:
        pass


class Reference(types.Type):  # type: ignore[misc]
    """Type of a state in compiled functions: a pointer to its (nested) tuple of arrays."""

    def __init__(self, state: Any) -> None:
        self.state = state
        digest = sha256(str(state).encode()).hexdigest()[:8]  # the types of all arrays would make symbols long
        super().__init__(name=f"{type(self).__name__}({state.instance_class.__name__}_{digest})")

    @property
    def scalars(self) -> Any:
        """Type of the only record of its first array (see `with_scalars`); None if that has no records."""
        return getattr(self.state.types[0], "dtype", None)


class Handed(Reference):
    """Type of a state that Python hands over. To take one apart, in every function, would take too long to compile."""


@register_model(Reference)
@register_model(Handed)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, manager.lookup(kind.state).get_value_type().as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Reference

    def generic_resolve(self, kind: Any, name: str) -> Any:
        if name in kind.state.fields:
            field = kind.state.types[kind.state.fields.index(name)]
            return Reference(field) if isinstance(field, types.BaseTuple) else field
        if name in getattr(kind.scalars, "fields", ()):
            return kind.scalars.typeof(name)
        return None  # numba then reports it, with the line


@lower_getattr_generic(Reference)
def _get(context: Any, builder: Any, kind: Any, place: Any, name: str) -> Any:
    if name not in kind.state.fields:
        record = _scalars(context, builder, kind, place)
        return context.get_getattr(kind.scalars, name)(context, builder, kind.scalars, record, name)
    position = kind.state.fields.index(name)
    field, there = kind.state.types[position], cgutils.gep_inbounds(builder, place, 0, position)
    if isinstance(field, types.BaseTuple):
        return there
    array = context.make_array(field)(context, builder, value=builder.load(there))
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    return array._getvalue()


@lower_setattr_generic(Reference)
def _set(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> Any:
    (kind, value), (place, new) = signature.args, arguments
    into = signature.replace(args=(kind.scalars, value))
    return context.get_setattr(name, into)(builder, (_scalars(context, builder, kind, place), new))


def _scalars(context: Any, builder: Any, kind: Any, place: Any) -> Any:
    """Return the pointer to the record of the first array."""
    first = cgutils.gep_inbounds(builder, place, 0, 0)
    return context.make_array(kind.state.types[0])(context, builder, ref=first).data


@unbox(Handed)
def _unbox(kind: Any, value: Any, c: Any) -> Any:
    native = c.unbox(kind.state, value)

    def release() -> None:
        c.context.nrt.decref(c.builder, kind.state, native.value)

    return NativeValue(cgutils.alloca_once_value(c.builder, native.value), native.is_error, release)


def _borrowed(context: Any, state: Any) -> Any:
    if isinstance(state, Reference):
        return Reference(state.state)(state), lambda _, builder, __, values: values[0]
    return Reference(state)(state), lambda _, builder, __, values: cgutils.alloca_once_value(builder, values[0])


borrowed = (lambda state: state) if numba.config.DISABLE_JIT else intrinsic(_borrowed)
"""In a compiled function that Python calls: the state to pass to the functions that it calls; it has the same fields.

numba passes a tuple field by field and counts references to every array in it. For a state of some twenty arrays this
takes longer, to run and to compile, than the work of a short function.
"""


def with_scalars(state: type[T]) -> type[T]:
    """Decorate a NamedTuple of arrays whose first is one record: compiled functions read and set its fields, too.

    They are attributes of the state, as in ``s.now = 0.0``. The class has to make them so in Python.
    """

    @typeof_impl.register(state)
    def kind(value: Any, context: Any) -> Any:
        return Handed(types.BaseTuple.from_types([typeof_impl(field, context) for field in value], state))

    return state


def records_in(memory: Any, dtype: np.dtype[Any]) -> Any:
    """Return bytes as records, which share them; in compiled functions ``memory.view(dtype)`` takes much longer."""
    return memory.view(dtype)


@intrinsic
def _records_in(context: Any, memory: Any, dtype: Any) -> Any:
    records = types.Array(dtype.dtype, 1, "C")

    def code(context: Any, builder: Any, _: Any, values: Any) -> Any:
        given = context.make_array(memory)(context, builder, value=values[0])
        made = context.make_array(records)(context, builder)
        size = context.get_constant(types.intp, dtype.dtype.size)
        number = builder.udiv(given.nitems, size)
        data = builder.bitcast(given.data, made.data.type)
        arrayobj.populate_array(made, data, [number], [size], size, given.meminfo)
        return impl_ret_borrowed(context, builder, records, made._getvalue())

    return records(memory, dtype), code


@overload(records_in)
def _in_compiled_functions(memory, dtype):  # type: ignore[no-untyped-def]
    return lambda memory, dtype: _records_in(memory, dtype)
