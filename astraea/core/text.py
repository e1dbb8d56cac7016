"""Values as text on one line, for messages and tables."""

from __future__ import annotations

from typing import Any


def escaped(value: Any) -> str:
    """Show a value on one line: control characters are escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(value))


def printable(value: Any) -> str:
    """Show a value on one line of a message: control characters are escaped, and at most 80 characters are shown."""
    text = escaped(str(value)[:80])
    return text + "..." if len(str(value)) > 80 else text


def counted(number: int, word: str) -> str:
    """Write a number of things: ``1 job``, ``2,000 jobs``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
