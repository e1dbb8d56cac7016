"""The files of a figure as links, and its pictures as thumbnails with words for who cannot see them."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pandas as pd

from astraea.traces.synthetic import SYNTHETIC

WIDTHS: Final = {1: 640, 2: 420}
"""Of so many thumbnails in a row [pixels]; more of them are smaller."""

SMALL: Final = 280


def trace_of(path: Path) -> str:
    """The trace in the name of a file, ``<figure>_<trace>.<form>``."""
    return path.stem.partition("_")[2]


def trace_order(path: Path) -> tuple[int, str]:
    """Synthetic traces first, the others by name."""
    trace = trace_of(path)
    return (SYNTHETIC.index(trace) if trace in SYNTHETIC else len(SYNTHETIC), path.name)


def alt(title: str, finding: str, trace: str = "") -> str:
    """What a picture shows in words, as an attribute takes it: the title, the trace, and what was found."""
    words = f"{title}{f', {trace}' if trace else ''}. {finding}".replace("`", "")
    return html.escape(" ".join(words.split()), quote=True)


def thumbnail(path: Path, text: str, width: int) -> str:
    """A small picture that leads to the large one; `text` is that of `alt`."""
    name = quote(path.name)
    return f'<a href="{name}"><img src="{name}" width="{width}" alt="{text}"></a>'


def thumbnails(paths: Sequence[Path], texts: Iterable[str]) -> list[str]:
    """Pictures side by side, line by line."""
    width = WIDTHS.get(len(paths), SMALL)
    return [thumbnail(path, text, width) for path, text in zip(paths, texts, strict=True)]


def files(pictures: Sequence[Path], tables: Sequence[Path]) -> str:
    """Links to the numbers of the pictures, in their order, and to further tables."""
    beside = [path.with_suffix(".csv") for path in pictures if path.with_suffix(".csv").exists()]
    others = [path for path in tables if path not in beside]
    return "; ".join(f"[{path.name}]({quote(path.name)})" for path in (*beside, *others))


def repetitions(tables: Iterable[Path]) -> str:
    """Over how many seeds or trials the numbers in tables go, as far as they say so: ``5 seeds of venus``."""
    found: dict[tuple[str, str], int] = {}
    for path in tables:
        of = f" of {trace_of(path)}" if trace_of(path) in SYNTHETIC else ""
        for column in pd.read_csv(path, nrows=0).columns.intersection(["seed", "trial", "seeds", "instances"]):
            values = pd.read_csv(path, usecols=[column])[column].dropna()
            many = values.nunique() if column in ("seed", "trial") else int(values.max())
            key = (column.removesuffix("s"), of)
            found[key] = max(found.get(key, 0), many)
    return ", ".join(f"{many:,} {what}{'s' if many > 1 else ''}{of}" for (what, of), many in found.items())
