"""Tables made by hand, and verdicts of the papers' rules on them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from papers.claims.evaluate import evaluate

Tables = Mapping[str, pd.DataFrame]


def judged(folder: Path, tables: Tables, *ids: str) -> dict[str, tuple[str, str, str]]:
    """Write tables, and give (verdict, measured, note) of some statements."""
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    found = evaluate(folder, f"(?:{'|'.join(map(re.escape, ids))})$")
    return {id: tuple(row) for id, *row in found[["id", "verdict", "measured", "note"]].to_numpy().tolist()}


def rows(columns: str, *values: Any) -> pd.DataFrame:
    return pd.DataFrame(values, columns=columns.split())


def schedulers(column: str, **values: float) -> pd.DataFrame:
    """Two seeds around each value."""
    return rows(f"scheduler seed {column}", *((s.replace("_", "-"), k, v * (1 + d)) for s, v in values.items()
                for k, d in enumerate((-0.01, 0.01))))  # fmt: skip


def loads(column: str, rates: tuple[float, ...] = (1.0, 2.0), **values: tuple[float, ...]) -> pd.DataFrame:
    """The values of each policy at each rate."""
    return rows(f"policy jobs_per_hour seed {column}", *((p.replace("_", "-"), r, 0, v) for p, at in values.items()
                for r, v in zip(rates, at, strict=True)))  # fmt: skip
