"""How a package's compiled functions are kept: in a cache folder of their own, named after their source.

numba looks only at a function's own file when it decides whether a cached function is still good; a folder for each
version of the source makes it look at all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numba

import astraea.jit  # noqa: F401  chooses a writable cache folder


def compiler(package: Path, sources: Sequence[str]) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit` for the functions of a package, cached on disk; `sources` are the names of its compiled files."""
    h = hashlib.sha256()
    for name in sources:
        h.update((package / f"{name}.py").read_bytes())
    folder = f"{package.name}-{h.hexdigest()[:16]}"

    def compiled(function: Callable[..., Any]) -> Any:
        usual = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(Path(usual) / folder)
        try:
            return numba.njit(cache=True, error_model="numpy")(function)
        finally:
            numba.config.CACHE_DIR = usual

    return compiled
