"""What a notebook shows beside its figures: published values, and verdicts on its run and at the paper's size."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pandas as pd

from astraea.core.errors import InputError
from papers import ROOT
from papers.claims.evaluate import SAME, evaluate, read_claims

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


def published(id: str) -> float:
    """Value that a paper prints, in the unit of its statement; `InputError` if `data/claims.csv` has none."""
    value = read_claims().set_index("id")["value"].get(id)
    if not value:
        raise InputError(f"data/claims.csv: {id!r} is no statement with a published value")
    return float(value)


def published_of(family: str, trace: str) -> dict[str, float]:
    """Values of `data/claims.csv` by what follows `family` in their identifiers: ``published_of("ye.f10", "venus")``.

    Times are in s, shares in [0, 1]; schedulers are named as in `astraea policies`. There is nothing about a trace that
    the values are not about: those on Venus say nothing about Philly.
    """
    claims = read_claims()
    of_trace = claims["trace"].map(lambda name: trace in SAME.get(name, (name,)))
    rows = claims[claims["id"].str.startswith(f"{family}.") & of_trace & (claims["value"] != "")]
    values = rows["value"].astype(float) * rows["unit"].map({"%": 0.01}).astype(float).fillna(1.0)
    return dict(zip(rows["id"].str.removeprefix(f"{family}.").str.replace("_", "-"), values, strict=True))
