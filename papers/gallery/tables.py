"""Tables in Markdown, and the tables of a figure written out for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pandas as pd

from papers.gallery.captions import read

LONGEST: Final = 20
"""Rows of a table that is open when a page is; a longer one opens on a click."""

GENERATOR: Final[Mapping[str, str]] = read("generator")
"""Terse names and reasons in the table of the generators, written out."""


def markdown(frame: pd.DataFrame) -> list[str]:
    """A table in Markdown, line by line."""
    rows = [list(frame.columns), ["---"] * frame.shape[1], *frame.astype(str).to_numpy().tolist()]
    return ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]


def written_out(id: str, frame: pd.DataFrame) -> list[str]:
    """The table of a figure that has no picture, line by line."""
    shown = {"table1": _shares, "generator": _ranges}.get(id, _rounded)(frame)
    lines = markdown(shown)
    if len(shown) <= LONGEST:
        return lines
    return ["<details>", f"<summary>{len(shown)} rows</summary>", "", *lines, "", "</details>"]


def _rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """A table for a person: mean over trials, four digits."""
    keys = [c for c in frame if c in ("reading", "tenants", "scheduler")]
    if "trial" in frame and keys:
        frame = frame.groupby(keys, sort=False).mean(numeric_only=True).drop(columns="trial").reset_index()
    return frame.map(lambda x: f"{x:.4g}" if isinstance(x, float) else x).replace("nan", "")


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
