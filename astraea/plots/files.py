"""A figure as the files of its picture, beside the table that it shows."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import PlaceHolderLayoutEngine

from astraea.core.files import write_atomically
from astraea.plots.forms import with_pdf
from astraea.plots.lean import lean_png, lean_svg
from astraea.plots.style import style

DPI: Final = 200
"""Of a picture in pixels."""

Canvas = TypeVar("Canvas", bound=FigureCanvasBase)


def save(fig: Figure, id: str, trace: str, folder: str | Path, data: pd.DataFrame) -> None:
    """Write `<id>_<trace>.png`, `.svg`, `.csv`, and `.pdf` if wanted; the same figure gives the same bytes.

    In a notebook the picture is shown as it was written, and the figure closed.

    Raises
    ------
    InputError
        If the folder cannot be written.
    """
    base = save_table(data, id, trace, folder).with_suffix("")
    # with it, savefig would give the figure a new engine, and draw it unseen before the picture
    with style(), plt.rc_context({"figure.constrained_layout.use": False}):
        engine = fig.get_layout_engine() or PlaceHolderLayoutEngine(adjust_compatible=True, colorbar_gridspec=True)
        fig.set_layout_engine(None)
        with _on(fig, FigureCanvasAgg, DPI) as canvas:
            engine.execute(fig)
            canvas.draw()  # type: ignore[no-untyped-call]
            pixels = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
            written = {"png": lean_png(pixels, DPI)}
        with _on(fig, FigureCanvasSVG, FigureCanvasSVG.fixed_dpi):
            engine.execute(fig)  # letters are not as wide as in pixels
        written["svg"] = lean_svg(_saved(fig, "svg", {"Date": None, "Creator": None}))
        if with_pdf():
            written["pdf"] = _saved(fig, "pdf", {"CreationDate": None, "Creator": None, "Producer": None})
    for kind, content in written.items():
        write_atomically(base.with_name(f"{base.name}.{kind}"), content)
    if "inline" in plt.get_backend():  # which would draw it twice more
        from IPython.display import display

        width, height = (int(size) for size in fig.bbox.size)
        text = f"<Figure size {width}x{height} with {len(fig.axes)} Axes>"
        picture = {"image/png": b64encode(written["png"]).decode(), "text/plain": text}
        display(picture, raw=True, metadata={"image/png": {"width": width, "height": height}})  # type: ignore[no-untyped-call]
        plt.close(fig)


@contextmanager
def _on(fig: Figure, canvas: type[Canvas], dpi: float) -> Iterator[Canvas]:
    """Let a figure be drawn on another canvas, for the time of a `with` block."""
    before = fig.canvas, fig.get_dpi()
    fig.set_dpi(dpi)
    try:
        yield canvas(fig)
    finally:
        fig.set_canvas(before[0])
        fig.set_dpi(before[1])


def _saved(fig: Figure, kind: str, metadata: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    fig.savefig(buffer, format=kind, dpi=DPI, metadata=metadata)
    return buffer.getvalue()


def save_table(data: pd.DataFrame, id: str, trace: str, folder: str | Path) -> Path:
    """Write `<id>_<trace>.csv`, numbers with six significant digits; return its path."""
    path = Path(folder) / f"{id}_{trace}.csv"
    write_atomically(path, data.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    return path
