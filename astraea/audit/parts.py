"""Parts of a page, in the form that its template takes: sections, tables, and embedded pictures."""

from __future__ import annotations

import io
import math
import re
from base64 import b64encode
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from astraea.core.units import SECONDS, unit_for
from astraea.plots import charts

UNFOLDED: Final = 10
"""Number of rows of a long table that are shown at once."""

Part = str | dict[str, Any]
"""A paragraph; or a dictionary with the lines of a list, the columns and rows of a table, or an image and its text."""


def section(title: str, *parts: Part) -> dict[str, Any]:
    """Return a section with a title, and an anchor made from it."""
    return {"id": title.lower().replace(" ", "-").replace(",", ""), "title": title, "parts": list(parts)}


def figure_of(fig: Figure, text: str) -> Part:
    """Return a picture as an SVG inside the page, with its description; the figure is closed."""
    buffer = io.BytesIO()
    with charts.style():
        fig.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(fig)
    return {"text": text, "source": f"data:image/svg+xml;base64,{b64encode(buffer.getvalue()).decode()}"}


def table_of(table: pd.DataFrame) -> Part:
    """Return a table with its cells as text; in a long table, all but the first rows are folded."""
    columns = [str(column) for column in table]
    cells = [cells_of(table.iloc[:, k]) for k in range(len(columns))]
    rows = list(zip(*cells, strict=True))
    shown = UNFOLDED if len(rows) > UNFOLDED + 2 else len(rows)
    return {"columns": columns, "rows": rows[:shown], "more": rows[shown:]}


def cells_of(column: pd.Series[Any]) -> list[str]:
    """Return a column as text; its numbers have as many decimals as show the largest with three digits."""
    if not pd.api.types.is_numeric_dtype(column):
        return column.astype(str).tolist()
    if pd.api.types.is_integer_dtype(column):
        return [f"{value:,}" for value in column]
    values = column.to_numpy(dtype=float)
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    whole = bool(np.all((values == np.round(values)) | np.isnan(values)))
    places = 0 if whole else next((k for k in range(4) if round(largest, k) >= 10 ** (2 - k)), 4)
    return ["–" if math.isnan(value) else f"{value:,.{places}f}" for value in values]


def label_of(scheduler: str) -> str:
    """Return a scheduler's name without mathematics."""
    return re.sub(r"\$_\{\\mathrm\{(\w+)\}\}\$", r" \1", charts.look(scheduler).label)


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """Rename columns for readers, with units: times in a unit that suits the column, shares in percent."""
    names = [str(column) for column in table]
    shares = [c for c in names if c in ("sharing_loss", "utilization", "overhead_share")]
    times = [c for c in names if c.endswith(("_wait", "_jct"))]
    unit = {c: unit_for(float(table[c].max())) for c in times}
    shown = table.copy()
    shown[shares] *= 100
    shown[times] = shown[times] / [SECONDS[unit[c]] for c in times]
    units = dict.fromkeys(shares, " [%]") | {c: f" [{unit[c]}]" for c in times} | {"lease_term": " [s]"}
    words = {
        "average_jct": "average JCT",
        "utilization": "GPU-time in use until the last submission",
        "overhead_share": "checkpoints and restarts as a share of the JCT",
    }
    return shown.rename(columns={c: words.get(c, c.replace("_", " ")) + units.get(c, "") for c in names})
