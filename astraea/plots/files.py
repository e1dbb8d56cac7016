"""Files of a figure: its picture in every wanted form, and the table that it shows."""

from __future__ import annotations

import io
import os
from base64 import b64encode
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from astraea.core.checks import one_of
from astraea.core.files import write_atomically
from astraea.plots.lettering import lettered
from astraea.plots.style import style

DPI: Final = 200
"""Pixels per inch of a PNG."""

KNOWN: Final = ("pdf", "svg")
"""Forms beside PNG."""

VARIABLE: Final = "ASTRAEA_FORMATS"
"""Environment variable with forms, separated by commas; it reaches the kernels of notebooks."""

UNDATED: Final[dict[str, dict[str, Any]]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Metadata that each form leaves out, so that the same figure gives the same bytes."""


def further_forms() -> tuple[str, ...]:
    """Return the forms that `VARIABLE` names; `InputError` if one is unknown."""
    named = (word.strip() for word in os.environ.get(VARIABLE, "").split(","))
    return tuple(one_of(word, KNOWN, "form") for word in named if word)


def save(
    fig: Figure, id: str, trace: str, folder: str | Path, data: pd.DataFrame, *, is_shown: bool = True
) -> None:  # fmt: skip
    """Write `<id>_<trace>.png`, `.csv`, and the further forms that are wanted; the same figure gives the same bytes.

    Its letters are `lettered`. In a notebook the picture is shown as it was written, if `is_shown`, and the figure
    closed. `InputError` if the folder cannot be written.
    """
    base = save_table(data, id, trace, folder).with_suffix("")
    lettered(fig)
    written = {}
    for kind in ("png", *further_forms()):
        buffer = io.BytesIO()
        with style():
            fig.savefig(buffer, format=kind, dpi=DPI, metadata=UNDATED[kind])
        written[kind] = buffer.getvalue()
        write_atomically(base.with_name(f"{base.name}.{kind}"), written[kind])
    if "inline" in plt.get_backend():  # which would draw it once more
        if is_shown:
            _display(fig, written["png"])
        plt.close(fig)


def _display(fig: Figure, png: bytes) -> None:
    from IPython.display import display

    width, height = (int(size) for size in fig.bbox.size)
    text = f"<Figure size {width}x{height} with {len(fig.axes)} Axes>"
    picture = {"image/png": b64encode(png).decode(), "text/plain": text}
    display(picture, raw=True, metadata={"image/png": {"width": width, "height": height}})  # type: ignore[no-untyped-call]


def save_table(data: pd.DataFrame, id: str, trace: str, folder: str | Path) -> Path:
    """Write `<id>_<trace>.csv`, numbers with six significant digits; return its path."""
    path = Path(folder) / f"{id}_{trace}.csv"
    write_atomically(path, data.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    return path
