"""In which forms pictures are written beside PNG."""

from __future__ import annotations

import os
from typing import Final

from astraea.core.checks import one_of

KNOWN: Final = ("pdf", "svg")

VARIABLE: Final = "ASTRAEA_FORMATS"
"""Environment variable with forms, separated by commas; it reaches the kernels of notebooks."""


def further_forms() -> tuple[str, ...]:
    """Return the forms that `VARIABLE` names; `InputError` if one is unknown."""
    named = (word.strip() for word in os.environ.get(VARIABLE, "").split(","))
    return tuple(one_of(word, KNOWN, "form") for word in named if word)
