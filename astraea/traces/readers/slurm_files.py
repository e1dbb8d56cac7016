"""Output of Slurm's commands with ``|`` between fields: ``sacct -P``, and the shares of ``sshare -P -a``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, combinations_with_replacement, islice
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.traces.columns import POSITIVE, refuse
from astraea.traces.readers.table import WIDTH, Faults, Table, read_lines, read_text, table_of
from astraea.traces.slurm_words import STATES

TENANTS: Final = {
    "account": "Account", "top-account": "Account", "user": "User", "partition": "Partition", "qos": "QOS",
}  # fmt: skip
"""Possible tenants, and their columns."""

SHARES: Final = ("Account", "User", "RawShares", "NormShares")
"""Columns that identify the output of ``sshare -P``."""

CHUNK: Final = 5_000
"""Number of rows read at a time."""

ID: Final = re.compile(r"(?P<job>\d+)(?P<task>_\d+|_\[[^\]]*\])?(?P<part>\+\d+)?(?P<step>\.[\w.+-]+)?")
"""A `JobID`."""

_FREE: Final = ("JobName", "SubmitLine", "Comment", "AdminComment", "SystemComment", "Constraints", "WorkDir", "WCKey",
                "Extra")  # fmt: skip
"""Columns in which users write free text, which may contain ``|``."""

_MOST_BARS: Final = 30
"""Most ``|`` in the free text of a row."""

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|\d{1,11}|Unknown|None|N/A|")


def read_rows(path: Path, names: Sequence[str], strict: bool, faults: Faults) -> Iterator[Table]:
    """Yield the output of ``sacct -P`` or ``sacct -p``, `CHUNK` rows at a time; nothing in it is quoted.

    `names` are the columns of a log without a header line. Lines that are not rows go into `faults`.
    """
    lines = read_lines(path, strict)
    number, head = next(lines)
    end = "|" if head.endswith("|") else ""
    if names:
        lines = chain([(number, head)], lines)
    else:
        names = _columns(path, number, head.removesuffix(end))
    split = _Splitting(names)
    rows: list[list[str]] = []
    at: list[int] = []
    done = False
    for number, line in lines:
        if line == head and (at or done):
            faults[number] = "is the header line again", printable(line)
            continue
        fields = split(line.removesuffix(end).split("|"))
        if fields is not None:
            rows.append(fields)
            at.append(number)
        elif strict:
            hint = "; is there a | in a job's name?" if len(line.split("|")) > len(names) else ""
            raise InputError(f"{path}, line {number}: expected {len(names)} columns, got {line.count('|') + 1}{hint}")
        else:
            faults[number] = WIDTH, f"{line.count('|') + 1}, not {len(names)}"
        if len(rows) == CHUNK:
            yield table_of(path, names, rows, at, strict, faults)
            rows, at, done = [], [], True
    if rows or not done:
        yield table_of(path, names, rows, at, strict, faults)


def _columns(path: Path, number: int, head: str) -> list[str]:
    """Return the names in a header line; `InputError` if it is not one."""
    names = [name.strip() for name in head.split("|")]
    place = f"{path}, line {number}"
    if ID.fullmatch(names[0]):
        says = "expected a header line, got a job, as sacct -n prints it"
        raise InputError(f"{place}: {says}; give --columns with the names that were given to sacct --format")
    if len(names) == 1:
        raise InputError(f"{place}: expected fields separated by |; make the log with sacct -P")
    return names


class _Splitting:
    """Splits a row into columns if one of the free-text columns contains a ``|``."""

    def __init__(self, names: Sequence[str]) -> None:
        self.width = len(names)
        self.free = [k for k, name in enumerate(names) if name in _FREE]
        self.times = [k for k, name in enumerate(names) if name in ("Submit", "Eligible", "Start", "End")]
        self.state = names.index("State") if "State" in names else -1

    def __call__(self, fields: list[str]) -> list[str] | None:
        """Return the row, or None if it has another number of columns."""
        more = len(fields) - self.width
        if more == 0:
            return fields
        if not 0 < more <= _MOST_BARS:
            return None
        for owners in combinations_with_replacement(self.free, more):
            row, rest = [], iter(fields)
            for k in range(self.width):
                row.append("|".join(islice(rest, 1 + owners.count(k))))
            if len(self.free) == 1 or self.fits(row):
                return row
        return None

    def fits(self, row: list[str]) -> bool:
        """Return whether times and the state are in their columns."""
        known = self.state < 0 or (row[self.state].split() or [""])[0].rstrip("+") in STATES
        return known and all(_TIME.fullmatch(row[k]) for k in self.times)


class Shares(NamedTuple):
    """Shares in the whole, by account: of those without accounts below (`leaves`), right below the root (`tops`).

    `top` gives for each account the one of `tops` to which it belongs.
    """

    leaves: dict[str, float]
    tops: dict[str, float]
    top: dict[str, str]


def read_sshare(path: Path) -> Shares | None:
    """Read ``sshare -P -a``, in which accounts are indented by depth; None if the file is something else."""
    text = read_text(path)
    head = text.lstrip("\n").split("\n", 1)[0]
    if not {name.strip() for name in head.split("|")}.issuperset(SHARES):
        return None
    (table,) = read_rows(path, (), True, {})
    accounts = np.array([not user for user in table.words("User")]) & (table.words("Account") != "root")
    table = table.take(accounts)
    if not len(table):
        raise InputError(f"{path}: there is no account in it")
    names, share = table.text("Account"), table.number("NormShares", *POSITIVE)
    refuse(pd.Series(names).duplicated(), names, "Account", table.where, "unique")
    depth = [len(name) - len(name.lstrip()) for name in table.columns["Account"]]
    outside = np.array(depth) < depth[0]
    refuse(outside, names, "Account", table.where, "indented at least as far as the first account below the root")
    top: dict[str, str] = {}
    above, path_to = np.full(len(names), -1), list[int]()
    for k, name in enumerate(names):
        top[name] = name if depth[k] == depth[0] else top[names[k - 1]]
        while path_to and depth[path_to[-1]] >= depth[k]:
            path_to.pop()
        above[k] = path_to[-1] if path_to else -1
        path_to.append(k)
    below = np.bincount(above[above >= 0], share[above >= 0], len(names))
    if (below > share + 1e-5).any():  # Fair Tree: shares among those with the same parent, not in the whole
        for place in np.flatnonzero(above >= 0):
            share[place] *= share[above[place]]
    leaves = [k for k in range(len(names)) if k + 1 == len(names) or depth[k + 1] <= depth[k]]
    of = dict(zip(names, share.tolist(), strict=True))
    return Shares({names[k]: of[names[k]] for k in leaves}, {name: of[name] for name in set(top.values())}, top)
