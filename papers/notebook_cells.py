"""The cells of a notebook."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from astraea.core.errors import InputError


class Cell(NamedTuple):
    """A cell as far as it decides something."""

    cell_type: str
    source: str
    tags: tuple[str, ...]


def read(path: Path) -> tuple[Cell, ...]:
    """Read the cells of a notebook of version 4; `InputError` if it is none.

    nbformat does that too, but takes a second to import.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["nbformat"] != 4:
            raise ValueError(f"version {content['nbformat']} instead of 4")
        return tuple(
            Cell(cell["cell_type"], "".join(cell["source"]), tuple(cell["metadata"].get("tags", ())))
            for cell in content["cells"]
        )
    except (OSError, UnicodeDecodeError, ValueError, LookupError, TypeError, AttributeError) as err:
        raise InputError(f"{path}: not a notebook that can be read ({str(err).splitlines()[0]})") from None
