"""Tables in Markdown, and the tables of a figure written out for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd

from papers.claims.filled import plain_name
from papers.gallery.captions import read
from papers.market.study.settings import table2

LONGEST: Final = 20
"""Rows of a table that is open when a page is; a longer one opens on a click."""

GENERATOR: Final[Mapping[str, str]] = read("generator")
"""Terse names and reasons in the table of the generators, written out."""

HEADS: Final = {
    "what": "case", "other": "another case", "gain_other": "gain there", "instances": "tried in",
    "violations": "fails in", "repaired": "fails in, without prices in tenants' shares",
    "counter_example": "smallest counter-example",
}  # fmt: skip
"""Heads for columns whose names say too little."""


def markdown(frame: pd.DataFrame) -> list[str]:
    """A table in Markdown, line by line."""
    rows = [list(frame.columns), ["---"] * frame.shape[1], *frame.astype(str).to_numpy().tolist()]
    return ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]


def written_out(id: str, frame: pd.DataFrame) -> list[str]:
    """The table of a figure that has no picture, line by line."""
    shown = {"table1": _shares, "generator": _ranges, "wang-table2": _by_tenants}.get(id, _readable)(frame)
    lines = markdown(shown)
    if len(shown) <= LONGEST:
        return lines
    return ["<details>", f"<summary>{len(shown)} rows</summary>", "", *lines, "", "</details>"]


def _readable(frame: pd.DataFrame) -> pd.DataFrame:
    """A table for a person: heads and schedulers in words, numbers of four digits."""
    if "scheduler" in frame:
        frame = frame.assign(scheduler=frame["scheduler"].map(plain_name))
    return frame.rename(columns=HEADS).map(_shown)


def _by_tenants(frame: pd.DataFrame) -> pd.DataFrame:
    """Table 2 of each reading for a person: mean over trials, and the paper's values."""
    parts = {reading: table2(part) for reading, part in frame.groupby("reading", sort=False)}
    shown = pd.concat(parts, names=["reading"])
    quantities, sources = (shown.columns.get_level_values(k) for k in (0, 1))
    heads = np.where(sources == "ours", quantities + ", ours", sources)
    return shown.set_axis(pd.Index(heads), axis=1).reset_index().map(_shown)


def _shown(value: object) -> object:
    """A number with four digits or a comma for thousands, "" for none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return "" if text == "nan" else text.replace("-", "\N{MINUS SIGN}")


def _shares(frame: pd.DataFrame) -> pd.DataFrame:
    """Table 1 for a person: mean over seeds."""
    limits = {600: "10 min", 3600: "1 h", 21_600: "6 h", 86_400: "1 d", 518_400: "6 d"}
    share = 100 * frame.groupby("limit")["share"].mean()
    cells = {f"< {limits.get(int(k), f'{k:g} s')}": f"{v:.1f} %" for k, v in share.items()}  # type: ignore[call-overload]
    return pd.DataFrame([{"running time": "share of jobs", **cells}])


def _ranges(frame: pd.DataFrame) -> pd.DataFrame:
    """Published statistics of a synthetic trace for a person: mean over seeds, and from the smallest to the largest."""
    columns = (frame[c] for c in ("mean", "smallest", "largest"))
    mean, smallest, largest = (c.map(lambda x: f"{x:,.0f}" if abs(x) >= 100 else f"{x:.3g}") for c in columns)
    spread = mean + " (" + smallest + " .. " + largest + ")"
    bound = frame["within"].map({"above": "> ", "at least": "≥ "}).fillna("")
    shown = {
        "statistic": frame["statistic"].replace(GENERATOR),
        "published": bound + frame["published"].map(lambda x: f"{x:,g}") + ", " + frame["source"],
        "may be off by": frame["within"].mask(bound != "", ""),
        "ours, mean (smallest .. largest)": spread.where(smallest != largest, mean),
        "seeds": frame["seeds"],
        "within": frame["holds"].map({True: "yes", False: "no"}),
        "why": frame["why"].astype(object).fillna("").replace(GENERATOR),
    }
    return pd.DataFrame(shown)
