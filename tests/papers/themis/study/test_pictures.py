"""Pictures of Themis: what a paper printed stands in them, and Themis' line is the bold one."""

from __future__ import annotations

from math import inf

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from astraea.plots.style import LOOKS
from papers.themis.study.pictures import comparison, knob_and_lease, two_ideas

APPS = pd.DataFrame(
    [
        (scheduler, model, rho, 1.2 / rho)
        for scheduler in ("themis", "astraea", "tiresias", "strawman")
        for model, rho in (("vgg16", 0.8), ("resnet50", 1.0), ("inception-v3", 1.4))
    ],
    columns=["scheduler", "model", "finish_time_fairness", "rho_job"],
)


def line(ax: Axes, label: str) -> Line2D:
    [found] = [x for x in ax.lines if x.get_label() == label]
    return found


def test_published_values_of_fig_19_and_leases_that_end() -> None:
    """Lines at the paper's two numbers; leases without end have no place on the axis."""
    knob = pd.DataFrame({"f": [0.0, 0.8], "max_rho": [2.0, 1.3], "relative_gpu_time": [1.0, 1.1]})
    lease = pd.concat([knob.assign(scheduler=name, lease_term=[900.0, inf]) for name in ("themis", "strawman")])
    axes = knob_and_lease(knob, lease, 1.2, 0.8).axes
    assert [list(line(ax, "paper: 1.2").get_ydata()) for ax in (axes[0], axes[2])] == [[1.2, 1.2]] * 2
    assert [list(line(ax, "paper: f = 0.8").get_xdata()) for ax in axes[:2]] == [[0.8, 0.8]] * 2
    assert list(line(axes[2], "Themis").get_ydata()) == [2.0]
    assert line(axes[2], "Themis").get_linewidth() > 1.5 * line(axes[2], LOOKS["strawman"].label).get_linewidth()


def test_published_value_of_fig_9_stands_beside_themis() -> None:
    summary = pd.DataFrame(
        {"scheduler": ["astraea", "themis"], "max_rho": [1.4, 1.3], "jain": 0.9, "average_jct": 3600.0,
         "relative_gpu_time": 1.1, "placement": 0.9}
    )  # fmt: skip
    axes = comparison(APPS, summary, 1.2).axes
    paper = line(axes[1], "published value")
    rows = [text.get_text() for text in axes[1].get_yticklabels()]
    assert (list(paper.get_xdata()), rows[int(paper.get_ydata()[0])]) == ([1.2], "Themis")  # type: ignore[index]
    assert all("published value" not in [x.get_label() for x in ax.lines] for ax in axes[2:])


def test_both_bounds_are_named() -> None:
    for ax in two_ideas(APPS).axes:
        assert line(ax, "1.05: late above it").get_ydata()[0] == pytest.approx(1 / 0.95)  # type: ignore[index]
        assert line(ax, "0.95: lacks GPU-time left of it").get_xdata()[0] == 0.95  # type: ignore[index]
