"""The look of each scheduler: its name in the papers, order, colour, line, hatching and mark.

Colours are Okabe and Ito's colour-blind safe set; line styles, markers and hatches tell the schedulers apart in grey
print. A variant of a scheduler has its hue and is dashed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple


class Look(NamedTuple):
    """Colour, line and filling of one curve or bar; `label` is its name in the papers."""

    label: str
    color: str
    line: Any = "-"
    width: float = 1.5
    hatch: str = ""
    marker: str = "o"
    face: str = ""  # of the mark, if it is not the colour
    is_scheduler: bool = True


def _look(line: Any = "-", **entry: Any) -> Look:
    return Look(**entry, line=line if isinstance(line, str) else (0, tuple(line)))  # lengths of dashes and gaps


_LISTED: Final = tomllib.loads(Path(__file__).with_name("looks.toml").read_text(encoding="utf-8"))

LOOKS: Final = {name: _look(**entry) for name, entry in _LISTED.items()}
"""Looks by name, in the order in which every figure and table shows them."""

OTHERS: Final = ("#004488", "#BB5566", "#DDAA33", "#6699CC", "#666666", "#EE99AA", "#997700", "#222222")
LINES: Final = ("-", "--", "-.", ":", (0, (3, 1, 1, 1, 1, 1)), (0, (5, 1)), (0, (1, 3)), (0, (8, 2)))
"""Colours and lines of what is not among `LOOKS`, by its position; no scheduler has them."""


def order(names: Iterable[Any]) -> list[Any]:
    """Return distinct names: the known ones in the order of `LOOKS`, then the others as they come."""
    seen = list(dict.fromkeys(names))
    return [n for n in LOOKS if n in seen] + [n for n in seen if n not in LOOKS]


def palette(names: Iterable[Any]) -> dict[Any, str]:
    """Return the colour of each name, as seaborn's ``palette``; the same in every figure for the known ones."""
    return {name: look(name, k).color for k, name in enumerate(names)}


def markers(names: Iterable[Any]) -> dict[Any, str]:
    """Return the mark of each name, as seaborn's ``markers``."""
    return {name: look(name, k).marker for k, name in enumerate(names)}


def look(name: Any, position: int = 0, bold: str = "") -> Look:
    """Return the look of a scheduler or state; what is not known gets the colour of its position.

    With `bold`, the one that a picture is about, its line is wide and solid, and all others are thin.
    """
    k = position % len(OTHERS)
    here = LOOKS.get(name, Look(str(name), OTHERS[k], LINES[k], 1.6, "", "osv^DPXd"[k]))
    if not bold:
        return here
    return here._replace(line="-", width=2.8) if name == bold else here._replace(width=min(here.width, 1.5))
