"""Files of a figure: its picture in every wanted form, and the table that it shows."""

from __future__ import annotations

import io
import os
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from PIL import Image

from astraea.core.checks import one_of
from astraea.core.files import write_atomically
from astraea.plots.looks import LOOKS
from astraea.plots.theme import style

DPI: Final = 150
"""Pixels per inch of a PNG; notebooks store their pictures, so a sharper one makes every notebook larger."""

COLORS: Final = 128
"""Colours of a PNG."""

KNOWN: Final = ("pdf", "svg")
"""Forms beside PNG."""

VARIABLE: Final = "ASTRAEA_FORMATS"
"""Environment variable with forms, separated by commas; it reaches the kernels of notebooks."""

FOLDER: Final = "ASTRAEA_FIGURES"
"""Environment variable with the folder of figures, for a `save` that is given none."""

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
    fig: Figure, name: str, table: pd.DataFrame, folder: str | Path | None = None, forms: Sequence[str] = (), *,
    is_shown: bool = True,
) -> None:  # fmt: skip
    """Write ``<name>.png``, ``<name>.csv`` with the rows that are drawn, and further forms of the picture.

    The same figure gives the same bytes. In a notebook the picture is shown as it was written, and the figure closed.

    Parameters
    ----------
    fig : Figure
        The picture; that of a seaborn grid is its attribute ``figure``.
    name : str
        Name of the files without their endings.
    table : DataFrame
        Exactly the rows that are drawn, written by `save_table`.
    folder : path, optional
        By default that which the environment variable ``ASTRAEA_FIGURES`` names, or the working folder.
    forms : sequence of str, optional
        Forms beside PNG, of ``pdf`` and ``svg``, in addition to those of the environment variable ``ASTRAEA_FORMATS``.
    is_shown : bool, optional
        False if a notebook shall not show the picture.

    Raises
    ------
    InputError
        If a form is unknown, or the folder cannot be written.
    """
    name_schedulers(fig)
    laid_out = isinstance(fig.get_layout_engine(), ConstrainedLayoutEngine)
    wanted = dict.fromkeys(("png", *further_forms(), *(one_of(form, KNOWN, "form") for form in forms)))
    base = save_table(table, name, folder)
    written = {}
    for kind in wanted:
        buffer = io.BytesIO()
        with style():
            # a seaborn grid has its title above its panels: its picture is cut around what is drawn
            cut: Any = None if laid_out else "tight"
            fig.savefig(buffer, format=kind, dpi=DPI, metadata=UNDATED[kind], bbox_inches=cut)
        written[kind] = smaller(buffer) if kind == "png" else buffer.getvalue()
        write_atomically(base.with_name(f"{name}.{kind}"), written[kind])
    if "inline" in plt.get_backend():  # which would draw it once more
        if is_shown:
            _display(fig, written["png"])
        plt.close(fig)


def smaller(png: io.BytesIO) -> bytes:
    """Return a picture with a palette of `COLORS`, which takes a third of the bytes and looks the same."""
    with Image.open(png) as image:
        few = image.convert("RGB").quantize(COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    few.save(buffer, "png", optimize=True, dpi=(DPI, DPI))
    return buffer.getvalue()


def name_schedulers(fig: Figure) -> None:
    """Write each scheduler's name as in its paper where a legend, a tick or a title has its identifier."""
    fig.draw_without_rendering()
    for ax in fig.axes:
        for axis in (ax.xaxis, ax.yaxis):
            texts = [tick.get_text() for tick in axis.get_ticklabels()]
            if (named := [_in_paper(text) for text in texts]) != texts:
                axis.set_ticks(axis.get_ticklocs(), named)
    for text in fig.findobj(Text):
        text.set_text(_in_paper(text.get_text()))


def _in_paper(text: str) -> str:
    look = LOOKS.get(text)
    return look.label if look is not None and look.is_scheduler else text


def _display(fig: Figure, png: bytes) -> None:
    from IPython.display import display

    width, height = (int(size) for size in fig.bbox.size)
    text = f"<Figure size {width}x{height} with {len(fig.axes)} Axes>"
    picture = {"image/png": b64encode(png).decode(), "text/plain": text}
    display(picture, raw=True, metadata={"image/png": {"width": width, "height": height}})  # type: ignore[no-untyped-call]


def save_table(table: pd.DataFrame, name: str, folder: str | Path | None = None) -> Path:
    """Write ``<name>.csv``, numbers with six significant digits; return its path. `folder` is as in `save`."""
    path = Path(os.environ.get(FOLDER, "") if folder is None else folder) / f"{name}.csv"
    write_atomically(path, table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    return path
