"""Digests of the project's source code: what a module computes with, found from its imports.

The digest of a module covers

- its syntax tree without comments, docstrings and what is for type checkers only;
- the files of data in its folder whose names, or the ends of whose names, it spells out;
- the digests of all modules of the project that it imports, at the top or inside a function.

So it moves if and only if code that the module can reach says something else. It does not contain the names of files
and modules: moving them, with the imports that name them, moves no digest. The ``__init__`` of a package counts where a
name is imported from it, not because a module lies in the package.
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
"""Folder of the package; in a checkout, of the packages beside it too."""

STARTED: Final = time.time()
"""When this process imported its first module [s since 1970]."""

_PROJECT: Final = (
    {path.parent.name for path in ROOT.glob("*/__init__.py")} if (ROOT / "pyproject.toml").is_file() else {"astraea"}
)
_DATA: Final = (".csv", ".jinja", ".json", ".mplstyle", ".toml")


class Source(NamedTuple):
    """What a piece of code computes with."""

    digest: str  #: SHA-256
    files: frozenset[Path]  #: of the project, its own included
    libraries: frozenset[str]  #: top-level names of the packages outside the project that these import


class ChangedError(InputError):
    """A file was changed after this process had started, so nothing that it computes from now on can be kept."""


@cache
def of_module(name: str) -> Source:
    """Return the source that a module, such as ``astraea.core.random``, computes with.

    `RuntimeError` if its imports form a circle.
    """
    path = _file(name)
    if path is None:
        raise ModuleNotFoundError(f"{name} is not a module of the project")
    if name in _open:
        raise RuntimeError(f"imports form a circle: {' -> '.join((*_open[_open.index(name) :], name))}")
    _open.append(name)
    try:
        return _read(_bytes(path).decode(), path, name)
    finally:
        _open.pop()


_open: list[str] = []
_seen: dict[Path, tuple[str, os.stat_result]] = {}
"""The digest of each file when this process read it, and its status, taken after that."""


def of_modules(names: Iterable[str | None]) -> Source:
    """Return what several modules compute with, in any order; one that is not of the project counts for nothing."""
    parts = [of_module(name) for name in sorted({name for name in names if name is not None and _file(name)})]
    return Source(
        sha256(" ".join(part.digest for part in parts).encode()).hexdigest(),
        frozenset(file for part in parts for file in part.files),
        frozenset(library for part in parts for library in part.libraries),
    )


def of_text(text: str) -> Source:
    """Return what a piece of Python text computes with, such as the cells of a notebook."""
    return _read(text, None, "")


def of_file(path: Path) -> Source | None:
    """Return what a file computes with, also one below a link; None if it is not a module of the project."""
    if not path.is_absolute():  # the name of a cell, or none
        return None
    path = _real(path)
    if not path.is_relative_to(ROOT):
        return None
    parts = path.relative_to(ROOT).with_suffix("").parts
    return of_module(".".join(parts)) if len(parts) > 1 and parts[0] in _PROJECT else None


@cache
def _real(path: Path) -> Path:
    """Return where a file lies, as `ROOT` is known."""
    return Path(os.path.realpath(path))


def refuse_changes(files: Iterable[Path]) -> None:
    """Raise `ChangedError` if one of these files was changed after this process had started, which may run the old one.

    The time at which the inode was changed is compared, as replacing a file by an older one changes it too. A backup by
    links, or another mode, changes that time alone: if the file was read before, it is compared with what was read.
    """
    for path in sorted(files):
        if not path.exists() or (path.stat().st_ctime > STARTED and not _says_the_same(path)):
            raise ChangedError(
                f"{path.relative_to(ROOT)} was changed while this process ran, so its results may belong to the code "
                "of before; start it again (what is finished is kept)"
            )


def _says_the_same(path: Path) -> bool:
    """Whether a file was read when it had not been changed since the start, and is not written since.

    The content alone would not do: a module may have been imported between an edit and its undoing.
    """
    if path not in _seen:
        return False
    content, status = _seen[path]
    is_written = status.st_ctime > STARTED or path.stat().st_mtime_ns != status.st_mtime_ns
    return not is_written and sha256(path.read_bytes()).hexdigest() == content


def _bytes(path: Path) -> bytes:
    """Read a file and remember it."""
    content = path.read_bytes()
    _seen[path] = sha256(content).hexdigest(), path.stat()
    return content


def _file(name: str) -> Path | None:
    """File of a module of the project."""
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
            words += [data.name, sha256(_bytes(data)).hexdigest()]
            files.add(data)
    digest = sha256("\0".join(words).encode()).hexdigest()
    return Source(
        digest,
        frozenset(files).union(*(found.files for found in reader.imported)),
        frozenset(reader.libraries).union(*(found.libraries for found in reader.imported)),
    )


def _data_beside(folder: Path) -> Iterator[Path]:
    """Yield the files of data in the folder of a module, and in folders below that are not packages."""
    for path in sorted(folder.iterdir()):
        if path.suffix in _DATA:
            yield path
        elif path.is_dir() and not (path / "__init__.py").is_file():
            yield from _data_beside(path)


class _Reader:
    """Reads a syntax tree: its words, the modules of the project that it imports, other packages, names of data."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.imported: list[Source] = []
        self.libraries: set[str] = set()
        self.ends: set[str] = set()

    def words(self, node: ast.AST) -> Iterator[str]:
        """Yield what decides the meaning of a tree; what Python's versions say by default in other ways is left out."""
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
            case ast.JoinedStr(values=parts):  # Python 3.12 adds empty texts to it
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
        """A module of the project is imported, or a name from it."""
        lazy = _lazy_names(place)
        if not is_from and "." not in place:  # all that its face names; inside the project that is its version only
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
    """Names that a package imports when they are asked for, and their modules: those it shows to type checkers."""
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
