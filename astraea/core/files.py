"""Atomic writes: a file is either complete or absent."""

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
    """Write a file in one step, with its parent folders; on failure `InputError`, and nothing changes."""
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
    """Provide a temporary folder to write into; it becomes `folder` on success and is removed on failure.

    If `folder` exists, each new file replaces its predecessor in one step, each subfolder in two, and all else stays.
    `InputError` if it cannot be made or written, raised at the start where that is known by then. A failure of another
    file names that file.
    """
    target = Path(folder)
    above = target if target.exists() else next(p for p in target.absolute().parents if p.exists())
    if not above.is_dir():
        raise InputError(f"{target}: {'it' if above == target else above} is not a folder")
    work: Path | None = None
    try:
        work = Path(tempfile.mkdtemp(prefix=".astraea-", dir=above))
        try:
            yield work
        except OSError as err:
            if isinstance(err.filename, str) and work not in Path(err.filename).parents:
                raise InputError(f"{err.filename}: {err.strerror}") from None
            raise
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
