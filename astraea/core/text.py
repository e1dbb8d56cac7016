"""Values as one line of a message."""

from __future__ import annotations

from typing import Any


def escaped(value: Any) -> str:
    """Return a value as text on one line, with control characters escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(value))


def printable(value: Any) -> str:
    """Return a value as text for a message: on one line, control characters escaped, at most 80 characters."""
    text = escaped(str(value)[:80])
    return text + "..." if len(str(value)) > 80 else text
