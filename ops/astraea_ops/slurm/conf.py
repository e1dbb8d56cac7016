"""Slurm's configuration: ``slurm.conf``, the output of ``scontrol show``, and accounts and qualities of service.

``scontrol show config``, ``show nodes`` and ``show partition`` can be read, and for accounts ``sacctmgr dump``, ``show
assoc tree|qos -P`` and ``sshare -P -a``. Source: the manual pages of slurm.conf, scontrol, sacctmgr and sshare
(slurm.schedmd.com). Names are case-insensitive and are stored in lower case, without blanks: ``grptres``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import isnan
from pathlib import Path
from typing import Final, NamedTuple

from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.core.units import MINUTE
from astraea.traces.readers.table import read_text
from astraea_ops.slurm.words import hosts_of, length_of

Fields = Mapping[str, str]

LISTED: Final = ("nodename", "partitionname", "nodeset")
"""First words of lines that describe one of several things."""

IGNORED: Final = ("frontendname", "downnodes", "switchname", "mapreduceplugin")
"""First words of lines that do not affect scheduling."""

_SETTING: Final = re.compile(r"([\w./:\[\]-]+?)[ \t]*[-+*/]?=[ \t]*(\"[^\"]*\"|[^\s\"]*)")
_SHOWN: Final = re.compile(r"^(\S+)\s+= ?(.*)$")
_INCLUDES: Final = 10
_NO_TEXT: Final = ("(null)", "n/a", "none", "")

ROOT: Final = "root"

_SHORT: Final = {
    "share": "fairshare", "rawshares": "fairshare", "maxtresperuser": "maxtrespu", "maxjobsperuser": "maxjobspu",
    "maxtresperaccount": "maxtrespa", "maxjobsperaccount": "maxjobspa", "maxtresperjob": "maxtres",
    "parentname": "parent", "rawusage": "usage",
}  # fmt: skip
"""Other names of fields, and their name in `Association.fields` and `Accounts.qos`."""


class Conf(NamedTuple):
    """Settings of a cluster by name, and the fields of its nodes, partitions and node sets by name."""

    settings: dict[str, str]
    nodes: dict[str, Fields]
    partitions: dict[str, Fields]
    sets: dict[str, Fields]
    unread: list[str]  #: a sentence for each line that could not be read


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


def read_conf(path: Path) -> Conf | None:
    """Read a file of Slurm's configuration; None if it is something else."""
    text = read_text(path)
    found = Conf({}, {}, {}, {}, [])
    if re.search(r"^(Configuration data as of|\w+\s+= )", text, re.M) and not re.search("^(?i:nodename)=", text, re.M):
        shown = (line for line in map(_SHOWN.match, text.splitlines()) if line)
        found.settings.update({m[1].lower(): "" if m[2].lower() in _NO_TEXT else m[2].strip() for m in shown})
    elif re.search(r"\s(CPUAlloc|TotalCPUs)=\d", text):
        for record in re.split(r"\n(?=\S)", text):
            _read_line(found, record, {}, "")
    else:
        _read_file(found, path, text, {}, 0)
    return found if len(found.settings) + len(found.nodes) + len(found.partitions) > len(found.unread) else None


def _read_file(found: Conf, path: Path, text: str, defaults: dict[str, dict[str, str]], depth: int) -> None:
    """Read ``slurm.conf``, or a file that it includes."""
    for number, line in _lines(text):
        where = f"{path.name}, line {number}"
        if not (include := re.match(r"(?i)include\s+(\S.*)", line)):
            _read_line(found, line, defaults, where)
            continue
        wanted = Path(include[1].strip().strip('"').replace("%c", found.settings.get("clustername", "%c")))
        at = next((file for file in (path.parent / wanted, path.parent / wanted.name) if file.is_file()), None)
        if at is None or depth == _INCLUDES:
            found.unread.append(f"{where}: the included file {printable(wanted)} is not in the folder of {path.name}")
        else:
            _read_file(found, at, read_text(at), defaults, depth + 1)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers, without comments; a line that ends in a backslash is joined to the next."""
    kept, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(?<!\\)#.*", "", raw).rstrip()
        first = first if kept else number
        if line.endswith("\\"):
            kept += line[:-1]
        else:
            if (kept + line).strip():
                yield first, (kept + line).strip()
            kept = ""


def _read_line(found: Conf, line: str, defaults: dict[str, dict[str, str]], where: str) -> None:
    """Read one line of settings, or a record of ``scontrol show``, which has no `where`."""
    pairs = [(name.lower(), value.strip('"')) for name, value in _SETTING.findall(line)]
    rest = _SETTING.sub("", line).strip()
    if where and (rest or not pairs):
        found.unread.append(f"{where}: expected Name=value, got {printable(rest or line)!r}")
    if not pairs or pairs[0][0] in IGNORED:
        return
    if pairs[0][0] not in LISTED:
        found.settings.update(pairs)
        return
    kind, names = pairs[0]
    if names.upper() == "DEFAULT":
        defaults.setdefault(kind, {}).update(pairs[1:])
        return
    table = (found.nodes, found.partitions, found.sets)[LISTED.index(kind)]
    for name in hosts_of(names) if kind == "nodename" else names.split(","):
        table[name] = {**defaults.get(kind, {}), **table.get(name, {}), **dict(pairs[1:])}


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
        if kind in ("Account", "User"):
            _check_shares(found, f"{path.name}, line {number}")
    return found


def _check_shares(found: Accounts, place: str) -> None:
    """Take the shares of the last association for 1, and say so, if they are no number."""
    last = found.associations[-1]
    text = last.fields.get("fairshare", "").strip()
    if not re.fullmatch(r"(\d{1,18}(\.\d+)?)?|parent", text):
        found.unread.append(f"{place}: expected the shares as a number or parent, got {printable(text)!r}; 1 is taken")
        found.associations[-1] = last._replace(fields={**last.fields, "fairshare": "1"})


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
        _check_shares(found, f"{path.name}, line {number}")
    if not found.associations:
        raise InputError(f"{path}: there is no account in it")
    return found


def shares_in_the_whole(accounts: Accounts) -> dict[str, float]:
    """Return the share of each account's users in the whole, from the shares at all levels; sums to 1."""
    below: dict[str, list[Association]] = {}
    for a in accounts.associations:
        if a.account != ROOT:  # the user root is in every tree and runs nothing
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


def seconds(text: str, name: str) -> float:
    """Read a time of Slurm [s]; a plain number is in minutes, 0 and words such as INFINITE mean infinity.

    ``5-0`` is five days, ``0:10:00`` ten minutes; ``300 sec`` is the form of ``scontrol show config``.
    """
    text = text.strip()
    if text.upper() in ("INFINITE", "UNLIMITED", "NONE", "-1"):
        return float("inf")
    plain = re.fullmatch(r"(\d+) ?(sec|min)s?", text)
    time = length_of(plain[1] if plain else text, 1.0 if plain and plain[2] == "sec" else MINUTE)
    if isnan(time):
        raise InputError(f"{name}: expected a time of Slurm such as 7-0 or 00:10:00, got {printable(text)!r}")
    return time or float("inf")
