"""Figures: the order, colours and marks of schedulers, one style, and `save`.

For all figures of a session: ``matplotlib.pyplot.style.use("astraea.plots.astraea")``.
"""

from __future__ import annotations

from astraea.plots.files import save, save_table
from astraea.plots.looks import LOOKS, OTHERS, Look, look, markers, order, palette
from astraea.plots.theme import style

__all__ = ["LOOKS", "OTHERS", "Look", "look", "markers", "order", "palette", "save", "save_table", "style"]
