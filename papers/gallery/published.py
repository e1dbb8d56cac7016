"""The picture of every value that a paper gives, with ours over it."""

from __future__ import annotations

from pathlib import Path
from textwrap import shorten
from typing import Final

import pandas as pd

from astraea.plots.forms import further_forms
from papers.claims.evaluate import GIVEN, STATEMENTS, read_claims

NAME: Final = "published"
SHOWN: Final = 60
"""Letters of a statement beside its mark, at most."""


def beside_published(claims: pd.DataFrame, folder: Path) -> Path | None:
    """Draw every value that a paper gives with ours, over the published one, both readings; None if there is none."""
    values = read_claims().query("relation == '='").set_index("id")["value"].astype(float)
    values = values[[id for id in values.index if id in STATEMENTS and not STATEMENTS[id].has_many]]
    mine = claims[claims["id"].isin(values.index) & (claims["measured"] != "") & ~claims["id"].str.startswith(GIVEN)]
    ours = mine["measured"].str.extract(r"^([\d.]+)")[0].astype(float)
    ratio = ours / mine["id"].map(values).astype(float)
    frame = mine.assign(ours=ours, ratio=ratio)[ratio > 0]
    if frame.empty:
        return None
    frame = frame[["id", "statement", "trace", "reading", "paper", "measured", "ratio", "verdict"]].round({"ratio": 4})
    picture, table = folder / f"{NAME}_all.png", folder / f"{NAME}_all.csv"
    forms = [table, *(table.with_suffix(f".{form}") for form in ("png", *further_forms()))]
    if not all(path.exists() for path in forms) or not frame.reset_index(drop=True).equals(_as_written(table)):
        from astraea.plots import charts, forest  # takes a second, which is spent only where something changed

        fig, ax = charts.panels(width=7.0, height=0.6 + 0.16 * frame["id"].nunique())
        rows = frame["id"] + "  " + frame["statement"].map(lambda text: shorten(text, SHOWN, placeholder=" …"))
        forest.forest(frame.assign(row=rows), "ratio", by="row", mark="reading", ax=ax)
        charts.save(fig, NAME, "all", folder, frame)
    return picture


def in_words(table: Path) -> str:
    """How near the values in the table of that picture are to the published ones, in a sentence."""
    ratio = _as_written(table)["ratio"]
    near, far = (ratio.between(1 / factor, factor).sum() for factor in (1.1, 2))
    return (
        f"Of {len(ratio)} values, counted in each reading, {near} are within 10 % of the published one (the grey "
        f"band), and {far} within a factor of 2."
    )


def _as_written(table: Path) -> pd.DataFrame:
    return pd.read_csv(table, keep_default_na=False)
