"""Take files out of an archive that may be damaged or hostile."""

from __future__ import annotations

import gzip
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from astraea.core.errors import InputError


def unpack(archive: Path, folder: Path, keep: tuple[str, ...]) -> None:
    """Take files out of a zip or tar archive, without its top folder.

    Parameters
    ----------
    archive : Path
        The archive; every member is checked, whether it is taken or not.
    folder : Path
        An existing folder; no member may lead out of it.
    keep : tuple of str
        Names of the files to take, in whatever folder of the archive they are.

    Raises
    ------
    InputError
        The archive is damaged, or a member is a link or device, or its path is absolute or goes up.
    """
    try:
        for member, content in _members(archive):
            parts = PurePosixPath(member).parts
            if member.startswith("/") or ".." in parts or "\\" in member or "\0" in member:
                raise InputError(f"{archive.name}: member {member!r} would leave the folder")
            if content is None or parts[-1] not in keep:
                continue
            path = folder.joinpath(*(parts[1:] or parts))
            path.parent.mkdir(parents=True, exist_ok=True)
            with content() as read, path.open("xb") as write:
                shutil.copyfileobj(read, write, 1 << 20)
    except (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(f"{archive.name}: the archive is damaged ({error})") from None


def _members(archive: Path) -> Iterator[tuple[str, Callable[[], IO[bytes]] | None]]:
    """Yield every member: its path, and how to open it (None for a folder)."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            for info in zipped.infolist():
                mode = info.external_attr >> 16
                if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
                    raise InputError(f"{archive.name}: member {info.filename!r} is no plain file")
                yield info.filename, None if info.is_dir() else lambda i=info: zipped.open(i)  # type: ignore[misc]
    else:
        with tarfile.open(archive) as tarred:
            for item in tarred:
                if not (item.isreg() or item.isdir()):
                    raise InputError(f"{archive.name}: member {item.name!r} is no plain file")
                yield item.name, None if item.isdir() else lambda i=item: tarred.extractfile(i)  # type: ignore[misc]
