"""The rows of tables that statements are measured on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from astraea.core.errors import InputError


class Missing(Exception):
    """A table, or something in it, is missing; the text is its name."""


class Absent(Missing):
    """A scheduler, or a value of another column, is missing from a table."""


@dataclass(frozen=True)
class Source:
    """The rows of one statement on one trace, and what the papers print, by statement.

    `where` gives the value, or a list of values, that columns have in these rows.
    """

    read: Callable[[str], pd.DataFrame]
    papers: Mapping[str, float]
    table: str
    trace: str
    id: str
    where: Mapping[str, Any]

    @property
    def paper(self) -> float:
        """The paper's value."""
        return self.papers[self.id]

    @property
    def readings(self) -> list[str]:
        """Readings that the table has, in its order; one without a name if it does not tell."""
        try:
            frame = self.read(f"{self.table}_{self.trace}")
        except Missing:
            return [""]
        return frame["reading"].drop_duplicates().to_list() if "reading" in frame else [""]

    def __call__(self, *columns: str) -> pd.DataFrame:
        """Rows with values in these columns; raises `Missing`, and `InputError` if the table lacks a column."""
        name = f"{self.table}_{self.trace}"
        frame = self.read(name)
        needed = [*self.where, *columns]
        if lost := [c for c in needed if c not in frame]:
            raise InputError(f"{name}.csv: column {lost[0]!r} is missing; found {', '.join(map(str, frame.columns))}")
        frame = frame.dropna(subset=needed)
        for column, value in self.where.items():
            frame = frame[frame[column].isin(value if isinstance(value, list) else [value])]
            if frame.empty:
                raise Absent(f"{column} {value} in {name}.csv")
        return frame

    def wide(self, column: str, *needed: Any, by: str = "scheduler", index: Sequence[str] = ()) -> pd.DataFrame:
        """A row per value of `index` and seed or trial, and a column per scheduler, all that are needed among them.

        Of policies, for the most jobs, where their number is varied.
        """
        frame = self(by, *index, column)
        if by == "policy" and "jobs" in frame:
            frame = frame[frame["jobs"] == frame["jobs"].max()]
        sample = next((c for c in ("seed", "trial") if c in frame and frame[c].notna().any()), "run")
        frame = frame if sample in frame else frame.assign(run=0)
        found = frame.pivot_table(index=[*index, sample], columns=by, values=column)
        for name in needed:
            if name not in found:
                raise Absent(f"{name} in {self.table}_{self.trace}.csv")
        return found
