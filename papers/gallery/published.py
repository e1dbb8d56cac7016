"""The picture of every value that a paper gives, with ours over it."""

from __future__ import annotations

from pathlib import Path
from textwrap import shorten
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from astraea.plots import charts
from astraea.plots.files import further_forms
from astraea.plots.style import OTHERS, REFERENCE, style
from papers.claims.evaluate import GIVEN, STATEMENTS, read_claims

NAME: Final = "published"
NEAR: Final = 1.1
"""Up to this factor a value counts as the published one."""

SHOWN: Final = 60
"""Letters of a statement beside its mark, at most."""

_TICKS: Final = (0.01, 0.03, 0.1, 0.3, 0.5, 1, 2, 3, 10, 30, 100, 1000)


def beside_published(claims: pd.DataFrame, folder: Path) -> Path | None:
    """Draw every value that a paper gives with ours, over the published one, both readings; None if there is none.

    A picture whose table would be the same stays.
    """
    values = read_claims().query("relation == '='").set_index("id")["value"].astype(float)
    values = values[[id for id in values.index if id in STATEMENTS and not STATEMENTS[id].has_many]]
    mine = claims[claims["id"].isin(values.index) & (claims["measured"] != "") & ~claims["id"].str.startswith(GIVEN)]
    ours = mine["measured"].str.extract(r"^([\d.]+)")[0].astype(float)
    ratio = ours / mine["id"].map(values).astype(float)
    frame = mine.assign(ratio=ratio.round(4))[ratio > 0]
    if frame.empty:
        return None
    frame = frame[["id", "statement", "trace", "reading", "paper", "measured", "ratio", "verdict"]]
    picture, table = folder / f"{NAME}_all.png", folder / f"{NAME}_all.csv"
    forms = [table, *(table.with_suffix(f".{form}") for form in ("png", *further_forms()))]
    if not all(path.exists() for path in forms) or not frame.reset_index(drop=True).equals(_as_written(table)):
        fig, ax = charts.panels(width=7.0, height=0.6 + 0.16 * frame["id"].nunique())
        rows = frame["id"] + "  " + frame["statement"].map(lambda text: shorten(text, SHOWN, placeholder=" …"))
        forest(frame.assign(row=rows), ax)
        charts.save(fig, NAME, "all", folder, frame)
    return picture


def forest(frame: pd.DataFrame, ax: Axes) -> None:
    """Draw the column `ratio`: a row for each value of `row`, in the order of the table, a mark for each `reading`."""
    rows = list(dict.fromkeys(frame["row"]))
    readings = sorted(set(frame["reading"]) - {""})
    with style():
        ax.axvspan(1 / NEAR, NEAR, color="#DDDDDD", zorder=0)
        ax.axvline(1, **REFERENCE)
        looks = [("", "s", "#222222"), *zip(readings, "Do^v", OTHERS, strict=False)]
        for reading, marker, color in looks:
            part = frame[frame["reading"] == reading]
            ax.plot(part["ratio"], [rows.index(name) for name in part["row"]], marker, color=color, markersize=4.5,
                    label=reading or None)  # fmt: skip
        ax.set_xscale("log")
        low, high = float(frame["ratio"].min()) / 1.2, float(frame["ratio"].max()) * 1.2
        ax.set_xlim(low, high)
        ax.xaxis.set_major_locator(FixedLocator([tick for tick in _TICKS if low <= tick <= high]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_yticks(np.arange(len(rows)), rows, fontsize=6.5)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.set_xlabel("Ours over the published value")
        if readings:
            ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(readings))


def in_words(table: Path) -> str:
    """How near the values in the table of that picture are to the published ones, in a sentence."""
    ratio = _as_written(table)["ratio"]
    near, far = (ratio.between(1 / factor, factor).sum() for factor in (NEAR, 2))
    return (
        f"Of {len(ratio)} values, counted in each reading, {near} are within 10 % of the published one (the grey "
        f"band), and {far} within a factor of 2."
    )


def _as_written(table: Path) -> pd.DataFrame:
    return pd.read_csv(table, keep_default_na=False)
