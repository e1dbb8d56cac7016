"""Slurm's configuration: ``slurm.conf`` with its included files, or the output of ``scontrol show``.

``scontrol show config``, ``show nodes`` and ``show partition`` can be read. Source: the manual pages of slurm.conf
and scontrol (slurm.schedmd.com/slurm.conf.html). Names are case-insensitive and are stored in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.core.units import DAY, HOUR, MINUTE
from astraea.traces.readers.table import read_text
from astraea.traces.slurm_words import hosts_of

Fields = Mapping[str, str]

LISTED: Final = ("nodename", "partitionname", "nodeset")
"""First words of lines that describe one of several things."""

IGNORED: Final = ("frontendname", "downnodes", "switchname", "mapreduceplugin")
"""First words of lines that do not affect scheduling."""

_SETTING: Final = re.compile(r"([\w./:\[\]-]+?)[ \t]*[-+*/]?=[ \t]*(\"[^\"]*\"|[^\s\"]*)")
_SHOWN: Final = re.compile(r"^(\S+)\s+= ?(.*)$")
_TIME: Final = re.compile(r"(?:(?P<days>\d+)-)?(?P<parts>\d+(?::\d+){0,2})")
_INCLUDES: Final = 10
_NO_TEXT: Final = ("(null)", "n/a", "none", "")


class Conf(NamedTuple):
    """Settings of a cluster by name, and the fields of its nodes, partitions and node sets by name."""

    settings: dict[str, str]
    nodes: dict[str, Fields]
    partitions: dict[str, Fields]
    sets: dict[str, Fields]
    unread: list[str]  #: a sentence for each line that could not be read


def read_conf(path: Path) -> Conf | None:
    """Read a file of Slurm's configuration; None if it is something else.

    Lines that cannot be read are listed in `Conf.unread`. `InputError` if the file cannot be read at all.
    """
    text = read_text(path)
    found = Conf({}, {}, {}, {}, [])
    if re.search(r"^(Configuration data as of|\w+\s+= )", text, re.M) and not re.search("^(?i:nodename)=", text, re.M):
        _read_shown(found, text)
    elif re.search(r"\s(CPUAlloc|TotalCPUs)=\d", text):
        for record in re.split(r"\n(?=\S)", text):
            _read_line(found, record, {}, "")
    else:
        _read_file(found, path, text, {}, 0)
    return found if len(found.settings) + len(found.nodes) + len(found.partitions) > len(found.unread) else None


def _read_shown(found: Conf, text: str) -> None:
    """Read ``scontrol show config``."""
    for line in text.splitlines():
        if shown := _SHOWN.match(line):
            found.settings[shown[1].lower()] = "" if shown[2].lower() in _NO_TEXT else shown[2].strip()


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


def seconds(text: str, name: str, unit: float = MINUTE) -> float:
    """Read a time of Slurm [s]; a plain number is in `unit`, 0 and words such as INFINITE mean infinity.

    ``5-0`` is five days, ``0:10:00`` ten minutes; ``300 sec`` is the form of ``scontrol show config``.
    """
    text = text.strip()
    if plain := re.fullmatch(r"(\d+) ?(sec|min)s?", text):
        return float(plain[1]) * (MINUTE if plain[2] == "min" else 1) or float("inf")
    if text.upper() in ("INFINITE", "UNLIMITED", "NONE", "-1"):
        return float("inf")
    if not (found := _TIME.fullmatch(text)):
        raise InputError(f"{name}: expected a time of Slurm such as 7-0 or 00:10:00, got {printable(text)!r}")
    parts = [float(part) for part in found["parts"].split(":")]
    if found["days"] is not None:
        time = float(found["days"]) * DAY + sum(n * u for n, u in zip(parts, (HOUR, MINUTE, 1), strict=False))
    else:
        units = {1: (unit,), 2: (MINUTE, 1), 3: (HOUR, MINUTE, 1)}[len(parts)]
        time = sum(n * u for n, u in zip(parts, units, strict=True))
    return time or float("inf")


def resources(text: str, weights: bool = False) -> dict[str, float]:
    """Read a list such as ``cpu=8,mem=4G,gres/gpu:a100=2``; memory in MB, weights (``CPU=0.5,Mem=0.25G``) per MB.

    Names are in lower case, except those of generic resources. Entries without a number are left out.
    """
    units, found = {"": 1.0, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}, {}
    for part in text.strip("'\"").split(","):
        name, _, value = part.strip().partition("=")
        if amount := re.fullmatch(r"(\d+(?:\.\d+)?)([KMGTP]?)", value.strip().upper()):
            unit = units[amount[2]]
            kind = f"gres/{name[5:]}" if name.lower().startswith("gres/") else name.lower()
            found[kind] = float(amount[1]) / unit if weights else float(amount[1]) * unit
    return found
