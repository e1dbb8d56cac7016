"""Parts that other installed packages add: policies, formats of logs, and commands, by entry points."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final

from astraea.core.errors import InputError

OPS: Final = {
    "astraea.commands": ("audit", "live", "wait"),
    "astraea.formats": ("slurm",),
    "astraea.policies": ("kai", "kueue-afs", "slurm"),
}
"""Names that the package astraea-ops adds to each group of entry points, so that an error can say where they are."""


@cache
def added(group: str) -> dict[str, Any]:
    """Return what installed packages add to a group of entry points, by name in alphabetical order; loads it."""
    return {point.name: point.load() for point in sorted(entry_points(group=group), key=lambda point: point.name)}


def refuse_missing(group: str, name: str) -> None:
    """Raise `InputError` if `name` is a part of astraea-ops, and that package is not installed."""
    if name in OPS[group] and name not in {point.name for point in entry_points(group=group)}:
        raise InputError(
            f"{name} is part of the package astraea-ops, which is not installed; install it with: pip install ./ops, "
            "in a checkout of the project"
        )
