"""Lengths of texts in a figure, and texts in several lines; a formula counts as three letters."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Final

import numpy as np

TOGETHER: Final = re.compile(r"(?<=\d) (?=%|h\b|min\b)|(?<=\(log) (?=scale)|(?<=\(axis) (?=cut)| (?=[^\[\]]*\])")
"""Spaces at which no line ends: before a unit, inside the brackets of one, and inside the note on a scale."""

_FORMULA: Final = re.compile(r"\$.*?\$")


def letters(text: str) -> int:
    """Count the letters of a line."""
    return len(_FORMULA.sub("...", text))


def legend_width(labels: Sequence[str], columns: int) -> float:
    """Estimate the width of a legend in so many columns, which are filled one after the other [inch]."""
    sizes = [letters(label) for label in labels]
    return sum(0.066 * int(max(part)) + 0.6 for part in np.array_split(sizes, columns) if len(part))


def even_lines(line: str, width: int) -> str:
    """Wrap a line into as few lines of `width` letters as it needs, of even length; a formula counts as 3 letters.

    A number stays with its unit, and a note on the scale of an axis in one line.
    """
    formulas = _FORMULA.findall(line)
    plain = _FORMULA.sub("\ue000" * 3, TOGETHER.sub("\N{NO-BREAK SPACE}", line))
    least = max(map(len, [".", *plain.split(" ")]))
    widths = range(least, max(least, width) + 1)
    wrapped = [textwrap.wrap(plain, w, break_on_hyphens=False) for w in widths]
    even = next(lines for lines in wrapped if len(lines) == len(wrapped[-1]))
    return re.sub("\ue000{3}", lambda _: formulas.pop(0), "\n".join(even))
