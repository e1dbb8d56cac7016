"""A figure as the files of its picture, beside the table that it shows."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from astraea.core.files import write_atomically
from astraea.plots.forms import with_pdf
from astraea.plots.lean import lean_png, lean_svg
from astraea.plots.style import style

DPI: Final = 200
"""Of a picture in pixels."""


def save(fig: Figure, id: str, trace: str, folder: str | Path, data: pd.DataFrame) -> None:
    """Write `<id>_<trace>.png`, `.svg`, `.csv`, and `.pdf` if wanted; the same figure gives the same bytes.

    In a notebook the picture is shown as it was written, and the figure closed.

    Raises
    ------
    InputError
        If the folder cannot be written.
    """
    base = save_table(data, id, trace, folder).with_suffix("")
    kinds: dict[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
    kinds |= {"pdf": {"CreationDate": None, "Creator": None, "Producer": None}} if with_pdf() else {}
    lean: dict[str, Callable[[bytes], bytes]] = {"png": partial(lean_png, dpi=DPI), "svg": lean_svg}
    written = {}
    with style():
        _arrange(fig)
        for kind, metadata in kinds.items():
            buffer = io.BytesIO()
            fig.savefig(buffer, format=kind, dpi=DPI, metadata=metadata)
            content = buffer.getvalue()
            written[kind] = lean.get(kind, bytes)(content)
            write_atomically(base.with_name(f"{base.name}.{kind}"), written[kind])
    if "inline" in plt.get_backend():  # which would draw it twice more
        from IPython.display import display

        width, height = (int(size) for size in fig.bbox.size)
        text = f"<Figure size {width}x{height} with {len(fig.axes)} Axes>"
        picture = {"image/png": b64encode(written["png"]).decode(), "text/plain": text}
        display(picture, raw=True, metadata={"image/png": {"width": width, "height": height}})  # type: ignore[no-untyped-call]
        plt.close(fig)


def _arrange(fig: Figure) -> None:
    """Place everything once, for all pictures; otherwise each is placed for itself, which takes as long as drawing."""
    engine = fig.get_layout_engine()
    if engine is None:
        return
    before = fig.get_dpi()
    fig.set_dpi(DPI)
    engine.execute(fig)
    fig.set_dpi(before)
    with plt.rc_context({"figure.constrained_layout.use": False}):
        fig.set_layout_engine(None)  # "none" would stand for an engine, before which a figure is drawn once more


def save_table(data: pd.DataFrame, id: str, trace: str, folder: str | Path) -> Path:
    """Write `<id>_<trace>.csv`, numbers with six significant digits; return its path."""
    path = Path(folder) / f"{id}_{trace}.csv"
    write_atomically(path, data.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    return path
