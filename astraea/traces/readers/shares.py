"""Weights of tenants: a share file, possibly with the tree of queues above them."""

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
from astraea.traces.tree import Shares, Tree

_AMOUNT: Final = ("a number of GPUs of at least 0, or nothing", lambda v: v >= 0)
_NUMBERS: Final[dict[str, tuple[Any, float]]] = {
    "quota": (_AMOUNT, np.nan),
    "limit": (_AMOUNT, np.inf),
    "priority": (("a whole number, or nothing", lambda v: (v == np.floor(v)) & (abs(v) < 1e9)), 0.0),
}
"""Further columns with numbers: the expected values, and the meaning of an empty field."""


def read_shares(source: str | Path | Mapping[str, float] | None) -> dict[str, float] | None:
    """Read tenant weights from a mapping or a share file, with any words as header; further columns make it a tree."""
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
    return shares_of(rows, dict(zip(names, parents, strict=True)), f"{source}")


def shares_of(rows: pd.DataFrame, parent: Mapping[str, str], source: str) -> Shares:
    """Make the shares of queues from one row per name with the columns of `Tree` except `parent`; leaves are tenants.

    `InputError` names a queue whose parent is unknown, or that is its own ancestor.
    """
    depth = {name: _depth(parent, name, source) for name in parent}
    inner = set(parent.values())
    order = sorted(parent, key=lambda name: (name in inner, -depth[name] if name in inner else 0, name))
    place = {name: i for i, name in enumerate(order)} | {"": -1}
    columns = {name: rows.loc[order, name].to_numpy(np.float64) for name in ("share", "quota", "limit")}
    priority = rows.loc[order, "priority"].to_numpy(np.int64)
    tree = Tree(parent=np.array([place[parent[name]] for name in order]), **columns, priority=priority)
    tenants = [name for name in order if name not in inner]
    return Shares(dict(zip(tenants, tree.weight.tolist(), strict=False)), tree)


def _depth(parent: Mapping[str, str], name: str, source: str) -> int:
    """Return the number of queues above one."""
    above: list[str] = []
    while parent[name]:
        name, below = parent[name], name
        if name not in parent:
            raise InputError(f"{source}: the parent {printable(name)} of {printable(below)} has no row")
        if name in above:
            raise InputError(f"{source}: {printable(name)} is its own parent or ancestor")
        above.append(name)
    return len(above)
