"""Where the real workloads are: the table ``sources.toml`` of addresses, checksums and forms, as objects."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, Final

from astraea.core.errors import InputError
from astraea.traces.readers.shares import read_shares
from astraea.traces.readers.table import read_text


@dataclass(frozen=True)
class File:
    """One file to download; a checksum is empty where the source publishes none."""

    path: str
    sha256: str = ""
    git_blob: str = ""

    @property
    def name(self) -> str:
        """The file's own name."""
        return PurePosixPath(self.path).name


@dataclass(frozen=True)
class Source:
    """What can be fetched under one name; the head of ``sources.toml`` says what each field is."""

    title: str
    files: tuple[File, ...]
    holds: tuple[str, ...]
    keep: tuple[str, ...] = ()
    host: str = "https://raw.githubusercontent.com"
    size: int = 0
    shares: str = ""
    tenants: str = ""
    workloads: Mapping[str, str] = field(default_factory=dict)

    def check(self, folder: Path) -> None:
        """Raise `InputError` unless everything is in a finished folder and has the right form."""
        missing = [name for name in self.holds if not (folder / name).is_file()]
        if missing:
            raise InputError(f"the download does not hold {', '.join(missing)}")
        if self.shares:
            named = read_shares(folder / self.shares)
            if named is None or set(named.weight) != set(read_text(folder / self.tenants).split()):
                raise InputError(f"{self.shares}: the tenants must be those of {self.tenants}, each once")


def git_blob(path: Path) -> str:
    """Return the id that git gives a file: SHA-1 of `blob <length>`, a zero byte, and the content."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _source(entry: dict[str, Any]) -> Source:
    lists: dict[str, Any] = {key: tuple(entry[key]) for key in ("holds", "keep") if key in entry}
    return Source(**(entry | lists | {"files": tuple(File(**file) for file in entry["files"])}))


SOURCES: Final[Mapping[str, Source]] = MappingProxyType(
    {
        name: _source(entry)
        for name, entry in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
    }
)
"""Everything that `fetch` knows, by name."""
