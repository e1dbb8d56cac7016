"""Units of time in seconds, and durations as text."""

from __future__ import annotations

from typing import Final

MINUTE: Final = 60.0
HOUR: Final = 3600.0
DAY: Final = 86_400.0

SECONDS: Final = {"s": 1.0, "min": MINUTE, "h": HOUR, "d": DAY}
"""Length of each unit of time that texts and pictures use [s]."""


def duration_text(seconds: float) -> str:
    """Return a time in the largest unit that is not longer than it: 90 -> ``1.5 min``."""
    unit = _largest(abs(seconds), 1)
    return f"{seconds / SECONDS[unit]:.3g} {unit}"


def unit_for(longest: float) -> str:
    """Return a common unit for several times, given the longest [s]: the largest unit that fits into it twice."""
    return _largest(longest, 2)


def _largest(seconds: float, times: int) -> str:
    return next((unit for unit in ("d", "h", "min") if seconds >= times * SECONDS[unit]), "s")
