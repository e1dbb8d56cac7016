"""Pictures of the paper's text beside the released program: four jobs, options, the skipped neighbour, and readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from astraea.core.result import Result
from astraea.plots import charts
from astraea.plots.style import OTHERS, REFERENCE, log_ticks, style
from papers.ye2022.released import EXAMPLE, VARIANTS, WALKS, WRITTEN, changed_loss, example

_KINDS: Final = ("the paper's text and its options", "the release", "the release, another order of jobs")
GROUPS: Final = {
    v.name: _KINDS[0 if v.policy == "astraea" else 2 if "job_order" in v.parameters else 1] for v in VARIANTS
}

MEASURES: Final = {
    "average_jct": ("Average JCT [h]", 1 / 3600),
    "average_slowdown": ("Average slowdown", 1),
    "sharing_loss": ("Jobs with\nsharing loss [%]", 100),
    "tenant_below_99": ("Tenant cases\nbelow 0.99 [%]", 100),
}
"""Column of a table -> its heading, and the factor to its unit; less is better in each."""


def dot_plot(
    frame: pd.DataFrame, columns: Mapping[str, tuple[str, float]], by: str, axes: Sequence[Axes], *,
    groups: Mapping[str, str], reference: str | None = None, log: Sequence[str] = (),
) -> None:  # fmt: skip
    """Draw each class of `by` as a row, in the order of the table, and each of `columns` in a panel of its own.

    Small dots are the rows of the table (seeds), the large one is their mean. `columns` gives each column its heading
    and the factor to its unit; `groups` gives each class its group, which has a colour and stands in the legend, unless
    it is empty. The mean of the class `reference` is a line through the whole panel; without it the line is at 0. The
    columns in `log` have a logarithmic axis, unless a value is 0.
    """
    names = list(dict.fromkeys(frame[by]))
    kinds = list(dict.fromkeys(groups.values()))
    with style():
        for k, ((column, (heading, factor)), ax) in enumerate(zip(columns.items(), axes, strict=True)):
            shown = factor * frame[column]
            means = shown.groupby(frame[by]).mean()
            ax.axvline(0.0 if reference is None else means[reference], **REFERENCE, label=reference)
            for row, name in enumerate(names):
                values = shown[frame[by] == name]
                mark: dict[str, Any] = {"color": OTHERS[kinds.index(groups[name])], "linestyle": "none"}
                ax.plot(values, np.full(len(values), row), marker=".", markersize=4, alpha=0.6, zorder=3, **mark)
                ax.plot(means[name], row, marker="o", markersize=7, markeredgecolor="white", zorder=2,
                        label=groups[name] or None, **mark)  # fmt: skip
            ax.set_ylim(len(names) - 0.5, -0.5)
            ax.set_yticks(range(len(names)), names if k == 0 else [""] * len(names))
            ax.tick_params(axis="y", length=0)
            ax.margins(x=0.12)
            ax.set_xlabel(heading)
            if column in log and shown.min() > 0:
                ax.set_xscale("log")
                log_ticks(ax.xaxis)


def parting(results: Mapping[str, Result]) -> Figure:
    """Who runs when: the results of `released.parting`."""
    fig, axes = charts.panels(columns=2, width=3.5, height=2.1)
    for ax, letter, (text, result) in zip(axes, "ab", results.items(), strict=True):
        assert result.grants is not None
        charts.gantt(result.grants, ax, gpus=EXAMPLE.gpus)
        charts.title(ax, f"({letter}) {text}")
    end = max(float(result.jobs["end_time"].max()) for result in results.values())
    for ax in axes:
        ax.set_xlim(0, end)
    return fig


def options(paid: pd.DataFrame) -> Figure:
    """Each variant of `released_grid`, with overheads; the line is Algorithm 1."""
    fig, axes = charts.panels(columns=4, width=1.75, height=3.3)
    log = ["average_slowdown", "sharing_loss"]
    dot_plot(paid, MEASURES, "variant", axes, groups=GROUPS, reference=WRITTEN, log=log)
    charts.legend(fig, columns=2)
    return fig


def neighbour(alone: pd.DataFrame, together: pd.DataFrame) -> Figure:
    """The skipped neighbour in an example, and what it does: `released.walked` and, named alike, `synchrony`."""
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.1)
    for ax, letter, (skipped, text) in zip(axes, "ab", WALKS.items(), strict=False):
        grants = example(skipped).grants
        assert grants is not None
        charts.gantt(grants, ax, gpus=EXAMPLE.gpus, rows="job")
        charts.title(ax, f"({letter}) {text}")
    charts.dodged(together, "times", "together", by="walk", ax=axes[2], each=False)
    axes[2].set(ylabel="Leases ending\ntogether", xlabel="Times in the trace")
    axes[2].set_ylim(0, 1.15 * together["together"].max())
    charts.title(axes[2], "(c) in one round, on average")
    what = {"change": ("Jobs with sharing loss:\nskipped minus mended [points]", 100)}
    dot_plot(changed_loss(alone), what, "times", axes[3:], groups={"in rounds": "", "whole minutes": ""})
    charts.named_line(axes[3], 0.0, "no change")
    charts.title(axes[3], "(d) what it does to fairness")
    charts.legend(fig)
    return fig


def steps(table: pd.DataFrame) -> Figure:
    """From Algorithm 1 to what the authors measured: a row for each step of `steps_grid`, a line for each scheduler."""
    names = list(dict.fromkeys(table["step"]))
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.4)
    for k, (ax, (column, (heading, factor))) in enumerate(zip(axes, MEASURES.items(), strict=True)):
        for name, part in table[table["scheduler"] != "yarn-cs"].groupby("scheduler", sort=False):
            here = charts.look(name)
            at = [names.index(step) for step in part["step"]]
            ax.plot(factor * part[column], at, color=here.color, linestyle=here.line, marker=here.marker,
                    markersize=5, label=here.label)  # fmt: skip
        ax.set_yticks(range(len(names)), names if k % 2 == 0 else [""] * len(names))
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_xlabel(heading.replace("\n", " "))
    for ax in axes[::2]:
        ax.set_ylabel("each row adds to all above it")
    charts.legend(fig)
    return fig


def baselines(every: pd.DataFrame) -> Figure:
    """ASTRAEA and each baseline in the ways that its paper leaves open; the line is ASTRAEA's mean."""
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.7)
    for ax, column in zip(axes, MEASURES, strict=True):
        spread = every[column].max() > 20 * every[column].min() > 0
        charts.ranked(every, column, ax, names=charts.ordered(every["scheduler"]), log=spread)
        charts.named_line(ax, every.loc[every["scheduler"] == "astraea", column].mean(), "ASTRAEA's mean")
    for ax in axes[1::2]:
        ax.set_yticklabels([])
    charts.legend(fig)
    return fig
