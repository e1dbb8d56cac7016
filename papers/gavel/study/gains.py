"""Panels that many of Gavel's figures share: a column over the rate, and gains beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from astraea.plots import look, style
from papers import charts
from papers.charts import PUBLISHED
from papers.charts.axes import BEHIND, name_axis
from papers.charts.dots import SEED
from papers.gavel.study.tables import times_less


class Factor(NamedTuple):
    """A better policy, its baseline, and the published ratio of a quantity under both, NaN if there is none."""

    baseline: str
    better: str
    value: float = float("nan")


def over_rate(table: pd.DataFrame, column: str, ax: Axes, *, each: bool = False) -> None:
    """Draw a column over the rate of arrival, from 0; `each` is as in `charts.lines`."""
    charts.lines(table, "jobs_per_hour", column, by="policy", ax=ax, each=each)
    room(ax)


def room(ax: Axes) -> None:
    """Begin at 0, and leave a tenth free above what is drawn."""
    ax.set_ylim(0, 1.1 * ax.get_ylim()[1])


def draw_ratios(table: pd.DataFrame, ratios: Sequence[tuple[str, Factor]], ax: Axes) -> None:
    """Draw how many times smaller the means over seeds are than a baseline's, and at the highest rate the paper's.

    Each is a column of `table` and a factor; small dots are seeds. A second column has a dashed line.
    """
    texts = {"average_ftf": "fairness (dashed)", "high_jct": "weight 5", "low_jct": "weight 1 (dashed)"}
    words = {"average_jct": "JCT", "average_ftf": "fairness", "high_jct": "weight 5", "low_jct": "weight 1"}
    top, lines = 1.0, []
    with style():
        for column, (baseline, better, paper) in ratios:
            here, is_second = look(better), column not in ("average_jct", "high_jct")
            means = times_less(table, column, baseline, [better])[better]
            seeds = table.pivot_table(index=["jobs_per_hour", "seed"], columns="policy", values=column)
            each = (seeds[baseline] / seeds[better]).dropna()
            ax.plot(means.index, means, marker="o" if is_second else here.marker, markersize=4, color=here.color,
                    linestyle="--" if is_second else "-")  # fmt: skip
            if table["seed"].max() > table["seed"].min():
                ax.plot(each.index.get_level_values("jobs_per_hour"), each, color=here.color, **SEED)
            if np.isfinite(paper):
                mark = {"markeredgecolor": here.color, "clip_on": False, "label": None}
                ax.plot(means.index[-1], paper, **PUBLISHED | mark)
                ax.plot([], [], **PUBLISHED)
                if len({column for column, _ in ratios}) > 1:
                    is_upper = paper == max(factor.value for _, factor in ratios)
                    ax.annotate(words[column], (means.index[-1], paper), (-7, 0), textcoords="offset points",
                                fontsize=7, ha="right", va="bottom" if is_upper else "top", bbox=BEHIND)  # fmt: skip
            said = f"{look(baseline).label} / {here.label}" + (f", {texts[column]}" if column in texts else "")
            ours = f"{means.iloc[-1]:.2g}×" + (f", paper {paper:g}×" if np.isfinite(paper) else "")
            lines += [said, ours]
            top = float(np.nanmax([top, each.max(), paper]))
        ax.text(0.03, 0.98, "\n".join(lines), transform=ax.transAxes, fontsize=7, va="top")
        charts.named_line(ax, 1, "no gain", (1, 2), vertical=False)
        ax.set_ylim(0, top / (0.95 - 0.17 * len(ratios)))
        ax.set_xticks(sorted(table["jobs_per_hour"].unique()))
        ax.set_ylabel("Times lower")
        name_axis(ax.xaxis, "jobs_per_hour")


def gain(table: pd.DataFrame, column: str, factor: Factor) -> str:
    """Write how many times shorter a JCT is at the highest rate, and the paper's factor if it has one."""
    baseline, better, paper = factor
    times = times_less(table, column, baseline, [better])[better].iloc[-1]
    return f"{times:.2g} times shorter" + (f" (paper\u00a0{paper:g})" if np.isfinite(paper) else "")
