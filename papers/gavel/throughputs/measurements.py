"""The file of throughputs that Gavel's authors measured: JSON, checked entry by entry.

`papers.gavel.throughputs.table.Throughputs.read` says what it looks like.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from astraea.core.checks import is_number
from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.traces.readers.table import read_text
from papers.gavel.throughputs.speeds import TYPES, Tables

UNCONSOLIDATED: Final = "_unconsolidated"
_KEY: Final = re.compile(r"\((['\"])(?P<kind>.+)\1, (?P<size>[1-9]\d{0,6})\)")


def read(path: Path) -> Tables:
    """The numbers of a file, or `InputError`."""
    if not path.is_file():
        hint = "get it with `astraea data fetch gavel-throughputs`"
        raise InputError(f"{path}: there is no such file of measured throughputs; {hint}")
    text = read_text(path)
    try:
        data = json.loads(text, object_pairs_hook=_once)
    except (RecursionError, ValueError) as err:
        raise InputError(f"{path}: not JSON ({err})") from None
    sections = _sections(path, data)
    found = dict.fromkeys(_key(section, key) for section, _, entries in sections for key in entries)
    number = {configuration: k for k, configuration in enumerate(found)}
    solo = np.zeros((2, len(number), len(TYPES)))
    shared = np.full((2, len(number), len(number), 2, len(TYPES)), np.nan)
    for section, (side, t), entries in sections:
        for key, beside in entries.items():
            place = f"{section}, {printable(key)}"
            k = number[_key(section, key)]
            for other, value in _values(place, beside):
                if other == "null":
                    solo[side, k, t] = value
                    continue
                n = number.get(_key(place, other), -1)
                if n < 0:
                    raise InputError(f"{place}: {printable(other)} is unknown, it has no entry of its own")
                known = shared[side, k, n, :, t].tolist()
                if known != value and not np.isnan(known).any():
                    raise InputError(f"{place}: {printable(other)} must be {known} as the other way round, got {value}")
                shared[side, n, k, :, t] = value[::-1]
                shared[side, k, n, :, t] = value
    # on one GPU there is nothing to consolidate
    one = np.array([size == 1 for _, size in number])
    solo[1, one] = solo[0, one]
    shared[1][np.ix_(one, one)] = shared[0][np.ix_(one, one)]
    return tuple(number), solo, np.nan_to_num(shared), ~np.isnan(shared).all(axis=(3, 4))


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON whose keys are all different."""
    out = dict(pairs)
    if len(out) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in out if keys.count(key) > 1)
        raise ValueError(f"key {printable(twice)} is there twice")
    return out


def _sections(path: Path, data: Any) -> list[tuple[str, tuple[int, int], dict[str, Any]]]:
    """Place, (0 or 1 for unconsolidated, type) and entries of every accelerator type, consolidated ones first."""
    names = [t + suffix for suffix in ("", UNCONSOLIDATED) for t in TYPES]
    if not isinstance(data, dict):
        raise InputError(f"{path}: expected an object with the accelerators {', '.join(TYPES)}, got {_word(data)}")
    for name in data:
        if name not in names:
            raise InputError(f"{path}: unknown accelerator {printable(name)!r}; expected one of {', '.join(names)}")
    for name in TYPES:
        if name not in data:
            raise InputError(f"{path}: accelerator {name!r} is missing; found {', '.join(data) or 'none'}")
    out = []
    for i, name in enumerate(names):
        if name in data:
            if not isinstance(data[name], dict) or not data[name]:
                word = _word(data[name])
                raise InputError(f"{path}, {name}: expected an object with the throughputs of job types, got {word}")
            out.append((f"{path}, {name}", divmod(i, len(TYPES)), data[name]))
    return out


def _key(place: str, text: str) -> tuple[str, int]:
    match = _KEY.fullmatch(text)
    if match is None:
        raise InputError(f"{place}: a key must be \"('job type', scale factor)\", got {printable(text)}")
    return match["kind"], int(match["size"])


def _values(place: str, beside: Any) -> Iterator[tuple[str, Any]]:
    """Every entry of a configuration, checked: one number alone, two beside another."""
    if not isinstance(beside, dict) or "null" not in beside:
        raise InputError(f"{place}: expected an object with the throughput alone under null, got {_word(beside)}")
    for other, value in beside.items():
        if other == "null":
            if not _is_rate(value):
                raise InputError(f"{place}: null must be steps/s of at least 0, got {printable(value)}")
        elif not (isinstance(value, list) and len(value) == 2 and all(map(_is_rate, value))):
            raise InputError(f"{place}, {printable(other)}: expected two steps/s of at least 0, got {printable(value)}")
        elif (value[0] == 0) != (value[1] == 0):
            raise InputError(f"{place}, {printable(other)}: expected both above 0 or both 0, got {printable(value)}")
        yield other, value


def _is_rate(value: Any) -> bool:
    return is_number(value) and 0 <= value < float("inf")


def _word(value: Any) -> str:
    return "an object without that" if isinstance(value, dict) else printable(value)
