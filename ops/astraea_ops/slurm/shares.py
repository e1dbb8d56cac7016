"""Shares of accounts: the output of ``sshare``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from astraea.core.errors import InputError
from astraea.traces.columns import POSITIVE, refuse
from astraea.traces.readers.table import read_text
from astraea_ops.slurm.files import read_rows


def read_sshare(path: Path) -> tuple[dict[str, float], dict[str, float], dict[str, str]] | None:
    """Read ``sshare -P -a``, in which accounts are indented by depth; None if the file is something else.

    Returns shares in the whole, by account: of those without accounts below, and of those right below the root; and for
    each account the one right below the root to which it belongs.
    """
    text = read_text(path)
    head = text.lstrip("\n").split("\n", 1)[0]
    if not {name.strip() for name in head.split("|")}.issuperset(("Account", "User", "RawShares", "NormShares")):
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
        while path_to and depth[path_to[-1]] >= depth[k]:
            path_to.pop()
        above[k] = path_to[-1] if path_to else -1
        top[name] = top[names[above[k]]] if path_to else name
        path_to.append(k)
    below = np.bincount(above[above >= 0], share[above >= 0], len(names))
    if (below > share + 1e-5).any():  # Fair Tree: shares among those with the same parent, not in the whole
        for place in np.flatnonzero(above >= 0):
            share[place] *= share[above[place]]
    of = dict(zip(names, share.tolist(), strict=True))
    leaves = {name: of[name] for k, name in enumerate(names) if k not in above}
    return leaves, {name: of[name] for name in set(top.values())}, top
