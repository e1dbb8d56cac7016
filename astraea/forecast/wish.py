"""A job that a user may submit: ``gpus=8,account=vision,time=4h``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pandas as pd

from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.core.units import DAY, HOUR, MINUTE
from astraea.traces.columns import MAX_DEMAND

_UNITS: Final = {"s": 1.0, "m": MINUTE, "min": MINUTE, "h": HOUR, "d": DAY}
_TIME: Final = "a time such as 90m, 4h, 2d, or Slurm's minutes, hours:minutes:seconds and days-hours"
_CLOCK: Final = re.compile(r"(?:(?P<days>\d{1,4})-)?(?P<rest>\d{1,6}(?::\d{1,2}){0,2})", re.ASCII)


class Wish(NamedTuple):
    """Requests of a job."""

    gpus: int
    account: str = ""  #: empty if not given
    user: str = ""
    partition: str = ""
    time: float = float("nan")  #: its time limit [s], NaN if none
    at: pd.Timestamp | None = None  #: time of submission; None for the end of the log, or now


def wish(text: str) -> Wish:
    """Parse a job, or raise `InputError` with the part that cannot be read."""
    found: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not (equals and value) or name not in _READ:
            known = ", ".join(f"{known}=..." for known in _READ)
            raise InputError(f"a job: expected {known}, separated by commas, got {printable(part)!r}")
        if name in found:
            raise InputError(f"a job: {name} is given twice")
        found[name] = _READ[name](value)
    if "gpus" not in found:
        raise InputError(f"a job: gpus=... is missing in {printable(text)!r}")
    return Wish(**found)


def _gpus(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= MAX_DEMAND) or len(text) > 9:
        raise InputError(f"a job: gpus must be a whole number from 1 to {MAX_DEMAND}, got {printable(text)!r}")
    return int(text)


def _seconds(text: str) -> float:
    """Parse a time limit as people write it, or as `sbatch` accepts it: a plain number is minutes."""
    if short := re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)(s|m|min|h|d)", text, re.ASCII):
        seconds = float(short[1]) * _UNITS[short[2]]
    elif found := _CLOCK.fullmatch(text):
        parts = [int(part) for part in found["rest"].split(":")]
        units = (HOUR, MINUTE, 1.0) if found["days"] or len(parts) == 3 else (MINUTE, 1.0)
        seconds = DAY * int(found["days"] or 0) + sum(a * b for a, b in zip(parts, units, strict=False))
    else:
        seconds = 0.0
    if not 0 < seconds <= 10 * 365 * DAY:
        raise InputError(f"a job: time must be {_TIME}, got {printable(text)!r}")
    return seconds


def _moment(text: str) -> pd.Timestamp:
    try:
        return pd.to_datetime(text, format="ISO8601").tz_localize(None)
    except (ValueError, TypeError, OverflowError):
        expected = "a time YYYY-MM-DDTHH:MM:SS"
        raise InputError(f"a job: at must be {expected}, got {printable(text)!r}") from None


_READ: Final[dict[str, Callable[[str], Any]]] = {
    "gpus": _gpus, "account": str, "time": _seconds, "user": str, "partition": str, "at": _moment,
}  # fmt: skip
