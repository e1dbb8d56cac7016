"""Room in a picture: few ticks in narrow panels, and panels at fixed places for sliders."""

from __future__ import annotations

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator


def few_ticks(axis: Axis, most: int) -> None:
    """Leave out ticks evenly until at most so many are in view, for a panel that is too narrow for all; 0 stays."""
    low, high = sorted(axis.get_view_interval())
    marks = [float(mark) for mark in axis.get_majorticklocs() if low <= mark <= high]
    step = max(1, -(-len(marks) // most))
    start = marks.index(0.0) % step if 0.0 in marks else 0
    axis.set_major_locator(FixedLocator(marks[start::step]))


def quick(fig: Figure, **places: float) -> Figure:
    """Place the panels at fixed positions, and return the figure: a layout engine is too slow for a slider."""
    fig.set_layout_engine(None)
    fig.subplots_adjust(**{"left": 0.08, "right": 0.98, "bottom": 0.22, "top": 0.88, "wspace": 0.45, **places})
    return fig
