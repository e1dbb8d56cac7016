"""Workloads that can be downloaded, their public homes, and checks that a file is the right one."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from astraea.core.errors import InputError
from astraea.traces.readers.shares import read_shares
from astraea.traces.readers.table import read_text

RAW: Final = Path("data/raw")
"""Default folder of downloads."""

@dataclass(frozen=True)
class File:
    """A file to download; a checksum is empty if the source publishes none."""

    path: str
    sha256: str = ""
    git_blob: str = ""

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return PurePosixPath(self.path).name

    def has_blob(self, path: Path) -> bool:
        """Return whether a file has the published git object id; true if none is published."""
        if not self.git_blob:
            return True
        content = path.read_bytes()
        return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == self.git_blob


@dataclass(frozen=True)
class Source:
    """A download; the head of ``sources.toml`` describes each field."""

    title: str
    files: Sequence[File]
    holds: Sequence[str]
    keep: Sequence[str] = ()
    host: str = "https://raw.githubusercontent.com"
    size: int = 0
    untried: bool = False
    by_hand: str = ""
    shares: str = ""
    tenants: str = ""
    members: Mapping[str, str] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)
    workloads: Mapping[str, str] = field(default_factory=dict)
    part: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    ties: Sequence[Sequence[int]] = ()

    def check(self, folder: Path) -> None:
        """Raise `InputError` unless a finished folder is complete and in the right format."""
        missing = [name for name in self.holds if not any(folder.glob(name))]
        if missing:
            raise InputError(f"the download does not contain {', '.join(missing)}")
        for name, sha256 in self.members.items():
            if hashlib.sha256((folder / name).read_bytes()).hexdigest() != sha256:
                raise InputError(f"{name}: the content does not match its SHA-256")
        if self.shares:
            if set(read_shares(folder / self.shares) or ()) != set(read_text(folder / self.tenants).split()):
                raise InputError(f"{self.shares}: the tenants must be those of {self.tenants}, each once")


SOURCES: Final = {
    name: Source(**(entry | {"files": [File(**file) for file in entry["files"]]}))
    for name, entry in tomllib.loads(Path(__file__).with_name("sources.toml").read_text("utf-8")).items()
}
"""Everything that `fetch` can download, by name."""
