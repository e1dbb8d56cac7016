"""matplotlib's settings for every figure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
from matplotlib import rc_params_from_file

_SHEET: Final = Path(__file__).with_name("astraea.mplstyle")
_SETTINGS: Final[dict[str, Any]] = {
    str(name): value for name, value in rc_params_from_file(_SHEET, use_default_template=False).items()
}


@contextmanager
def style() -> Iterator[None]:
    """Apply every figure's settings within a `with` block; figures made in it lay themselves out.

    seaborn's figures have a layout of their own, so the settings for a whole session leave that out.
    """
    with plt.style.context(["default", _SETTINGS, {"figure.constrained_layout.use": True}]):
        yield
