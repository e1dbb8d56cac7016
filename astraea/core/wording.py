"""Numbers as text for readers: counts, durations, and the summary of a run as a table.

No simulation imports this module, so that an edit of what is only shown makes no stored result invalid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from astraea.core import metrics
from astraea.core.result import Result
from astraea.core.units import DAY, HOUR, MINUTE

SECONDS: Final = {"s": 1.0, "min": MINUTE, "h": HOUR, "d": DAY}
"""Length of each unit of time that texts and pictures use [s]."""

FIGURES: Final = {
    "policy": ("scheduler", ""),
    "excluded_gpu_time": ("excluded GPU-time", "GPU-s"),
    "average_jct": ("average JCT", "s"),
    "median_jct": ("median JCT", "s"),
    "average_queueing_delay": ("average queueing delay", "s"),
    "sharing_loss": ("sharing loss", "% of jobs"),
    "undefined_jobs": ("jobs that are owed nothing", ""),
    "tenant_sharing_loss": ("tenant sharing loss", "% of tenant-days"),
    "makespan": ("makespan", "s"),
    "utilization": ("utilization", "%"),
    "overhead_share": ("overhead share", "% of the average JCT"),
    "seconds": ("simulated in", "s"),
}
"""Names and units of figures; any other is shown under its key. Times of an hour and more are printed in hours."""


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


class Summary(dict[str, Any]):
    """Figures of a run by name, in s, GPU-s and shares; it prints as a table with readable units."""

    def __repr__(self) -> str:
        rows = [_row(key, value) for key, value in self.items()]
        name, value = (max(len(row[k]) for row in rows) for k in (0, 1))
        return "\n".join(f"{row[0]:<{name}}  {row[1]:>{value}}  {row[2]}".rstrip() for row in rows)


def _row(key: str, value: Any) -> tuple[str, str, str]:
    """Return name, value and unit of a figure, as text."""
    words, unit = FIGURES.get(key, (key.replace("_", " "), ""))
    if isinstance(value, int):
        return words, f"{value:,}", unit
    if not isinstance(value, float):
        return words, "-" if value is None else str(value), unit
    if math.isnan(value):
        return words, "-", ""
    if unit in ("s", "GPU-s"):
        value, unit = (value / HOUR, unit.replace("s", "h")) if value >= HOUR else (value, unit)
        return words, f"{value:,.{1 if abs(value) >= 100 else 2}f}", unit
    return (words, f"{100 * value:.2f}", unit) if unit.startswith("%") else (words, f"{value:.3f}", unit)


def summary(result: Result) -> Summary:
    """Return the figures of a run by name, as `metrics.summary` computes them; they print as a table."""
    return Summary(metrics.summary(result))
