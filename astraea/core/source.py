"""Digests of the project's source code: all that a module computes with, found through its imports.

The digest of a module covers

- its syntax tree without comments, docstrings and code for type checkers only;
- the data files in its folder whose names, or the ends of whose names, it contains as text;
- the digests of all modules of the project that it imports, at the top or inside a function.

The digest changes if and only if code that the module can reach changes its meaning. It does not contain the names of
files and modules: moving them, with the imports that name them, changes no digest. A package's ``__init__`` counts
where a name is imported from it, not because a module lies in the package.
"""

from __future__ import annotations

import ast
import os
import time
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from astraea.core.errors import InputError

ROOT: Final = Path(__file__).resolve().parents[2]
"""Folder that contains the package; in a checkout, also the packages beside it."""

STARTED: Final = time.time()
"""Time at which this process imported its first module [s since 1970]."""

_PROJECT: Final = (
    {path.parent.name for path in ROOT.glob("*/__init__.py")} if (ROOT / "pyproject.toml").is_file() else {"astraea"}
)
_DATA: Final = (".csv", ".jinja", ".json", ".mplstyle", ".toml")


class Source(NamedTuple):
    """All that a piece of code computes with."""

    digest: str  #: SHA-256
    files: frozenset[Path]  #: of the project, its own included
    libraries: frozenset[str]  #: top-level names of the packages outside the project that these import


class ChangedError(InputError):
    """A file changed after this process had started, so nothing that the process computes from now on can be cached."""


@cache
def of_module(name: str) -> Source:
    """Return the source that a module, such as ``astraea.core.random``, computes with.

    `RuntimeError` if its imports form a cycle.
    """
    path = _file(name)
    if path is None:
        raise ModuleNotFoundError(f"{name} is not a module of the project")
    if name in _open:
        raise RuntimeError(f"imports form a cycle: {' -> '.join((*_open[_open.index(name) :], name))}")
    _open.append(name)
    try:
        return _read(path.read_text(encoding="utf-8"), path, name)
    finally:
        _open.pop()


_open: list[str] = []


def of_modules(names: Iterable[str | None]) -> Source:
    """Return what several modules compute with, in any order; modules outside the project are ignored."""
    parts = [of_module(name) for name in sorted({name for name in names if name is not None and _file(name)})]
    return Source(
        sha256(" ".join(part.digest for part in parts).encode()).hexdigest(),
        frozenset(file for part in parts for file in part.files),
        frozenset(library for part in parts for library in part.libraries),
    )


def of_text(text: str) -> Source:
    """Return what a Python text computes with, such as the cells of a notebook."""
    return _read(text, None, "")


def of_file(path: Path) -> Source | None:
    """Return what a file computes with, also through a symbolic link; None if it is not a module of the project."""
    if not path.is_absolute():  # the name of a notebook cell, or empty
        return None
    path = _real(path)
    if not path.is_relative_to(ROOT):
        return None
    parts = path.relative_to(ROOT).with_suffix("").parts
    return of_module(".".join(parts)) if len(parts) > 1 and parts[0] in _PROJECT else None


@cache
def _real(path: Path) -> Path:
    """Return the real path of a file, comparable with `ROOT`."""
    return Path(os.path.realpath(path))


def refuse_changes(files: Iterable[Path]) -> None:
    """Raise `ChangedError` if one of these files changed after this process, which may run the old code, had started.

    The inode's change time is compared, because replacing a file with an older one changes it too.
    """
    for path in sorted(files):
        if not path.exists() or path.stat().st_ctime > STARTED:
            raise ChangedError(
                f"{path.relative_to(ROOT)} changed while this process ran, so its results may come from the old code; "
                "start it again (finished results are kept)"
            )


def _file(name: str) -> Path | None:
    """Return the file of a module of the project; None for other modules."""
    if name.partition(".")[0] not in _PROJECT:
        return None
    stem = ROOT.joinpath(*name.split("."))
    found = (stem.with_suffix(".py"), stem / "__init__.py")
    return next((path for path in found if path.is_file()), None)


def _read(text: str, path: Path | None, name: str) -> Source:
    reader = _Reader(name)
    words = list(reader.words(ast.parse(text)))
    files = {path} if path is not None else set()
    for data in _data_beside(path.parent) if path is not None else ():
        if any(data.name.endswith(end) for end in reader.ends):
            words += [data.name, sha256(data.read_bytes()).hexdigest()]
            files.add(data)
    digest = sha256("\0".join(words).encode()).hexdigest()
    return Source(
        digest,
        frozenset(files).union(*(found.files for found in reader.imported)),
        frozenset(reader.libraries).union(*(found.libraries for found in reader.imported)),
    )


def _data_beside(folder: Path) -> Iterator[Path]:
    """Yield the data files in a module's folder, and in folders below it that are not packages."""
    for path in sorted(folder.iterdir()):
        if path.suffix in _DATA:
            yield path
        elif path.is_dir() and not (path / "__init__.py").is_file():
            yield from _data_beside(path)


class _Reader:
    """Reader of a syntax tree: its words, imported modules of the project, other packages, names of data files."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.imported: list[Source] = []
        self.libraries: set[str] = set()
        self.ends: set[str] = set()

    def words(self, node: ast.AST) -> Iterator[str]:
        """Yield what determines the meaning of a tree, without defaults that differ between versions of Python."""
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from self._import(node)
                return
            case ast.Expr(value=ast.Constant(value=str())):  # a docstring
                return
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=rest):
                for part in rest:
                    yield from self.words(part)
                return
            case ast.JoinedStr(values=parts):  # Python 3.12 adds empty texts
                node = ast.JoinedStr([p for p in parts if not (isinstance(p, ast.Constant) and p.value == "")])
            case ast.Constant(value=str(text)) if text.endswith(_DATA):
                self.ends.add(text.rpartition("/")[2].lstrip("*"))
        yield type(node).__name__
        for field in node._fields:
            value = getattr(node, field, None)
            if value is None or value == [] or field in ("ctx", "kind", "type_comment", "type_ignores"):
                continue
            yield field
            for part in value if isinstance(value, list) else (value,):
                if isinstance(part, ast.AST):
                    yield from self.words(part)
                else:
                    yield repr(part)
        yield ")"

    def _import(self, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        for alias in node.names:
            places = [alias.name]
            if isinstance(node, ast.ImportFrom):
                origin = "." * node.level + (node.module or "")
                places = [f"{origin}.{alias.name}", origin]
            yield f"import {alias.asname or alias.name}"
            found = next((place for place in places if _file(place)), None)
            if found is None:
                self.libraries.add(places[-1].partition(".")[0])
                yield f"from {places[0]}"
            else:
                yield from self._take(found, alias.name, is_from=isinstance(node, ast.ImportFrom))

    def _take(self, place: str, name: str, *, is_from: bool) -> Iterator[str]:
        """Take in an imported module of the project, or a name imported from it."""
        lazy = _lazy_names(place)
        if not is_from and "." not in place:  # all of the package's public names; inside the project only its version
            wanted = [] if self.module else sorted({*lazy.values()})
        elif is_from and name in lazy:
            wanted = [lazy[name]]
        else:
            wanted = [place]
        if is_from and not place.endswith(f".{name}"):
            yield f"name {name}"
        for one in wanted:
            source = of_module(one)
            self.imported.append(source)
            yield source.digest


@cache
def _lazy_names(package: str) -> dict[str, str]:
    """Return the names that a package imports on first use, and their modules, from its TYPE_CHECKING block."""
    path = _file(package)
    if path is None or path.name != "__init__.py":
        return {}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body):
        return {}
    shown = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    return {
        alias.asname or alias.name: str(node.module)
        for block in shown for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }  # fmt: skip
