"""Progress bars for long work: `progress`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Final

from tqdm.asyncio import tqdm_asyncio
from tqdm.auto import tqdm

PAUSE: Final = 30.0
"""Time between two lines in a log [s]."""


def progress(doing: str, unit: str, total: int | None = None, over: Iterable[Any] | None = None, **more: Any) -> Any:
    """Show on the standard error stream how much work is done: a bar, or lines in a log; return a `tqdm`.

    `doing` is a word such as ``simulating``, `unit` names what is counted, in the plural, and `over` is the iterable;
    without it the caller calls `update`. `total` is needed if `over` has no length. `more` are arguments of `tqdm`.
    """
    is_notebook = tqdm is not tqdm_asyncio
    if not (is_notebook or sys.stderr.isatty()):
        left = ", {percentage:.0f} %, {remaining} left" if total or hasattr(over, "__len__") else ""
        form = f"{{desc}}: {{n_fmt}} of {{total_fmt}}{{unit}}{left}{{postfix}}"
        more |= {"file": _Lines(), "mininterval": PAUSE, "bar_format": form}
    return tqdm(over, doing, total, unit=f" {unit}", **more)


class _Lines:
    """A stream for `tqdm` that writes complete lines without control characters."""

    def write(self, text: str) -> None:
        """Write a line, unless it contains only steps back to the beginning of the line."""
        if line := text.strip():
            print(line, file=sys.stderr)

    def flush(self) -> None:
        """Flush the standard error stream."""
        sys.stderr.flush()
