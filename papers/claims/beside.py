"""Verdicts for a notebook: those of its own run, beside those of the committed figures at the paper's size."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pandas as pd

from papers import ROOT
from papers.claims.evaluate import evaluate

_KEY: Final = ["id", "trace", "reading"]


def verdicts(folder: str | Path, about: str, trace: str | None = None, scale: str = "small") -> pd.DataFrame:
    """Judge the statements whose identifiers begin with `about`, a regular expression, on the tables of a folder.

    With a `trace`, only what is judged on it. The index is the identifier; the columns, all text, are the statement,
    what the paper says, and verdict and measured value here, and at the scale ``small`` beside it those of the
    committed figures.
    """
    found = evaluate(folder, about)
    found = found[found["trace"] == trace] if trace is not None else found
    columns = {"here": _in_words(found)}
    if scale == "small":
        paper = evaluate(ROOT / "figures", about)
        printed = _in_words(paper).set_axis(pd.MultiIndex.from_frame(paper[_KEY]))
        beside = printed.reindex(pd.MultiIndex.from_frame(found[_KEY])).fillna("")
        columns["at the paper's size"] = beside.set_axis(found.index)
    shown = found[["id", "reading", "statement", "paper"]].assign(**columns).set_index("id")
    return shown if shown["reading"].any() else shown.drop(columns="reading")


def _in_words(found: pd.DataFrame) -> pd.Series[str]:
    """Verdict and measured value, or what is missing."""
    value = found["measured"].where(found["measured"] != "", found["note"])
    return (found["verdict"] + ": " + value).str.removesuffix(": ")
