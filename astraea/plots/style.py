"""How every figure looks: one order and one palette of schedulers, one style.

Colours are Okabe and Ito's colour-blind safe set; line styles, markers and hatches tell the schedulers apart in grey
print. A variant of a scheduler has its hue and is dashed.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import matplotlib.pyplot as plt
from matplotlib import rc_params_from_file
from matplotlib.axes import Axes
from matplotlib.figure import Figure


class Look(NamedTuple):
    """Colour, line and filling of one curve or bar; `label` is its name in the papers."""

    label: str
    color: str
    line: Any = "-"
    width: float = 1.5
    hatch: str = ""
    marker: str = "o"


_listed = tomllib.loads(Path(__file__).with_name("looks.toml").read_text(encoding="utf-8"))
for _entry in _listed.values():
    if isinstance(_dashes := _entry.get("line"), list):  # lengths of dashes and gaps
        _entry["line"] = (0, tuple(_dashes))

LOOKS: Final = {name: Look(**entry) for name, entry in _listed.items()}
"""Looks by name, in the order in which every figure and table shows them."""

REFERENCE: Final[dict[str, Any]] = {"color": "#444444", "linewidth": 0.8, "linestyle": (0, (2, 2)), "zorder": 1}
"""How a line that marks a value is drawn."""

SETTINGS: Final[dict[str, Any]] = {
    str(name): value
    for name, value in rc_params_from_file(
        Path(__file__).with_name("astraea.mplstyle"), use_default_template=False
    ).items()
}
"""matplotlib's settings for every figure, `rcParams`."""

OTHERS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#000000", "#F0E442", "#D55E00")
LINES: Final = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 3)), (0, (8, 2)))
"""Colours and lines of what is not among `LOOKS`, by its position."""


def ordered(names: Iterable[Any]) -> list[Any]:
    """Distinct names: the known ones in the order of `LOOKS`, then the others as they come."""
    seen = list(dict.fromkeys(names))
    return [n for n in LOOKS if n in seen] + [n for n in seen if n not in LOOKS]


def look(name: Any, position: int = 0) -> Look:
    """Look of a scheduler or state; what is not known gets the colour of its position."""
    if name in LOOKS:
        return LOOKS[name]
    k = position % len(OTHERS)
    return Look(str(name), OTHERS[k], LINES[k], 1.6, "", "osv^DPXd"[k])


@contextmanager
def style() -> Iterator[None]:
    """Every figure's settings, for the time of a `with` block; nothing of the caller's settings is changed."""
    with plt.style.context(["default", SETTINGS]):
        yield


def panels(columns: int = 1, rows: int = 1, width: float = 3.6, height: float = 2.6) -> tuple[Figure, Any]:
    """Make a figure in the project's style; `width` and `height` are those of one panel [inch].

    Returns
    -------
    Figure, and one Axes or an array of Axes, flat, row by row
    """
    with style():
        fig, axes = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False)
    return fig, axes.ravel() if axes.size > 1 else axes[0, 0]


def legend(fig: Figure, columns: int = 0) -> None:
    """One legend above all panels: every name once, in the order of `LOOKS`."""
    handles: dict[str, Any] = {}
    for ax in fig.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    place = {known.label: i for i, known in enumerate(LOOKS.values())}
    labels = sorted(handles, key=lambda x: place.get(x, len(place)))
    rows = math.ceil(len(labels) / max(1, int(fig.get_figwidth() / 1.4)))
    with style():
        fig.legend(
            [handles[x] for x in labels],
            labels,
            loc="outside upper center",
            ncols=columns or math.ceil(len(labels) / max(rows, 1)),
        )


def mark_line(ax: Axes, value: float, text: str, *, vertical: bool = True) -> None:
    """Draw a thin reference line with its meaning beside it."""
    (ax.axvline if vertical else ax.axhline)(value, **REFERENCE)
    at = ("data", "axes fraction")
    place: dict[str, Any] = {"xy": (value, 1.0), "xycoords": at, "xytext": (2, -2), "va": "top"}
    if not vertical:
        place = {"xy": (1.0, value), "xycoords": at[::-1], "xytext": (3, 0), "va": "center"}
    ax.annotate(
        text, textcoords="offset points", fontsize=7.5, color=REFERENCE["color"], annotation_clip=False, **place
    )  # fmt: skip


def title(ax: Axes, text: str) -> None:
    """Write a panel's title."""
    with style():
        ax.set_title(text)
