"""The share file: a weight for each tenant, and possibly the tree of queues whose leaves the tenants are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.traces.columns import POSITIVE, refuse
from astraea.traces.readers.table import read_table
from astraea.traces.tree import Shares, shares_of

_AMOUNT: Final = ("a number of GPUs of at least 0, or nothing", lambda v: v >= 0)
_NUMBERS: Final[dict[str, tuple[Any, float]]] = {
    "quota": (_AMOUNT, np.nan),
    "limit": (_AMOUNT, np.inf),
    "priority": (("a whole number, or nothing", lambda v: (v == np.floor(v)) & (abs(v) < 1e9)), 0.0),
}
"""Further columns with numbers: the expected values, and the meaning of an empty field."""


def read_shares(source: str | Path | Mapping[str, float] | None) -> dict[str, float] | None:
    """Read tenant weights from a mapping or a share file: tenant and weight below a header with any words.

    With any of the columns parent, quota, limit and priority the file is a tree of queues whose leaves are the tenants.
    """
    if source is None or isinstance(source, Mapping):
        return source if source is None or isinstance(source, Shares) else dict(source)
    table = read_table(Path(source))
    first, more = list(table.columns)[:2], list(table.columns)[2:]
    if len(first) < 2 or not {*more} <= {"parent", *_NUMBERS}:
        found, known = ", ".join(map(printable, table.columns)), ", ".join(("parent", *_NUMBERS))
        raise InputError(f"{source}, line 1: expected columns tenant and weight, then any of {known}; found {found}")
    names = table.text(first[0])
    refuse(pd.Series(names).duplicated(), names, first[0], table.where, "unique")
    shares = dict(zip(names, table.number(first[1], *POSITIVE).tolist(), strict=True))
    if not more:
        return shares
    numbers = {
        column: table.number(column, *good, empty=empty) if column in more else np.full(len(names), empty)
        for column, (good, empty) in _NUMBERS.items()
    }
    rows = pd.DataFrame({"share": shares.values(), **numbers}, index=pd.Index(names, dtype=object))
    parents = table.words("parent").tolist() if "parent" in more else [""] * len(names)
    try:
        return shares_of(rows, dict(zip(names, parents, strict=True)))
    except ValueError as err:
        raise InputError(f"{source}: {err}") from None
