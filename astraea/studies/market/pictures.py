"""What more than one figure of [Wang2023] draws: others beside Astraea in the same market, and when they are done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd
from matplotlib.axes import Axes

from astraea.plots.dodged import dodged
from astraea.plots.style import look, mark_line, ordered, style

OURS: Final = "astraea-market"


def over_ours(frame: pd.DataFrame, column: str, keys: Sequence[str]) -> pd.DataFrame:
    """Others' values over Astraea's in the same market; columns `keys`, scheduler, relative."""
    wide = frame.pivot_table(index=list(keys), columns="scheduler", values=column)
    ratios = wide.drop(columns=OURS).div(wide[OURS], axis=0)
    return ratios.melt(ignore_index=False, value_name="relative").dropna().reset_index()


def relative_revenue(frame: pd.DataFrame, ax: Axes, paper: Mapping[str, float]) -> None:
    """Fig 4: revenue of the others over Astraea's, trial by trial, and that of all markets together.

    Parameters
    ----------
    frame : DataFrame, columns value, trial, scheduler, revenue
        Of one form of utility, with jobs or servers varied.
    paper : mapping of str to float
        Scheduler -> Astraea's total revenue over its, as published; drawn beside the total.
    """
    total = frame.groupby(["scheduler", "trial"], as_index=False)["revenue"].sum().assign(value="all")
    shown = over_ours(pd.concat([frame, total]).astype({"value": str}), "revenue", ["value", "trial"])
    places = [*map(str, sorted(frame["value"].unique())), "all"]
    shown = shown.sort_values("value", key=lambda names: names.map(places.index), kind="stable")
    dodged(shown, "value", "relative", "scheduler", ax)
    mark_line(ax, 1, "", vertical=False)
    names, low = ordered(shown["scheduler"]), shown.groupby(["value", "scheduler"])["relative"].mean()
    with style():
        for k, name in enumerate(names):
            if name in paper:
                at = places.index("all") + 0.64 / len(names) * (k - (len(names) - 1) / 2)
                ax.plot(at, 1 / paper[name], "D", markersize=5, color="white", markeredgecolor=look(name).color,
                        label="paper, all" if k == 0 else None)  # fmt: skip
        for loss in low[low < 0].reset_index().itertuples():
            text, foot = f"{loss.relative:.1f} ↓".replace("-", "−"), (places.index(str(loss.value)), 0)
            ax.annotate(text, foot, (0, 3), fontsize=7, ha="center", textcoords="offset points",
                        color=look(loss.scheduler).color)  # fmt: skip
    ax.set_ylim(0, 1.08 * max(1.0, shown["relative"].max(), *(1 / x for x in paper.values())))


def makespans(used: pd.DataFrame, ax: Axes) -> None:
    """Ticks below the curves at the last hour with any use: thin ones of trials, a thick one with the mean's value."""
    last = used[used["utilization"] > 0].groupby(["scheduler", "trial"])["hour"].max()
    with style():
        for k, name in enumerate(ordered(last.index.get_level_values("scheduler"))):
            here, hours, y = look(name), last[name], -8 - 9 * k
            ax.plot(hours, [y] * len(hours), "|", color=here.color, markersize=5, markeredgewidth=0.8)
            ax.plot(hours.mean(), y, "|", color=here.color, markersize=9, markeredgewidth=2.2)
            right = hours.max() < 0.7 * ax.get_xlim()[1]  # where there is room for the text
            ax.annotate(f"{hours.mean():,.0f} h", (hours.max() if right else hours.min(), y), (5 if right else -5, 0),
                        textcoords="offset points", fontsize=7, ha="left" if right else "right", va="center",
                        color=here.color)  # fmt: skip
