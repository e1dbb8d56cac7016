"""Shares from Slurm's ``sshare -P``, and what ``sacct -P`` and it have in common: columns."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.core.errors import InputError
from astraea.traces.columns import POSITIVE, refuse
from astraea.traces.readers.table import Table, read_start, read_text, table_of

SHARES: Final = ("Account", "User", "RawShares", "NormShares")
"""Columns by which ``sshare -P`` is known."""


def read_columns(path: Path, text: str) -> Table:
    """What ``sacct -P`` or ``-p`` printed: fields with ``|`` between them, nothing quoted."""
    (_, head), *lines = ((number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip())
    names = [name.strip() for name in head.rstrip("|").split("|")]
    end = "|" if head.endswith("|") else ""
    rows = [line.removesuffix(end).split("|") for _, line in lines]
    hint = "; is there a | in a job's name? leave JobName out"
    return table_of(path, names, rows, [number for number, _ in lines], hint)


class Shares(NamedTuple):
    """The tree of accounts.

    leaves : share in the whole of each account without accounts below it, by name
    tops : share in the whole of each account right below the root
    top : the one of these that each account belongs to
    """

    leaves: dict[str, float]
    tops: dict[str, float]
    top: dict[str, str]


def is_sshare(path: Path) -> bool:
    """Whether a file is what ``sshare -P`` printed."""
    line = read_start(path).lstrip("\n").split("\n", 1)[0]
    return {name.strip() for name in line.split("|")}.issuperset(SHARES)


def read_sshare(path: Path) -> Shares:
    """Read ``sshare -P -a``: accounts are indented by their depth, users stand below their account."""
    table = read_columns(path, read_text(path))
    table.require(SHARES)
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
    for k, name in enumerate(names):
        top[name] = name if depth[k] == depth[0] else top[names[k - 1]]
    leaves = [k for k in range(len(names)) if k + 1 == len(names) or depth[k + 1] <= depth[k]]
    of = dict(zip(names, share.tolist(), strict=True))
    return Shares({names[k]: of[names[k]] for k in leaves}, {name: of[name] for name in set(top.values())}, top)
