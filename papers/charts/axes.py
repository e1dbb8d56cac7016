"""Panels, legends and the words at axes: one name and one unit for each quantity."""

from __future__ import annotations

import math
import textwrap
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from astraea.core.units import DAY, HOUR, MINUTE
from astraea.core.wording import SECONDS, duration_text, unit_for
from astraea.plots import LOOKS, look, style
from papers.charts.wrapping import even_lines, legend_width

REFERENCE: Final[dict[str, Any]] = {"color": "#444444", "linewidth": 0.8, "linestyle": (0, (2, 2)), "zorder": 1}
"""Style of a line that marks a value."""

BEHIND: Final[dict[str, Any]] = {"facecolor": "white", "edgecolor": "none", "pad": 1}
"""White behind a text that lies on lines."""

HEADLINE: Final[dict[str, Any]] = {"size": 10.5, "weight": "bold"}
"""Font of a picture's title."""

_LISTED: Final = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
WORDS: Final[dict[str, tuple[str, str]]] = {name: (word, unit) for name, (word, unit) in _LISTED.items()}
"""Column of a table -> its name in a figure, and its unit. `share` is a number in [0, 1], shown in percent; `s` is a
time in s, shown in the unit that suits it; `h` is a time in s that is always shown in hours."""

WIDTH: Final = 7.0
"""Width of a page's text [inch]; no picture is wider, so that its letters keep their size in print."""

_MARKS: Final = (1, 10, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY)  # of a logarithmic time axis [s]


def panels(columns: int = 1, rows: int = 1, width: float = 3.6, height: float = 2.6) -> tuple[Figure, Any]:
    """Make a figure, with one Axes or an array of them, flat, row by row; `width` and `height` are of one panel [inch].

    One that would be wider than the page becomes smaller as a whole, its letters do not.
    """
    part = min(1.0, WIDTH / (width * columns))
    with style():
        fig, axes = plt.subplots(rows, columns, figsize=(part * width * columns, part * height * rows), squeeze=False)
    return fig, axes.ravel() if axes.size > 1 else axes[0, 0]


def legend(fig: Figure, columns: int = 0, headline: str = "", axes: Sequence[Axes] | None = None) -> Figure:
    """Draw one legend above all panels, every name once, in the order of `LOOKS`, with a `headline` over it.

    It has what is drawn in `axes`, by default in all. A long headline is wrapped into even lines, but not between a
    number and its unit. Labels say which axes are logarithmic or cut. Returns the figure, which is then complete.
    """
    announce_scales(fig)
    headline = "\n".join(even_lines(line, int(11 * fig.get_figwidth())) for line in headline.split("\n"))
    handles: dict[str, Any] = {}
    for ax in fig.axes if axes is None else axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    place = {known.label: i for i, known in enumerate(LOOKS.values())}
    labels = sorted(handles, key=lambda x: place.get(x, len(place)))
    if not labels:
        fig.suptitle(headline, **HEADLINE)
        return fig
    with style():
        rows = math.ceil(len(labels) / max(1, int(fig.get_figwidth() / 1.4)))
        columns = columns or math.ceil(len(labels) / rows)
        while columns > 1 and legend_width(labels, columns) > fig.get_figwidth():
            columns -= 1
        drawn = fig.legend([handles[x] for x in labels], labels, loc="outside upper center", ncols=columns,
                           title=headline or None, title_fontproperties=HEADLINE)  # fmt: skip
        drawn.get_title().set_multialignment("center")
    return fig


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


def named_line(ax: Axes, value: float, text: str, dashes: tuple[float, ...] = (2, 2), *, vertical: bool = True) -> None:
    """Draw a thin reference line that the legend names."""
    drawing = REFERENCE | {"linestyle": (0, dashes), "label": text, "linewidth": 1.1}
    (ax.axvline if vertical else ax.axhline)(value, **drawing)


def footnote(fig: Figure, text: str) -> None:
    """Write a note on all panels below them."""
    with style():
        lines = (textwrap.fill(line, int(17 * fig.get_figwidth())) for line in text.split("\n"))
        fig.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=7.5, color=REFERENCE["color"])


def title(ax: Axes, text: str, below: str = "") -> None:
    """Write a panel's title, and smaller lines below it."""
    with style():
        ax.set_title(text + "\n" * len(below.splitlines()))
        if below:
            ax.annotate(below, (0.5, 1), (0, 5), xycoords="axes fraction", textcoords="offset points", ha="center",
                        fontsize=8)  # fmt: skip


def titles(axes: Iterable[Axes], *texts: str) -> None:
    """Write the title of each panel."""
    for ax, text in zip(axes, texts, strict=True):
        title(ax, text)


def name_values(ax: Axes, values: Iterable[float], *, vertical: bool = False) -> None:
    """Label some values of a logarithmic axis, and no others."""
    marks = list(values)
    (ax.set_yticks if vertical else ax.set_xticks)(marks, [f"{mark:,.10g}" for mark in marks])
    ax.minorticks_off()


def named(column: str) -> tuple[str, str]:
    """Return the name of a column in a figure, and its unit."""
    return WORDS.get(column, (str(column).replace("_", " ").capitalize(), ""))


def name_axis(axis: Axis, column: str, *, log: bool = False) -> None:
    """Write a quantity and its unit at an axis, and set ticks that a person reads: times in s, min, h, d."""
    word, unit = named(column)
    low, high = sorted(axis.get_view_interval())
    if unit in ("s", "h") and log:
        all_marks = _MARKS if unit == "s" else [d * 10.0**k * HOUR for k in range(-2, 6) for d in (1, 2, 5)]
        marks = [m for m in all_marks if low <= m <= high]
        axis.set_major_locator(FixedLocator(marks[:: max(1, -(-len(marks) // 6))]))
        axis.set_minor_locator(NullLocator())
        if unit == "s":
            axis.set_major_formatter(FuncFormatter(lambda value, _: duration_text(value).replace(" ", "\u2009")))
            unit = ""  # it stands at every tick
        else:
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / HOUR:,.6g}"))
    elif unit in ("s", "h"):
        unit = unit_for(high) if unit == "s" else unit
        scale = SECONDS[unit]
        steps = MaxNLocator(8, steps=[1, 2, 3, 5, 10] if unit == "h" else [1, 2, 5, 10]).tick_values(
            max(low, 0.0) / scale, high / scale
        )
        axis.set_major_locator(FixedLocator([float(t) * scale for t in steps if low <= t * scale <= high]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / scale:,.6g}"))
    elif log:
        log_ticks(axis, 100.0 if unit == "share" else 1.0)
    elif unit == "share":
        axis.set_major_formatter(FuncFormatter(lambda value, _: FuncFormatter.fix_minus(f"{100 * value:.4g}")))
    unit = "%" if unit == "share" else unit
    axis.set_label_text(f"{word} [{unit}]" if unit else word)
    if log:
        announce_log(axis)


def announce_log(axis: Axis) -> None:
    """Say in an axis' label that its scale is logarithmic."""
    axis.set_label_text(f"{axis.get_label_text()} (log scale)")


def announce_scales(fig: Figure) -> None:
    """Say in the labels which axes are logarithmic, and which vertical ones do not begin at 0."""
    for ax in (ax for ax in fig.axes if ax.get_label() != "<colorbar>"):
        for axis in (ax.xaxis, ax.yaxis):
            text = axis.get_label_text()
            low = min(axis.get_view_interval())
            is_cut = axis is ax.yaxis and axis.get_scale() == "linear" and low > 0 and not _is_minus(axis, low)
            said = "log scale" if axis.get_scale() == "log" else "axis cut" if is_cut else ""
            if text and said and said not in " ".join(text.split()):
                letters = 14 * ax.get_position().width * fig.get_figwidth()  # that fit below the panel
                gap = "\n" if axis is ax.yaxis or len(text) + len(said) + 3 > letters else " "
                axis.set_label_text(f"{text}{gap}({said})")


def _is_minus(axis: Axis, value: float) -> bool:
    """Return true for a value that is shown with a minus sign, as a ratio below 1 is on an axis of changes."""
    return axis.get_major_formatter().format_ticks([value])[0].startswith(("-", "\N{MINUS SIGN}"))


def announce_cut(axis: Axis) -> None:
    """Say in an axis' label that its scale begins above 0, if it does."""
    if min(axis.get_view_interval()) > 0:
        axis.set_label_text(f"{axis.get_label_text()} (axis cut)")


def log_ticks(axis: Axis, factor: float = 1.0) -> None:
    """Set ticks that a person reads, more of them for few powers of ten; `factor` is that to the unit that is shown."""
    low, high = sorted(axis.get_view_interval())
    subs = (1, 2, 3, 5, 7) if high < 8 * low else (1, 2, 5) if high < 100 * low else (1,)
    axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]) if high < 3 * low else LogLocator(subs=subs, numticks=5))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _short(factor * value)))
    axis.set_minor_formatter(NullFormatter())


def _short(value: float) -> str:
    """Write a number shortly enough for an axis of many decades: 1,000, 100,000, 1M."""
    return f"{value / 1e6:,.10g}M" if value >= 1e6 else f"{value:,.10g}"


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
    ax.set_xlabel(f"{word} [{unit}]" if unit else word)
