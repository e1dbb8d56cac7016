"""Files that are whole or not there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from astraea.errors import InputError


def publish(path: Path, content: bytes | str) -> None:
    """Write a file in one step, with the folders above it: whoever looks sees the old content or the new.

    Raises
    ------
    InputError
        If it cannot be written; what stood at `path` is untouched then.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as err:
        raise InputError(f"{path}: cannot be written ({err.strerror or err})") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
