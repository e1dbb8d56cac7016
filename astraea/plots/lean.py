"""Pictures without what nobody sees: a third of the bytes, the same look.

A printer sets dots of a tenth of a point, and a screen shows as many as a picture has pixels.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from itertools import chain, product
from string import ascii_lowercase
from typing import Final
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
import pandas as pd
from PIL import Image

COLORS: Final = 64
"""Of a PNG: the few of a chart stay exactly what they are, and shades of the edges of lines and letters are merged."""

_SVG: Final = "{http://www.w3.org/2000/svg}"
_HREF: Final = "{http://www.w3.org/1999/xlink}href"
_GLYPH: Final = 64
"""Units of a letter's outline in a hundredth of the size of the font, which is what matplotlib places letters by."""

_CIRCLE: Final = re.compile(r"M[^CMz]*(?:C[^CMz]*){8}z")
_COMMAND: Final = re.compile(r"([MLQCz])([^MLQCz]*)")
_PLACE: Final = re.compile(r"translate\([^)]*\)|^[\d.-]+$")
_LONG: Final = re.compile(r"-?\d+\.\d{3,}")
_SHIFT: Final = re.compile(r"translate\((\S+) (\S+)\)")
_LINK: Final = re.compile(r"(?<=url\(#)[^)]+")

ElementTree.register_namespace("", _SVG.strip("{}"))
ElementTree.register_namespace("xlink", _HREF.removesuffix("href").strip("{}"))


def lean_svg(content: bytes) -> bytes:
    """An SVG of matplotlib with coordinates to a hundredth of a point, circles as circles, and every style once."""
    root = ElementTree.fromstring(content)
    for metadata in root.findall(f"{_SVG}metadata"):
        root.remove(metadata)
    styles = {f"#{path.get('id')}": path.get("style") for path in root.iter(f"{_SVG}path")}
    for use in root.iter(f"{_SVG}use"):
        _lean_use(use.attrib, styles.get(use.attrib[_HREF]))
    for path in root.iter(f"{_SVG}path"):
        _lean_path(path.attrib)
    for e in root.iter():
        for name in e.attrib.keys() & {"x", "y", "transform"}:
            e.attrib[name] = _PLACE.sub(lambda place: _LONG.sub(_short, place[0]), e.attrib[name])
    _rename(root)
    _unwrap(root)
    return ElementTree.tostring(root).replace(b" />", b"/>")


def _lean_use(use: dict[str, str], style: str | None) -> None:
    """A letter or a mark by its place; the style that its path has need not be said again."""
    if use.get("style") == style:
        use.pop("style", None)
    if shift := _SHIFT.fullmatch(use.get("transform", "")):
        del use["transform"]
        use |= {name: _number(round(10 * float(by)), 10) for name, by in zip("xy", shift.groups(), strict=True)}
    for name in ("x", "y"):
        if use.get(name) == "0":
            del use[name]


def _lean_path(path: dict[str, str]) -> None:
    """A path as steps between rounded points, so that no error adds up; a letter in the unit of its place."""
    outline = _CIRCLE.sub(_circle, path.get("d", ""))
    if not outline or "a" in outline:
        path |= {"d": outline} if outline else {}
        return
    is_letter = path.get("transform") == f"scale({1 / _GLYPH})"
    size, places = (1 / _GLYPH, 10) if is_letter else (1.0, 100)
    if is_letter:
        del path["transform"]
    parts, here, begin = [], (0, 0), (0, 0)
    for command, numbers in _COMMAND.findall(outline):
        if command == "z":
            parts.append("z")
            here = begin
            continue
        values = [round(places * size * float(number)) for number in numbers.split()]
        steps = [value - here[k % 2] for k, value in enumerate(values)]
        here = (values[-2], values[-1])
        begin = here if command == "M" else begin
        if command == "L" and 0 in steps:
            parts.append(f"v{_number(steps[1], places)}" if steps[0] == 0 else f"h{_number(steps[0], places)}")
        else:
            parts.append(command.lower() + " ".join(_number(step, places) for step in steps))
    path["d"] = "M" + "".join(parts).replace(" -", "-")[1:]


def _short(match: re.Match[str]) -> str:
    return _number(round(100 * float(match[0])), 100)


def _number(value: int, places: int) -> str:
    """A number of so many parts, as short as it can be."""
    return f"{value / places:.12g}".replace("0.", ".", 1) if abs(value) < places else f"{value / places:.12g}"


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


def _rename(root: ElementTree.Element) -> None:
    """Short names for what others refer to, none for the rest; styles become classes in the sheet."""
    uses = (use.attrib[_HREF][1:] for use in root.iter(f"{_SVG}use"))
    links = (link for e in root.iter() for value in e.attrib.values() for link in _LINK.findall(value))
    short = dict(zip(dict.fromkeys((*uses, *links)), _names(), strict=False))
    styles = dict(
        zip(dict.fromkeys(e.attrib["style"] for e in root.iter() if "style" in e.attrib), _names(), strict=False)
    )

    def linked(text: str) -> str:
        return _LINK.sub(lambda link: short[link[0]], text)

    for e in root.iter():
        given, e.attrib = e.attrib, {}
        for name, value in given.items():
            if name == "style":
                e.attrib["class"] = styles[value]
            elif name == _HREF and e.tag == f"{_SVG}use":
                e.attrib[name] = f"#{short[value[1:]]}"
            elif name == "id":
                e.attrib |= {name: short[value]} if value in short else {}
            else:
                e.attrib[name] = linked(value)
    sheet = next(root.iter(f"{_SVG}style"))
    rules = (f".{name}{{{linked(style).replace('; ', ';').replace(': ', ':')}}}" for style, name in styles.items())
    sheet.text = "\n".join([sheet.text or "", *rules])


def _names() -> chain[str]:
    """A, b, ... z, aa, ab and so on."""
    return chain.from_iterable(map("".join, product(ascii_lowercase, repeat=length)) for length in range(1, 5))


def _unwrap(e: ElementTree.Element) -> None:
    """Leave out groups that say nothing; each element on its line."""
    inside: list[ElementTree.Element] = []
    for part in e:
        _unwrap(part)
        part.tail = "\n"
        if part.tag == f"{_SVG}g" and (not part.attrib or len(part) == 0):
            inside += part
        else:
            inside.append(part)
    e[:] = inside
    e.text = (e.text or "").strip() or None


def lean_png(pixels: npt.NDArray[np.uint8], dpi: int) -> bytes:
    """A PNG with a palette, a third of the bytes; `pixels` are of shape (height, width, 4)."""
    picture = Image.fromarray(pixels).convert("RGB")
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
