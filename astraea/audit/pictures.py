"""Pictures, tables and sections of an audit, as the template of its page takes them."""

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

WIDTH: Final = 6.0
"""[inch]; letters are legible on a telephone, and not too large on a screen."""

LONGEST: Final = 20
"""Letters of a name that are shown."""


Part = str | dict[str, Any]
"""A paragraph, or the lines of a list, the columns and rows of a table, the source of a picture and what it shows."""


def section(title: str, *parts: Part) -> dict[str, Any]:
    """A section with a title, and an address made of it."""
    return {"id": title.lower().replace(" ", "-").replace(",", ""), "title": title, "parts": list(parts)}


def figure_of(fig: Figure, text: str) -> Part:
    """A picture, an SVG inside the page, with what it shows; the figure is closed."""
    buffer = io.BytesIO()
    with charts.style():
        fig.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(fig)
    return {"text": text, "source": f"data:image/svg+xml;base64,{b64encode(buffer.getvalue()).decode()}"}


def table_of(table: pd.DataFrame) -> Part:
    """A table, with its cells as text."""
    columns = [str(column) for column in table]
    cells = [cells_of(table.iloc[:, k]) for k in range(len(columns))]
    return {"columns": columns, "rows": list(zip(*cells, strict=True))}


def cells_of(column: pd.Series[Any]) -> list[str]:
    """A column as text, its numbers with as many places as tell the largest to three digits."""
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
    """A scheduler's name without mathematics."""
    return re.sub(r"\$_\{\\mathrm\{(\w+)\}\}\$", r" \1", charts.look(scheduler).label)


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """Columns as people call them, with units: times of all columns in one, shares in percent."""
    names = [str(column) for column in table]
    shares = [c for c in names if c in ("sharing_loss", "utilization", "overhead_share")]
    times = [c for c in names if c.endswith(("_wait", "_jct"))]
    unit = unit_for(float(table["average_jct"].max()))
    shown = table.copy()
    shown[shares] *= 100
    shown[times] /= SECONDS[unit]
    units = dict.fromkeys(shares, " [%]") | dict.fromkeys(times, f" [{unit}]") | {"lease_term": " [s]"}
    words = {
        "average_jct": "average JCT",
        "utilization": "in use until the last submission",
        "overhead_share": "checkpoints and restarts, of the JCT",
    }
    return shown.rename(columns={c: words.get(c, c.replace("_", " ")) + units.get(c, "") for c in names})


def load(table: pd.DataFrame, gpus: int) -> Figure:
    """GPUs held, and waited for, over time; `table` is that of `scenarios.over_time`."""
    fig, axes = charts.panels(rows=2, width=WIDTH, height=1.5)
    unit = unit_for(float(table["time"].max()))
    at = table["time"].to_numpy() / SECONDS[unit]
    axes[0].fill_between(at, table["held"], step="post", color="#0072B2", linewidth=0)
    axes[0].set_ylim(0, 1.05 * gpus)
    charts.mark_line(axes[0], gpus, f"{gpus:,}", vertical=False)
    axes[0].set_ylabel("GPUs in use")
    axes[0].tick_params(labelbottom=False)
    axes[1].fill_between(at, table["wanted"], step="post", color="#D55E00", linewidth=0)
    axes[1].set_ylim(bottom=0)
    axes[1].set_ylabel("GPUs waited for")
    axes[1].set_xlabel(f"Time since the first submission [{unit}]")
    for ax in axes:
        ax.set_xlim(0, at[-1])
    return fig


def fairness(table: pd.DataFrame, period: str) -> Figure:
    """Each tenant's GPU-time over what it was owed, period by period; `table` is that of `scenarios.owed`."""
    parts = table[table["period"] > 0]
    tenants = sorted(parts["tenant"].unique())
    wide = parts.set_index(["period", "tenant"])["rho"].unstack(0).reindex(tenants)  # noqa: PD010
    fig, ax = charts.panels(width=WIDTH, height=max(1.4, 0.2 * len(tenants) + 0.8))
    shown = ax.imshow(np.log2(wide.clip(0.25, 4.0)), cmap="RdBu", vmin=-2, vmax=2, aspect="auto")
    ax.set_facecolor("#cccccc")
    with charts.style():
        bar = fig.colorbar(shown, ax=ax, ticks=[-2, -1, 0, 1, 2], pad=0.01)
        bar.ax.set_yticklabels(["≤ 1/4", "1/2", "1", "2", "≥ 4"])
        bar.set_label("Got / owed")
    ax.set_yticks(range(len(tenants)), [_short(name) for name in tenants])
    every = -(-len(wide.columns) // 20)
    ax.set_xticks(range(0, len(wide.columns), every), [str(k) for k in wide.columns[::every]])
    ax.set_xlabel(period.capitalize())
    ax.grid(False)
    return fig


def waits(table: pd.DataFrame, by: str, replay: str) -> Figure:
    """Average wait of each class under each scheduler, of `scenarios.waits_by`; `replay` is the cluster's own."""
    classes, names = list(dict.fromkeys(table[by])), list(dict.fromkeys(table["scheduler"]))
    unit = unit_for(float(table["mean"].max()))
    length = SECONDS[unit]
    fig, ax = charts.panels(width=WIDTH, height=max(1.6, 0.13 * len(classes) * len(names) + 1.0))
    for k, name in enumerate(names):
        part = table[table["scheduler"] == name].set_index(by).reindex(classes)
        y = np.arange(len(classes)) + (k - (len(names) - 1) / 2) * 0.8 / len(names)
        here = charts.look(name, k)
        color = "#222222" if k == 0 else here.color  # as it was
        label = f"{here.label}, replayed" if name == replay else here.label
        ax.hlines(y, part["low"] / length, part["high"] / length, color=color, linewidth=1)
        ax.plot(part["mean"] / length, y, here.marker, color=color, markersize=4, label=label)
    for line in range(1, len(classes)):
        ax.axhline(line - 0.5, color="#dddddd", linewidth=0.6)
    ax.set_yticks(range(len(classes)), [_short(name) for name in classes])
    ax.set_ylim(len(classes) - 0.5, -0.5)
    ax.set_xlim(left=0)
    ax.set_xlabel(f"Average wait [{unit}]")
    ax.set_ylabel("Tenant" if by == "tenant" else "GPUs of the gang")
    with charts.style():
        fig.legend(loc="outside upper center", ncols=3)
    return fig


def _short(name: str) -> str:
    """A name that leaves room for the picture, without mathematics in it."""
    short = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    return short.replace("$", r"\$")
