"""Files that are whole or not there."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from astraea.core.errors import InputError


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write a file in one step, with the folders above it; if it cannot be, `InputError`, and nothing has changed."""
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        temporary = Path(name)
        with open(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as err:
        raise InputError(f"{path}: cannot be written ({err.strerror or err})") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


@contextmanager
def publishing(folder: str | Path) -> Iterator[Path]:
    """Give a temporary folder to write into, which becomes `folder` when all went well, and vanishes if not.

    If `folder` is there already, each file in it is replaced in one step, a folder in two, and others are left alone.
    `InputError` if it cannot be made or written; at the start where that can be known then.
    """
    target = Path(folder)
    above = target if target.exists() else next(p for p in target.absolute().parents if p.exists())
    if not above.is_dir():
        raise InputError(f"{target}: {'it' if above == target else above} is not a folder")
    work: Path | None = None
    try:
        work = Path(tempfile.mkdtemp(prefix=".astraea-", dir=above))
        yield work
        if target.exists():
            for file in sorted(work.iterdir()):
                if (target / file.name).is_dir():
                    shutil.rmtree(target / file.name)
                os.replace(file, target / file.name)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            work.chmod(0o755)
            work.rename(target)
    except OSError as err:
        if err.errno == errno.ENOSPC:
            raise InputError(f"{target}: no space left on the disk; free some and try again") from None
        raise InputError(f"{target}: cannot be written ({err.strerror or err})") from None
    finally:
        if work is not None:
            shutil.rmtree(work, ignore_errors=True)
