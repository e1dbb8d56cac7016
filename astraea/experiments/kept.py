"""What is kept of a result: all of it, some columns, or its summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

import pandas as pd

from astraea.core.metrics import summary
from astraea.core.result import Result

TABLES: Final = ("jobs", "excluded_jobs", "timeline", "grants", "placements")
"""Of a `Result`."""

Value = Result | pd.DataFrame
"""What a run gives: the result of a simulation, or one table."""

Kept = Mapping[str, Sequence[str]] | Literal["summary"]
"""Columns that are kept of the tables of a `Result`; a table that is not named is kept without rows, or not at all.

Or only what `metrics.summary` says of it, as a table of one row.
"""


def reduced(value: Value, kept: Kept | None) -> Value:
    """Drop what nobody will read: all but what is in `kept`; everything stays if that is None."""
    if kept is None or isinstance(value, pd.DataFrame):
        return value
    if kept == "summary":
        return pd.DataFrame([summary(value)])
    tables = {name: table for name in TABLES if (table := getattr(value, name)) is not None}
    left = {name: table[list(kept[name])] if name in kept else table.iloc[:0, :0] for name, table in tables.items()}
    for name in ("grants", "placements"):
        left[name] = left[name] if name in kept else None
    return replace(value, **left)
