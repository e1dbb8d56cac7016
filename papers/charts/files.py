"""Files of a figure, named by its number and its trace."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from astraea import plots
from papers.charts.lettering import lettered


def save(
    fig: Figure, id: str, trace: str, folder: str | Path, data: pd.DataFrame, *, is_shown: bool = True
) -> None:  # fmt: skip
    """Write ``<id>_<trace>.png`` and ``.csv``, as `astraea.plots.save` does, after its letters are `lettered`."""
    lettered(fig)
    plots.save(fig, f"{id}_{trace}", data, folder, is_shown=is_shown)


def save_table(data: pd.DataFrame, id: str, trace: str, folder: str | Path) -> Path:
    """Write ``<id>_<trace>.csv``; return its path."""
    return plots.save_table(data, f"{id}_{trace}", folder)
