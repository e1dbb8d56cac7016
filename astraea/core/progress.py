"""Long work says what it does, how much is done, and when it will be finished: `progress`.

In a terminal and in a notebook that is a bar of tqdm; in a log, complete lines, for each tenth and each half minute.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from tqdm.asyncio import tqdm_asyncio
from tqdm.auto import tqdm

from astraea.core.units import HOUR, duration_text

BAR: Final = "{desc}: {percentage:.0f} %|{bar}| {done}{left}{postfix}"
SHARE: Final = 0.1
PAUSE: Final = 30.0
"""Of what is done, and time [s]: after either, a log gets another line."""


def progress(
    doing: str, unit: str, total: int | None = None, over: Iterable[Any] | None = None, *, scale: float = 1, **more: Any
) -> Any:
    """Show on the standard error stream how far some work is; used as a `tqdm` is.

    Parameters
    ----------
    doing : str
        What is done, such as ``simulating``.
    unit : str
        What is counted, in the plural.
    total : int, optional
        How many there are, if known and not told by `over`.
    over : iterable, optional
        What to go through, if not `update` tells how far it is.
    scale : float
        Of the numbers that are shown.
    **more
        Of `tqdm`.
    """
    kind = _Bar if sys.stderr.isatty() or tqdm is not tqdm_asyncio else _Lines  # which it is outside of a notebook
    return kind(over, doing, total, unit=unit, unit_scale=scale, bar_format=BAR, smoothing=0, **more)


class _Bar(tqdm):  # type: ignore[misc]
    """A bar that says what is left in words."""

    @property
    def format_dict(self) -> dict[str, Any]:
        known = super().format_dict
        n, total, elapsed = known["n"], known["total"], known["elapsed"]
        scale, unit = known["unit_scale"], known["unit"]
        done, left = f"{n * scale:,.0f}", ""
        if total:
            done += f" of {total * scale:,.0f}"
            if n >= total:
                left = f", took {duration_text(round(elapsed))}"
            elif n:
                rest = elapsed / n * (total - n)
                end = datetime.now() + timedelta(seconds=rest)
                when = f"{end:%H:%M}" if rest < 12 * HOUR else f"{end:%a %H:%M}"
                left = f", done in about {duration_text(round(rest))} (at {when})"
        return dict(known, done=f"{done} {unit}", left=left)

    def __bool__(self) -> bool:
        return True  # pooch asks whether there is a bar before it knows how much there is

    def reset(self, total: float | None = None) -> None:
        """Go back to the beginning; the time that it took counts on, also for pooch, which ends so."""
        self.n = 0


class _Lines(_Bar):
    """Lines for a log, without control characters."""

    disable: bool
    told: tuple[int, float] | None = None  # when the last line was written: how much was done, and the time [s]

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more, mininterval=0, miniters=1)

    def display(self, msg: str | None = None, pos: int | None = None) -> bool:
        """Write a line, if there is something new to say."""
        now = time.monotonic()
        if self.told is None or self.n - self.told[0] >= SHARE * (self.total or 0) or now - self.told[1] >= PAUSE:
            self._write(now)
        return True

    def close(self) -> None:
        """Write the last line."""
        if not self.disable:
            self.disable = True
            self._decr_instances(self)
            if self.told is None or self.told[0] != self.n:
                self._write(time.monotonic())

    def _write(self, now: float) -> None:
        self.told = (self.n, now)
        known = self.format_dict
        share = f", {100 * self.n / self.total:.0f} %" if self.total else ""
        print(f"{known['prefix']}: {known['done']}{share}{known['left']}", file=sys.stderr, flush=True)
