"""Stored frames: pictures behind a slider that needs neither a kernel nor a network."""

from __future__ import annotations

import hashlib
import io
from base64 import b64encode
from collections.abc import Callable, Mapping
from html import escape
from typing import Final, NamedTuple, TypeVar

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from astraea.core.errors import InputError
from astraea.plots import style

DPI: Final = 144
"""Resolution of a frame: letters are sharp, and ten frames take about 300 kB as lossless WebP, a third of PNG."""

_Value = TypeVar("_Value")

_SCRIPT: Final = """
for (const box of document.querySelectorAll(".frames:not([data-on])")) {
  box.dataset.on = "";
  const folds = [...box.querySelectorAll("details")], labels = box.dataset.labels.split("|");
  const label = document.createElement("label"), slider = document.createElement("input");
  const said = document.createElement("output");
  Object.assign(slider, { type: "range", min: 0, max: folds.length - 1, value: folds.findIndex((fold) => fold.open) });
  slider.style.cssText = "width: min(20rem, 60%); vertical-align: middle; margin: 0 0.6rem";
  label.append(box.dataset.name + " ", slider, said);
  for (const fold of folds) {
    fold.removeAttribute("name");
    fold.querySelector("summary").style.display = "none";
  }
  const show = () => {
    folds.forEach((fold, k) => { fold.open = k === +slider.value; });
    said.value = labels[slider.value];
    slider.setAttribute("aria-valuetext", said.value);
  };
  slider.addEventListener("input", show);
  if (folds.length > 1) box.prepend(label);
  show();
}
"""


class Frames(NamedTuple):
    """Frames as HTML. Without script each is a fold, one open at a time; with script a slider chooses among them."""

    html: str
    labels: tuple[str, ...]

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"Frames: {', '.join(self.labels)}"


def frames(
    name: str,
    values: Mapping[str, _Value],
    draw: Callable[[_Value], Figure | tuple[Figure | pd.DataFrame | str, ...]],
    say: Callable[[_Value], str],
    start: str = "",
) -> Frames:
    """Draw one frame for each of `values`, by their labels; the one labelled `start`, or the first, is open.

    `name` is what the slider changes. `draw` returns a picture, or pictures, tables and texts one below the other;
    pictures are closed. `say` returns the alternative text of the pictures. `InputError` if there is no value, or no
    `start` among the labels.
    """
    labels = tuple(values)
    start = start or next(iter(labels), "")
    if start not in values:
        raise InputError(f"frames: start must be one of {list(labels)}, got {start!r}")
    texts = {label: escape(say(value)) for label, value in values.items()}
    group = "frames-" + hashlib.sha256(repr((name, texts)).encode()).hexdigest()[:8]
    folds = []
    for label, value in values.items():
        drawn = draw(value)
        parts = drawn if isinstance(drawn, tuple) else (drawn,)
        body = "\n".join(_as_html(part, texts[label]) for part in parts)
        mark = " open" if label == start else ""
        heading = f"<summary>{escape(name)}: {escape(label)}</summary>"
        folds.append(f'<details name="{group}"{mark}>{heading}\n{body}</details>')
    box = f'<div class="frames" data-name="{escape(name)}" data-labels="{escape("|".join(labels))}">'
    return Frames("\n".join([box, *folds, "</div>", f"<script>{_SCRIPT}</script>"]), labels)


def _as_html(part: Figure | pd.DataFrame | str, text: str) -> str:
    if isinstance(part, str):
        return f"<p>{escape(part)}</p>"
    if isinstance(part, pd.DataFrame):
        with pd.option_context("display.max_colwidth", None):
            is_named = part.index.names != [None]  # a named index is columns: one row of headings
            return str((part.reset_index() if is_named else part).to_html(justify="left", border=0, index=not is_named))
    buffer = io.BytesIO()
    with style():
        part.savefig(buffer, format="webp", dpi=DPI, pil_kwargs={"lossless": True})
    width = round(part.bbox.width)
    plt.close(part)
    data = b64encode(buffer.getvalue()).decode()
    size = f'width="{width}" style="max-width: 100%; height: auto"'
    return f'<img alt="{text}" {size} src="data:image/webp;base64,{data}">'
