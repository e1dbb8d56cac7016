"""Slurm's accounts and qualities of service, from ``sacctmgr dump``, ``show assoc tree|qos -P`` and ``sshare -P -a``.

Source: the manual pages of sacctmgr and sshare (slurm.schedmd.com/sacctmgr.html). Names of fields are in small letters,
without blanks: ``grptres``, ``maxtrespu``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.traces.readers.table import read_text
from astraea.traces.slurm_conf import Fields

ROOT: Final = "root"

_SHORT: Final = {
    "share": "fairshare", "rawshares": "fairshare", "maxtresperuser": "maxtrespu", "maxjobsperuser": "maxjobspu",
    "maxtresperaccount": "maxtrespa", "maxjobsperaccount": "maxjobspa", "maxtresperjob": "maxtres",
    "parentname": "parent", "rawusage": "usage",
}  # fmt: skip
"""Other names of fields, and their name in `Association.fields` and `Accounts.qos`."""


class Association(NamedTuple):
    """An account (`user` is ""), or a user in an account, possibly in one partition only."""

    account: str
    user: str
    partition: str
    parent: str  #: the account above an account; "" for the root
    fields: Fields

    @property
    def shares(self) -> float | None:
        """Raw shares; None for those of its parent (``fairshare=parent``)."""
        text = self.fields.get("fairshare", "") or "1"
        return None if text == "parent" or float(text) >= 2**31 - 1 else float(text)


class Accounts(NamedTuple):
    """Associations, each account before its members, and qualities of service by name."""

    associations: list[Association]
    qos: dict[str, Fields]
    unread: list[str]  #: a sentence for each line that could not be read


def read_accounts(path: Path) -> Accounts | None:
    """Read a file of accounts or qualities of service; None if it is something else."""
    text = read_text(path)
    if re.search(r"^(Cluster|Account|Parent|User|QOS) - ", text, re.M):
        return _read_dump(path, text)
    lines = [line for line in text.splitlines() if line.strip()]
    head = lines[0].replace("FairShare", "Factor") if "RawShares" in lines[0] else lines[0]  # sshare has both
    names = [_field(name) for name in head.split("|")]
    if {"account", "user", "fairshare"}.issubset(names):
        return _read_associations(path, names, lines)
    if {"name", "priority"}.issubset(names):
        rows = [dict(zip(names, line.split("|"), strict=False)) for line in lines[1:]]
        return Accounts([], {row["name"]: row for row in rows}, [])
    return None


def _field(name: str) -> str:
    """Return our name of a field."""
    short = re.sub(r"\W", "", name.lower())
    return _SHORT.get(short, short)


def _read_dump(path: Path, text: str) -> Accounts:
    """Read ``sacctmgr dump``, in which the children of an account follow its line Parent."""
    found, parent = Accounts([Association(ROOT, "", "", "", {})], {}, []), ROOT
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.removeprefix("sacctmgr: ").strip()
        if not line or line.startswith("#"):
            continue
        head = re.match(r"(Cluster|Parent|Account|User|QOS) - '([^']*)'", line)
        if head is None:
            found.unread.append(f"{path.name}, line {number}: expected Account - 'name':..., got {printable(line)!r}")
            continue
        words = re.findall(r":([\w ]+)=(?:'([^']*)'|([^:']*))", line[head.end() :])
        kind, name, fields = head[1], head[2], {_field(key): quoted or plain for key, quoted, plain in words}
        if kind == "Parent":
            parent = name
        elif kind == "QOS":
            found.qos[name] = fields
        elif kind == "Cluster":
            found.associations[0] = found.associations[0]._replace(fields=fields)
        elif kind == "Account":
            found.associations.append(Association(name, "", "", parent, fields))
        else:
            found.associations.append(Association(parent, name, fields.get("partition", ""), "", fields))
    return found


def _read_associations(path: Path, names: list[str], lines: list[str]) -> Accounts:
    """Read ``sacctmgr show assoc tree -P`` or ``sshare -P -a``, with accounts indented by depth, or with ParentName."""
    found, above = Accounts([], {}, []), list[tuple[int, str]]()
    for number, line in enumerate(lines[1:], 2):
        row = dict(zip(names, line.split("|"), strict=False))
        if len(row) < len(names):
            found.unread.append(f"{path.name}, line {number}: expected {len(names)} fields, got {printable(line)!r}")
            continue
        depth, account = len(row["account"]) - len(row["account"].lstrip()), row["account"].strip()
        parent = row.get("parent", "").strip()
        if not row["user"].strip():
            while above and above[-1][0] >= depth:
                above.pop()
            parent = parent or (above[-1][1] if above else "" if account == ROOT else ROOT)
            above.append((depth, account))
        found.associations.append(
            Association(account, row["user"].strip(), row.get("partition", "").strip(), parent, row)
        )
    if not found.associations:
        raise InputError(f"{path}: there is no account in it")
    return found


def shares_in_the_whole(accounts: Accounts) -> dict[str, float]:
    """Return the share of each account's users in the whole, from the shares at all levels; sums to 1.

    The user root, which is in every tree and runs nothing, has none.
    """
    below: dict[str, list[Association]] = {}
    for a in accounts.associations:
        if a.account != ROOT:
            below.setdefault(a.account if a.user else a.parent, []).append(a)
    found: dict[str, float] = {}

    def divide(account: str, part: float, above: tuple[str, ...]) -> None:
        inside = [a for a in below.get(account, []) if a.user or a.account not in above]
        total = sum(1.0 if a.shares is None else a.shares for a in inside)
        if not inside or not total:
            found[account] = found.get(account, 0.0) + part
        for a in inside if total else ():
            of = part * (1.0 if a.shares is None else a.shares) / total
            if a.user:
                found[account] = found.get(account, 0.0) + of
            else:
                divide(a.account, of, (*above, a.account))

    divide(ROOT, 1.0, (ROOT,))
    return found


def is_flat(accounts: Accounts) -> bool:
    """Return whether all accounts are right below the root, as in a file that gives no parents."""
    return all(a.user or a.parent in ("", ROOT) for a in accounts.associations)

