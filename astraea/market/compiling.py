"""How this package's compiled functions are kept: in a cache folder of their own, named after their source.

numba looks only at a function's own file when it decides whether a cached function is still good; a folder for each
version of the source makes it look at all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

import astraea.jit  # noqa: F401  chooses a writable cache folder

SOURCES = ("compiling", "usage", "placement", "one_round")


@cache
def source_digest() -> str:
    """SHA-256 over the compiled files."""
    h = hashlib.sha256()
    for name in SOURCES:
        h.update((Path(__file__).parent / f"{name}.py").read_bytes())
    return h.hexdigest()


def compiled(function: Callable[..., Any]) -> Any:
    """`numba.njit`, cached on disk."""
    usual = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(Path(usual) / f"market-{source_digest()[:16]}")
    try:
        return numba.njit(cache=True, error_model="numpy")(function)
    finally:
        numba.config.CACHE_DIR = usual
