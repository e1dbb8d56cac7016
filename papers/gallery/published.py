"""The picture of every value that a paper gives, with ours over it."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Mapping
from dataclasses import replace
from pathlib import Path
from textwrap import shorten
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from astraea.core.errors import InputError
from astraea.plots import charts
from astraea.plots.files import further_forms
from astraea.plots.style import OTHERS, REFERENCE, style
from papers.claims.evaluate import SAME, STATEMENTS, read_claims
from papers.gallery.captions import PAPERS
from papers.judging import Missing, Source, reader

NAME: Final = "published"
NEAR: Final = 1.1
"""Up to this factor a value counts as the published one."""

SHOWN: Final = 60
"""Letters of a statement beside its mark, at most."""

LEAST: Final = 1 / 16
"""Where the axis ends at the latest, and at its inverse."""

MEANING: Final = (
    "A mark that points to the right stands where the paper says *up to* or *more than*, one that points to the left "
    "where it says *at most*. Thin lines lead from the lowest to the highest seed."
)
"""What the marks of the picture mean."""

_RATIOS: Final = ["low", "ratio", "high"]
_MARKS: Final = {"<": "<", "<=": "<", ">": ">", "up to": ">"}
_TICKS: Final = (0.01, 0.03, 0.1, 0.3, 0.5, 1, 2, 3, 10, 30, 100, 1000)


def beside_published(claims: pd.DataFrame, folder: Path) -> Path | None:
    """Draw every value that a paper gives with ours, over the published one, in each reading; None if there is none.

    `claims` are rows of `evaluate`. What a generator is made to have, and what repeats another statement, is left out.
    A picture whose table would be the same stays.
    """
    papers = read_claims().set_index("id")
    about = claims["id"].map(papers["trace"])
    there = [trace in SAME.get(of, (trace,)) for trace, of in zip(claims["trace"], about, strict=True)]
    frame = claims[np.array(there, dtype=bool) & claims["value"].gt(0) & claims["kind"].isin(["result", "example"])]
    if frame.empty:
        return None
    printed = frame["id"].map(papers["value"]).astype(float)
    seeds = [each_seed(row, folder) for row in frame.to_dict("records")]
    frame = frame.assign(low=[min(x) for x in seeds], ratio=frame["value"], high=[max(x) for x in seeds])
    frame[_RATIOS] = frame[_RATIOS].div(printed, axis=0).round(4)
    frame["relation"] = frame["id"].map(papers["relation"])
    frame["source"] = [next(paper.title for paper in PAPERS if id.startswith(paper.prefix)) for id in frame["id"]]
    frame = frame.sort_values("source", key=lambda x: x.map([paper.title for paper in PAPERS].index), kind="stable")
    said = ["source", "id", "statement", "trace", "reading", "relation", "paper", "measured"]
    frame = frame[[*said, *_RATIOS, "verdict"]]
    picture, table = folder / f"{NAME}_all.png", folder / f"{NAME}_all.csv"
    forms = [table, *(table.with_suffix(f".{form}") for form in ("png", *further_forms()))]
    if not all(path.exists() for path in forms) or not frame.reset_index(drop=True).equals(_as_written(table)):
        fig, ax = charts.panels(width=7.0, height=0.8 + 0.16 * (frame["id"].nunique() + len(PAPERS)))
        rows = frame["id"] + "  " + frame["statement"].map(lambda text: shorten(text, SHOWN, placeholder=" …"))
        forest(frame.assign(row=rows), ax)
        charts.save(fig, NAME, "all", folder, frame)
    return picture


def each_seed(row: Mapping[Hashable, Any], folder: Path) -> list[float]:
    """What a row of `evaluate` measures on each seed or trial alone; its value where the table has none of them."""
    judge, table, on, where = STATEMENTS[row["id"]]
    printed = read_claims().query("value != ''")
    papers = dict(zip(printed["id"], printed["value"].astype(float), strict=True))
    chosen = dict(where) | ({"reading": row["reading"]} if row["reading"] else {})
    source = Source(reader(folder), papers, table, on or row["trace"], row["id"], chosen)
    found: list[float] = []
    for column in source.read(source.file).columns.intersection(["seed", "trial"]):
        for seed in sorted(source.read(source.file)[column].dropna().unique()):
            with contextlib.suppress(Missing, InputError):  # not every table of a rule, nor every policy, has each seed
                found += judge(replace(source, where={**chosen, column: seed}))[2:]
    return found or [row["value"]]


def forest(frame: pd.DataFrame, ax: Axes) -> None:
    """Draw the column `ratio`: a row for each `row` below the name of its `source`, a mark for each `reading`.

    A line leads from `low` to `high`, and the mark points where the value may lie, by `relation`. What is beyond the
    axis is drawn at its edge, with the number.
    """
    rows = list(dict.fromkeys(name for pair in zip(frame["source"], frame["row"], strict=True) for name in pair))
    readings = [reading for reading in frame["reading"].unique() if reading]
    low, high = max(float(frame["low"].min()) / 1.2, LEAST), min(float(frame["high"].max()) * 1.2, 1 / LEAST)
    with style():
        ax.axvspan(1 / NEAR, NEAR, color="#DDDDDD", zorder=0)
        ax.axvline(1, **REFERENCE)
        for reading, color in zip(["", *readings], ["#222222", *OTHERS], strict=False):
            for name, *found, relation in frame[frame["reading"] == reading][["row", *_RATIOS, "relation"]].to_numpy():
                y, (least, x, most) = rows.index(name), np.clip(found, low, high)
                ax.plot([least, most], [y, y], color=color, linewidth=0.8)
                ax.plot(x, y, _MARKS.get(relation, "o"), color=color, markersize=4.5)
                if x != found[1]:
                    ax.annotate(f"{found[1]:.2g}", (x, y), (5, -2.5), textcoords="offset points", fontsize=6.5)
            ax.plot([], [], "o", color=color, label=reading or None)
        ax.set_xscale("log")
        ax.set_xlim(low / 1.1, high * 1.1)
        ax.xaxis.set_major_locator(FixedLocator([tick for tick in _TICKS if low <= tick <= high]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_yticks(np.arange(len(rows)), rows, fontsize=6.5)
        for text in ax.get_yticklabels():
            text.set_fontweight("bold" if text.get_text() in set(frame["source"]) else "normal")
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.set_xlabel("Ours over the published value")
        if readings:
            ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=min(len(readings), 2))


def in_words(table: Path) -> str:
    """How near the values in the table of that picture are to the published ones, and which is farthest, in words."""
    frame = _as_written(table)
    equal = frame[frame["relation"].isin(["=", "up to", "close to"])]
    near, far = (equal["ratio"].between(1 / factor, factor).sum() for factor in (NEAR, 2))
    worst = equal.loc[[*np.log(equal["ratio"]).abs().nlargest(1).index]].to_dict("records")
    farthest = "".join(f" The farthest is {row['measured']} for {row['paper']} ({row['id']})." for row in worst)
    return (
        f"Of {len(equal)} values, counted in each reading, {near} are within 10 % of the published one (the grey "
        f"band), and {far} within a factor of 2.{farthest}"
    )


def _as_written(table: Path) -> pd.DataFrame:
    return pd.read_csv(table, keep_default_na=False)
