"""Pictures without what nobody sees: half the bytes, the same look.

A printer sets dots of a tenth of a point, and a screen shows as many as a picture has pixels.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from PIL import Image

COLORS: Final = 256
"""Of a PNG: the few of a chart stay exactly what they are, and shades of the edges of lines and letters are merged."""

_HATCH: Final = re.compile(r"<pattern.*?</pattern>", re.DOTALL)
_CIRCLE: Final = re.compile(r"M[^CMz]*(?:C[^CMz]*){8}z")
_PLACES: Final = re.compile(r'(?<= d=")[^"]*|(?<= [xy]=")[^"]*|translate\([^)]*\)')
_LONG: Final = re.compile(r"-?\d+\.\d{2,}")
_COMMAND: Final = re.compile(r"\s*([MLHVCSQTAZaz])\s*")
_STYLE: Final = re.compile(r'(?<= style=")[^"]*')


def lean_svg(content: bytes) -> bytes:
    """An SVG of matplotlib with coordinates to a hundredth of a point, circles as circles, and short names."""
    text = _HATCH.sub(lambda match: _CIRCLE.sub(_circle, match[0]), content.decode())
    text = _PLACES.sub(_short, text).replace("DejaVuSans-", "g")
    text = _STYLE.sub(lambda match: match[0].replace("; ", ";").replace(": ", ":"), text)
    return re.sub(r"\n\s+", "\n", text).encode()


def _circle(match: re.Match[str]) -> str:
    """Two arcs for the eight curves of which matplotlib makes each of the hundreds of circles of a hatching.

    They turn the same way: what is inside a ring turns against it, and is no part of it.
    """
    points = np.array(re.findall(r"-?[\d.]+", match[0]), dtype=float).reshape(-1, 2)
    (left, top), (right, bottom) = points.min(axis=0), points.max(axis=0)
    x, y = points.T
    turns = int(x @ np.roll(y, -1) > y @ np.roll(x, -1))
    arc = f"a{(right - left) / 2:.2f} {(right - left) / 2:.2f} 0 1 {turns}"
    return f"M{left:.2f} {(top + bottom) / 2:.2f}{arc} {right - left:.2f} 0{arc} {left - right:.2f} 0z"


def _short(match: re.Match[str]) -> str:
    """Coordinates with two decimals at most."""
    text = _LONG.sub(lambda number: f"{round(float(number[0]), 2) + 0.0:.2f}".rstrip("0").rstrip("."), match[0])
    return _COMMAND.sub(r"\1", text.strip()) if text[:1] == "M" else text


def lean_png(content: bytes, dpi: int) -> bytes:
    """A PNG with a palette, a third of the bytes."""
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    few = picture.quantize(COLORS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    few.save(buffer, "png", optimize=True, dpi=(dpi, dpi))
    return buffer.getvalue()


def corners(frame: pd.DataFrame, value: str, by: Sequence[str]) -> pd.DataFrame:
    """Rows at the ends of every stretch over which a stepped curve stays what it is; those between say the same.

    The rows of each class of `by` must be in order.
    """
    curves = frame.groupby(list(by), sort=False)[value]
    between = (frame[value] == curves.shift(1)) & (frame[value] == curves.shift(-1))
    return frame[~between]
