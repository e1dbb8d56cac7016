"""Ticks of a narrow panel."""

from __future__ import annotations

from matplotlib import pyplot as plt

from papers import charts
from papers.charts.axes import name_axis
from papers.layout import few_ticks


def test_ticks_in_a_narrow_panel_keep_their_numbers() -> None:
    fig, ax = charts.panels()
    ax.set_xlim(0, 10 * 3600)
    name_axis(ax.xaxis, "average_jct")
    few_ticks(ax.xaxis, 3)
    assert ax.xaxis.get_major_formatter().format_ticks(ax.get_xticks()) == ["0", "4", "8"]
    plt.close(fig)
