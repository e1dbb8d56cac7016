"""Schedulers beside ASTRAEA: the change of each measure on the same seed, and ASTRAEA over Tiresias-L."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from astraea.core.units import HOUR
from papers import charts
from papers.charts.axes import footnote, named_line
from papers.ye2022.tables import relative_to

FAR: Final = 2.0  # a change [parts of ASTRAEA's] from which on it is written at the edge
LEAST_LOSS: Final = 0.001  # of Fig 14: a smaller share of jobs makes no ratio

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
    names, means = charts.order(table["scheduler"]), ours.mean()
    values = (f"{means.iloc[0] / HOUR:.2f} h", f"{means.iloc[1]:.2f}", *(f"{100 * x:.1f} %" for x in means.iloc[2:]))
    for k, (ax, (column, (word, is_share)), value) in enumerate(zip(axes, MEASURES.items(), values, strict=True)):
        base = table["seed"].map(ours[column])
        change = table.assign(change=(table[column] - base) / (1 if is_share else base))
        change["points"] = 100 * change["change"]
        of_each = change.groupby("scheduler")["change"].mean()
        near = change[change["scheduler"].map(of_each) <= (np.inf if is_share else FAR)]["change"]
        low, high = min(-0.05, 1.1 * near.min()), max(0.05, 1.1 * near.max())
        if not is_share and (of_each > FAR).any():  # room for their numbers right of the line
            high = max(high, -0.45 * low)
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
    have = "has" if fewer == 1 else "have"
    said = f"{fewer} of {len(losses) - 1} {what} {have} less sharing loss than ASTRAEA"
    return charts.legend(fig, headline=said)


def over_tiresias(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return all but Tiresias-L, with `relative`: `column` over that of Tiresias-L on the same seed and size.

    Where that is 0, or all means are below `LEAST_LOSS`, there is no row.
    """
    sizes = table.groupby("nodes_percent", sort=False)
    paired = pd.concat([relative_to(part, "scheduler", column, "tiresias-l") for _, part in sizes])
    found: pd.DataFrame = paired[(paired["scheduler"] != "tiresias-l") & np.isfinite(paired["relative"])]
    largest = table.groupby(["nodes_percent", "scheduler"])[column].mean().groupby("nodes_percent").max()
    return found[(found["nodes_percent"].map(largest) >= LEAST_LOSS).to_numpy()]


def with_loss(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of Fig 14 at sizes at which a scheduler has a mean sharing loss of `LEAST_LOSS` or more."""
    means = table.groupby(["reading", "nodes_percent", "scheduler"])["sharing_loss"].transform("mean")
    return table[means.groupby([table["reading"], table["nodes_percent"]]).transform("max") >= LEAST_LOSS]
