"""What the axes of figures say: one word and one unit for every quantity, and ticks that a person reads."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from astraea.plots.style import LOOKS, look

with Path(__file__).with_name("words.toml").open("rb") as _file:
    WORDS: Final[dict[str, tuple[str, str]]] = {
        name: (word, unit) for name, (word, unit) in tomllib.load(_file).items()
    }
"""Column of a table -> its name in a figure, and its unit; `share` is a number in [0, 1] that is shown in percent."""

SECONDS: Final = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_MARKS: Final = (1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400)  # of a logarithmic time axis [s]


def duration_text(seconds: float) -> str:
    """Write a time in the largest unit that it fills: 90 -> ``1.5 min``."""
    unit = next((u for u in ("d", "h", "min") if abs(seconds) >= SECONDS[u]), "s")
    return f"{seconds / SECONDS[unit]:.3g} {unit}"


def named(column: str) -> tuple[str, str]:
    """What a column is called in a figure, and its unit."""
    return WORDS.get(column, (str(column).replace("_", " ").capitalize(), ""))


def with_unit(word: str, unit: str) -> str:
    """Write a quantity and its unit."""
    return f"{word} [{unit}]" if unit else word


def name_axis(axis: Axis, column: str, *, log: bool = False) -> None:
    """Write a quantity and its unit at an axis, and set ticks that a person reads: times in s, min, h, d."""
    word, unit = named(column)
    low, high = sorted(axis.get_view_interval())
    if unit == "s" and log:
        marks = [m for m in _MARKS if low <= m <= high]
        marks = marks[:: -(-len(marks) // 6)] if marks else []
        axis.set_major_locator(FixedLocator(marks))
        axis.set_major_formatter(FixedFormatter([duration_text(m).replace(" ", "\u2009") for m in marks]))
        axis.set_minor_locator(NullLocator())
        unit = ""  # it stands at every tick
    elif unit == "s":
        unit = next((u for u in ("d", "h", "min") if high >= 2 * SECONDS[u]), "s")
        scale = SECONDS[unit]
        steps = MaxNLocator(8, steps=[1, 2, 3, 5, 10] if unit == "h" else [1, 2, 5, 10]).tick_values(
            max(low, 0.0) / scale, high / scale
        )
        axis.set_major_locator(FixedLocator([float(t) * scale for t in steps if low <= t * scale <= high]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / scale:g}"))
    elif unit == "share":
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.4g}"))
        unit = "%"
    elif log:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator() if high / max(low, 1e-12) > 30 else axis.get_minor_locator())
        axis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    axis.set_label_text(with_unit(word, unit))


def name_ticks(ax: Axes, column: str, values: Sequence[Any]) -> None:
    """Label the positions 0, 1, 2, ... of a horizontal axis with these values, times in minutes, and name the axis."""
    word, unit = named(column)
    if unit == "s":
        texts, unit = [f"{v / 60:g}" for v in values], "min"
    else:
        texts = [f"{v:g}" if isinstance(v, (int, float, np.number)) else look(v).label for v in values]
    slanted = len(values) > 4 and values[0] in LOOKS
    ax.set_xticks(range(len(values)), texts if slanted else [text.replace(" (", "\n(") for text in texts])
    if slanted:
        for label in ax.get_xticklabels():
            label.set(rotation=35, ha="right", rotation_mode="anchor")
    ax.set_xlabel(with_unit(word, unit))
