"""Pictures of every value that a paper prints, with ours over it: one for each paper."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from astraea.core.errors import InputError
from astraea.core.wording import listed
from astraea.plots import LOOKS, style
from astraea.plots.files import further_forms
from papers import charts
from papers.charts.axes import HEADLINE, REFERENCE
from papers.charts.wrapping import legend_width
from papers.claims.checks import SAME, STATEMENTS
from papers.claims.evaluate import READINGS, published_values, read_claims
from papers.gallery.captions import PAPERS, read
from papers.judging import Missing, reader

NAME: Final = "published"
NEAR: Final = 1.1
"""Up to this factor a value counts as the published one."""

EDGE: Final = 16.0
"""End of the axis, with its inverse; what is beyond is drawn there, with its number."""

NEARER: Final = 4.0
"""End of the axis if no value is beyond it."""

LABELS: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = read("published")
"""By page of a paper and heading: the label of each statement."""

_ARROWS: Final = {"<": -1, "<=": -1, "up to": -1, ">": 1}
_EQUAL: Final = ("=", "up to", "close to")
_TICKS: Final = (1 / 16, 1 / 4, 1 / 2, 1, 2, 4, 16)
_TIMES: Final = re.compile(r"(?<=\d) ?x\b")
_FILLS: Final = ("#222222", "white", "#AAAAAA")  # of the first reading, the second, and what is alike in both
_SEEDS: Final = ("#222222", "#999999", "#222222")


def beside_published(claims: pd.DataFrame, folder: Path) -> dict[str, Path]:
    """Draw what each paper prints with ours, over the published value, in each reading; pictures by page.

    `claims` are rows of `evaluate`. What a generator is made to have is left out. A picture whose table would be the
    same stays.
    """
    papers = read_claims().set_index("id")
    about = claims["id"].map(papers["trace"])
    there = [trace in SAME.get(of, (trace,)) for trace, of in zip(claims["trace"], about, strict=True)]
    rows = claims[np.array(there, dtype=bool) & (claims["measured"] != "")]
    pictures = {}
    for paper in PAPERS:
        labels = {id: (heading, label) for heading, some in LABELS[paper.key].items() for id, label in some.items()}
        frame = rows[rows["id"].isin([*labels])].reset_index(drop=True)
        if frame["value"].notna().any():
            frame = frame.iloc[np.argsort([[*labels].index(id) for id in frame["id"]], kind="stable")]
            pictures[paper.key] = _picture(frame.reset_index(drop=True), labels, papers, paper.key, folder)
    return pictures


def _picture(
    frame: pd.DataFrame, labels: Mapping[str, tuple[str, str]], papers: pd.DataFrame, page: str, folder: Path
) -> Path:
    printed = frame["id"].map(papers["value"]).astype(float)
    frame = frame.assign(value=[_worked_out(row, folder) for row in frame.to_dict("records")])
    seeds = [each_seed(row, folder) for row in frame.to_dict("records")]
    ratios = [[x / value for x in some] for some, value in zip(seeds, printed, strict=True)]
    alike = frame["id"].map(papers["repeats"]) == frame["id"]  # what is the same in each reading
    table = pd.DataFrame({
        "id": frame["id"],
        "heading": [labels[id][0] for id in frame["id"]], "label": [labels[id][1] for id in frame["id"]],
        "reading": frame["reading"].mask(alike, "in both alike"), "relation": frame["id"].map(papers["relation"]),
        "paper": frame["paper"], "measured": frame["measured"].str.partition(";")[0],
        "ratio": (frame["value"] / printed).where(frame["value"] > 0).round(4),
        "seeds": [" ".join(f"{x:.4g}" for x in some if x > 0) if len(some) > 1 else "" for some in ratios],
        "kind": frame["id"].map(papers["kind"]), "verdict": frame["verdict"],
    })[~(alike & frame["id"].duplicated())].reset_index(drop=True)  # fmt: skip
    picture, file = folder / f"{NAME}_{page}.png", folder / f"{NAME}_{page}.csv"
    forms = [picture, file, *(file.with_suffix(f".{form}") for form in further_forms())]
    if not all(path.exists() for path in forms) or not table.equals(as_written(file)):
        fig, ax = charts.panels(width=7.0, height=1.6 + 0.18 * len(_rows(table)))
        forest(table, ax)
        paper = next(paper.title for paper in PAPERS if paper.key == page)
        with style():
            fig.suptitle(f"{paper}: {_how_near(table)}", **HEADLINE)
        charts.save(fig, NAME, page, folder, table)
    return picture


def _worked_out(row: Mapping[Hashable, Any], folder: Path) -> float:
    """The value of a row; that of a worked example, which is judged without one, is in its table."""
    statement = STATEMENTS[row["id"]]
    if not statement.has_many:
        return float(row["value"])
    values = statement.source(reader(folder), {}, row["trace"], row["id"])("value")["value"]
    return float(values.iloc[0]) if len(values) == 1 else float("nan")


def each_seed(row: Mapping[Hashable, Any], folder: Path) -> list[float]:
    """Measure a row of `evaluate` on each seed or trial alone; its value where the table has none of them."""
    statement = STATEMENTS[row["id"]]
    source = statement.source(reader(folder), published_values(), row["trace"], row["id"], row["reading"])
    found: list[float] = []
    for column in source.read(source.file).columns.intersection(["seed", "trial"]):
        for seed in sorted(source.read(source.file)[column].dropna().unique()):
            with contextlib.suppress(Missing, InputError):  # not every table of a rule, nor every policy, has each seed
                found += statement.judge(replace(source, where={**source.where, column: seed}))[2:]
    return found or [row["value"]]


def _rows(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Rows from above: a heading has no label."""
    pairs = zip(table["heading"], table["label"], strict=True)
    return list(dict.fromkeys(row for heading, label in pairs for row in ((heading, ""), (heading, label))))


def forest(table: pd.DataFrame, ax: Axes) -> None:
    """Draw the column `ratio`: a row for each label below its heading, a mark for each `reading`, dots for `seeds`.

    An open diamond with an arrow, by `relation`, is the paper. What is beyond the axis is drawn at its edge.
    """
    rows = _rows(table)
    readings = [reading for reading in (*READINGS, "in both alike") if reading in set(table["reading"])]
    edge = NEARER if table["ratio"].between(1 / NEARER, NEARER).all() else EDGE
    place = {"": 0, **{reading: k for k, reading in enumerate(readings[:2])}, "in both alike": 2}
    with style():
        ax.axvspan(1 / NEAR, NEAR, color="#DDDDDD", zorder=0, label="within 10 %")
        ax.axvline(1, **REFERENCE)
        for row in table.drop_duplicates(["heading", "label"]).to_dict("records"):
            y = rows.index((row["heading"], row["label"]))
            ax.plot(1, y, **{**charts.PUBLISHED, "markersize": 8, "label": None, "zorder": 2})
            if way := _ARROWS.get(row["relation"]):
                ax.annotate("", (1.5**way, y - 0.3), (1.06**way, y - 0.3), zorder=6,
                            arrowprops={"arrowstyle": "->", "linewidth": 0.8})  # fmt: skip
            ax.text(edge * 1.9, y, _TIMES.sub("\N{MULTIPLICATION SIGN}", row["paper"]), fontsize=6.5, va="center")
        for row in table.to_dict("records"):
            _mark(ax, row, rows.index((row["heading"], row["label"])), place[row["reading"]], edge)
        for reading in readings or [""]:
            ax.plot([], [], "o", markerfacecolor=_FILLS[place[reading]], color="#222222", label=reading or "ours")
        seeded = table.loc[table["seeds"] != "", "reading"]
        for reading in (reading for reading in readings or [""] if reading in set(seeded)):
            said = f"single runs, {reading}" if len(readings) > 1 else "single runs"
            ax.plot([], [], "o", color=_SEEDS[place[reading]], markersize=1.6, label=said)
        if table["ratio"].isna().any():
            ax.plot([], [], "x", color="#222222", markersize=4.5, label="ours, without a ratio")
        ax.plot([], [], **charts.PUBLISHED)
        if table["relation"].isin([*_ARROWS]).any():
            ax.plot([], [], marker="$\\longrightarrow$", color="#222222", markersize=14, linestyle="none",
                    label="bound: ours may lie there")  # fmt: skip
        ax.set_xscale("log")
        ax.set_xlim(1 / edge / 1.15, edge * 1.7)
        ax.xaxis.set_major_locator(FixedLocator([tick for tick in _TICKS if 1 / edge <= tick <= edge]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"1/{1 / value:g}" if value < 1 else f"{value:g}"))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_yticks(range(len(rows)), [_shown(label or heading) for heading, label in rows], fontsize=7)
        for text, (_, label) in zip(ax.get_yticklabels(), rows, strict=True):
            text.set_fontweight("normal" if label else "bold")
        ax.tick_params(axis="y", length=0)
        ax.grid(visible=False, axis="y")
        ax.text(edge * 1.9, -0.8, "paper", fontsize=7, fontweight="bold", va="center")
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.set_xlabel("Ours over the published value (log scale)")
        fig = ax.get_figure()
        assert isinstance(fig, Figure)
        names = ax.get_legend_handles_labels()[1]
        columns = next(n for n in (4, 3, 2) if n == 2 or legend_width(names, n) <= fig.get_figwidth())
        fig.legend(loc="outside lower center", ncols=columns)


def _shown(text: str) -> str:
    """A label as pictures name schedulers."""
    return text.replace("Gandiva_fair", LOOKS["gandiva-fair"].label)


def _mark(ax: Axes, row: Mapping[Hashable, Any], y: int, place: int, edge: float) -> None:
    """One value of ours in the reading of a place, with its seeds below it."""
    number = row["ratio"]
    if not np.isfinite(number):
        ax.plot(1 / edge, y, "x", color="#222222", markersize=4.5, zorder=4)
        return
    seeds = [float(x) for x in str(row["seeds"]).split() if 1 / edge <= float(x) <= edge]
    ax.plot(seeds, np.full(len(seeds), y + 0.3), "o", color=_SEEDS[place], markersize=1.6, linestyle="none", zorder=3)
    x = float(np.clip(number, 1 / edge, edge))
    ax.plot(x, y, "o", markerfacecolor=_FILLS[place], color="#222222", markersize=4, zorder=4)
    if x != number:
        text, side = (f"{number:,.2g}", 1) if number < 1 else (f"{number:,.0f}", -1)
        ax.annotate(text, (x, y), (5 * side, -6 if place == 1 else 0), textcoords="offset points", fontsize=6,
                    ha="left" if side > 0 else "right")  # fmt: skip


def in_words(tables: Sequence[Path]) -> str:
    """Say how near the values in the tables of such pictures are to the published ones; of one, which is farthest."""
    frame = pd.concat([as_written(table) for table in tables])
    near, far, many = _nearness(frame)
    others = _left_out(frame)
    if not many:
        return f"The paper prints no exact value{others and f', only {others}'}."
    equal = frame[frame["relation"].isin(_EQUAL) & (frame["kind"] == "result") & frame["ratio"].notna()]
    distance = np.log(equal["ratio"]).abs()
    farthest = ""
    for row in equal.loc[distance == distance.max()].to_dict("records")[: len(tables) == 1]:
        reading = f" in the reading *{row['reading']}*" if row["reading"] in READINGS else ""
        said = f"The paper has {row['paper']}, and we have {row['measured']}{reading}."
        farthest = f" The value that differs most is *{row['label']}* ({row['heading']}). {said}"
    each = "; a result in two readings counts twice" if frame["reading"].isin(READINGS).any() else ""
    who = "The papers print" if len(tables) > 1 else "The paper prints"
    return (
        f"{who} a value for {many} of our results{each}. Of these, {near} are within 10 % of the printed value, "
        f"and {far} within a factor of 2.{farthest}"
    )


def _left_out(frame: pd.DataFrame) -> str:
    """Name the values of a picture that say nothing about nearness."""
    there = {
        "worked examples": frame["kind"] == "example",
        "bounds": frame["relation"].isin(["<", "<=", ">"]),
        "the position of a minimum": frame["relation"] == "shape",
    }
    return listed(name for name, some in there.items() if some.any())


def _how_near(table: pd.DataFrame) -> str:
    """Say for a title how many results are near, and what the picture has that does not count."""
    (near, _, many), others = _nearness(table), _left_out(table)
    if not many:
        return f"no exact value is printed, only {others}"
    return f"{near} of {many} results within 10 % of the paper's" + (f"\n(not counted: {others})" if others else "")


def _nearness(frame: pd.DataFrame) -> tuple[int, int, int]:
    """Count results within 10 %, within a factor of 2, and all that a paper gives as equal."""
    equal = frame.loc[frame["relation"].isin(_EQUAL) & (frame["kind"] == "result"), "ratio"]
    near, far = (int(equal.between(1 / factor, factor).sum()) for factor in (NEAR, 2))
    return near, far, len(equal)


def as_written(table: Path) -> pd.DataFrame:
    """The table of such a picture, texts as they are."""
    texts = ["id", "heading", "label", "reading", "relation", "paper", "measured", "seeds", "kind", "verdict"]
    return pd.read_csv(table, keep_default_na=False, na_values={"ratio": [""]}, dtype=dict.fromkeys(texts, str))
