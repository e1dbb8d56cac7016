"""How compiled functions are made and where they are kept.

numba checks a cached function against its own file only, so a change in a function that was inlined into it would
go unnoticed. The cache folder therefore carries the digest of the source of the simulator.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import pooch


@cache
def source_digest() -> str:
    """SHA-256 over the names and contents of every Python file that a simulation runs."""
    root = Path(__file__).parent
    files = [*root.glob("engine/*.py"), *root.glob("policies/*.py")]
    files += [root / f"{name}.py" for name in ("cluster", "columns", "jit", "result", "simulate", "tables", "trace")]
    h = hashlib.sha256()
    for path in sorted(files, key=lambda p: p.relative_to(root).as_posix()):
        h.update(path.relative_to(root).as_posix().encode())
        h.update(path.read_bytes())
    return h.hexdigest()


def _cache_folder() -> str:
    """A writable folder for this version of the source; a temporary one where the user's cache is read-only."""
    folder = Path(pooch.os_cache("astraea")) / f"compiled-{source_digest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return str(folder)
    except OSError:
        return tempfile.mkdtemp(prefix="astraea-compiled-")


if not numba.config.CACHE_DIR:
    numba.config.CACHE_DIR = _cache_folder()


def compiled(function: Callable[..., Any]) -> Any:
    """`numba.njit`, cached on disk for functions that live in the package, plain Python under NUMBA_DISABLE_JIT=1."""
    in_package = Path(function.__code__.co_filename).is_relative_to(Path(__file__).parent)
    return numba.njit(cache=in_package, error_model="numpy", forceinline=True)(function)
