"""Letters of a figure that is complete: labels that fit their panels, and one minus sign."""

from __future__ import annotations

import re

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from astraea.plots import style
from papers.charts.wrapping import even_lines, letters


def lettered(fig: Figure) -> None:
    """Break the label of each axis that is longer than its panel, and write minus signs as ticks have them."""
    with style():
        for text in fig.findobj(Text):
            text.set_text(re.sub(r"(?<![\w)])-(?=\d)", "\N{MINUS SIGN}", text.get_text()))
        for direction in ("y", "x"):  # a label of two lines leaves less width to its panel
            fig.draw_without_rendering()
            for ax in fig.axes:
                if ax.axison and ax.get_visible():
                    _fit(ax, direction)


def _fit(ax: Axes, direction: str) -> None:
    """Break the label of an axis into even lines if it is longer than that axis."""
    label, size = (ax.yaxis.label, "height") if direction == "y" else (ax.xaxis.label, "width")
    there, needed = getattr(ax.bbox, size), getattr(label.get_window_extent(), size)
    if needed > there:
        longest = max(map(letters, label.get_text().split("\n")))
        label.set_text(even_lines(label.get_text().replace("\n", " "), int(longest * there / needed)))
