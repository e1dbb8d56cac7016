"""Numbers as text for readers: counts, lists, durations, labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from astraea.core.units import DAY, HOUR, MINUTE

SECONDS: Final = {"s": 1.0, "min": MINUTE, "h": HOUR, "d": DAY}
"""Length of each unit of time that texts and pictures use [s]."""


def counted(number: int, word: str) -> str:
    """Return a number of things as text: ``1 job``, ``2,000 jobs``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def listed(words: Iterable[object], last: str = " and ") -> str:
    """Return words as text, with `last` before the last one: ``a, b and c``; "" for none."""
    *others, end = [f"{word}" for word in words] or [""]
    return last.join(word for word in (", ".join(others), end) if word)


def duration_text(seconds: float) -> str:
    """Return a time in the largest unit that is not longer than it: 90 -> ``1.5 min``."""
    unit = unit_for(abs(seconds), 1)
    return f"{seconds / SECONDS[unit]:.3g} {unit}"


def unit_for(longest: float, times: int = 2) -> str:
    """Return a common unit for several times, given the longest [s]: the largest that fits into it so many times."""
    return next((unit for unit in ("d", "h", "min") if longest >= times * SECONDS[unit]), "s")


def labels_text(labels: Mapping[str, str]) -> str:
    """Return labels as Prometheus and OpenMetrics write them, in braces; "" for none. Three characters are escaped."""
    texts = {k: v.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") for k, v in labels.items()}
    return "{" + ",".join(f'{k}="{v}"' for k, v in texts.items()) + "}" if texts else ""
