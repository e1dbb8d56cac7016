"""Schedulers beside ASTRAEA: the change of each measure on the same seed."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from astraea.core.units import HOUR
from astraea.plots import charts
from astraea.plots.style import footnote, named_line

FAR: Final = 2.0  # a change [parts of ASTRAEA's] from which on it is written at the edge

MEASURES: Final = {
    "average_jct": ("average JCT", False),
    "average_slowdown": ("average slowdown", False),
    "sharing_loss": ("sharing loss", True),
    "tenant_below_99": ("tenants below 0.99", True),
}
"""Column of a comparison with ASTRAEA -> its name, and whether it is a share; less is better in each."""


def against_astraea(table: pd.DataFrame, what: str) -> Figure:
    """Draw the change of each of `MEASURES` from ASTRAEA on the same seed: in % of it, of shares in points.

    The title counts of `what` the others are, how many have less sharing loss.
    """
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=1.2 + 0.13 * table["scheduler"].nunique())
    ours = table[table["scheduler"] == "astraea"].set_index("seed")[list(MEASURES)]
    names, means = charts.ordered(table["scheduler"]), ours.mean()
    values = (f"{means.iloc[0] / HOUR:.2f} h", f"{means.iloc[1]:.2f}", *(f"{100 * x:.1f} %" for x in means.iloc[2:]))
    for k, (ax, (column, (word, is_share)), value) in enumerate(zip(axes, MEASURES.items(), values, strict=True)):
        base = table["seed"].map(ours[column])
        change = table.assign(change=(table[column] - base) / (1 if is_share else base))
        change["points"] = 100 * change["change"]
        of_each = change.groupby("scheduler")["change"].mean()
        near = change[change["scheduler"].map(of_each) <= (np.inf if is_share else FAR)]["change"]
        low, high = min(-0.05, 1.1 * near.min()), max(0.05, 1.1 * near.max())
        shown, factor = ("points", 100) if is_share else ("change", 1)
        charts.by_scheduler(change, shown, ax, names=names, end=factor * high)
        ax.set_xlim(left=factor * low)
        named_line(ax, 0, "as ASTRAEA")
        charts.title(ax, f"({'abcd'[k]}) {word}: ASTRAEA {value}")
    for ax in axes[1::2]:
        ax.set_yticklabels([])
    footnote(fig, "Left of 0 is better than ASTRAEA.")
    losses = table.groupby("scheduler")["sharing_loss"].mean().round(4)  # as it is printed: level is not fewer
    fewer = (losses < losses["astraea"]).sum()
    leave = "leaves" if fewer == 1 else "leave"
    said = f"{fewer} of {len(losses) - 1} {what} {leave} fewer jobs short than ASTRAEA"
    return charts.legend(fig, headline=said)
