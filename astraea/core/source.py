"""The digest of the project's source code: a result or machine code is reused only if it was made by the same code.

The digest of a module covers the files of all folders that simulate, and of the module's own part of its package: for
``papers.gavel.simulate`` the modules directly in ``papers``, and everything in ``papers/gavel``. Any edit of these
files changes the digest, that of a comment too.
"""

from __future__ import annotations

import sys
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
"""Folder that contains the package; in a checkout, also the packages beside it."""

IS_CHECKOUT: Final = (ROOT / "pyproject.toml").is_file()

PACKAGES: Final = ("astraea", "astraea_ops", *(("papers", "verification") if IS_CHECKOUT else ()))
"""Packages of the project; the digest covers their code, while the code of all others is the user's or a library's."""

SIMULATING: Final = ("core", "traces", "cluster", "estimation", "experiments/archive.py")
"""Parts of `astraea` that determine the result of every simulation."""

_KINDS: Final = (".csv", ".json", ".py", ".toml")


@cache
def digest(module: str) -> str:
    """Return the SHA-256 of the code that a module of the project computes with, as it was when first asked for."""
    return _read(module)


def is_unchanged(module: str) -> bool:
    """Return whether the files are still what this process runs, and not edited since."""
    return digest(module) == _read(module)


def _read(module: str) -> str:
    package, part, *_ = (*module.split("."), "")
    files = [file for place in SIMULATING for file in _files(ROOT / "astraea" / place)]
    if (package, part) not in [("astraea", place) for place in SIMULATING]:
        files += [*_folder(package).glob("*.py"), *_files(_folder(package) / part)]
    h = sha256()
    for file in sorted({*files}):
        content = file.read_bytes()
        h.update(f"{file.name} {len(content)}\n".encode() + content)
    return h.hexdigest()


def is_ours(module: str, file: str) -> bool:
    """Return whether a module with this name and file belongs to the project."""
    package = module.partition(".")[0]
    return package in PACKAGES and package in sys.modules and Path(file).resolve().is_relative_to(_folder(package))


@cache
def _folder(package: str) -> Path:
    return Path(str(sys.modules[package].__file__)).resolve().parent


def _files(place: Path) -> list[Path]:
    """Return the files of a folder and of those below it, or one file, as far as they are code or its data."""
    return [place] if place.is_file() else [file for file in place.rglob("*") if file.suffix in _KINDS]
