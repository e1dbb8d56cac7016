"""Words common to Slurm's programs: states of jobs, lengths of time, numbers, and GPUs in lists of resources.

Source: the manual pages of squeue, sacct and sbatch (slurm.schedmd.com).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from astraea.core.units import DAY, HOUR, MINUTE

WAITING: Final = ("PENDING", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD", "CONFIGURING")
RUNNING: Final = ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT")
REQUEUED: Final = ("REQUEUED", "PREEMPTED", "NODE_FAIL", "BOOT_FAIL", "REVOKED")
"""States that end a run and after which the job may run again."""

ENDED: Final = {
    "COMPLETED": "completed", "CANCELLED": "cancelled", "FAILED": "failed", "TIMEOUT": "failed",
    "OUT_OF_MEMORY": "failed", "DEADLINE": "failed", "LAUNCH_FAILED": "failed", "RECONFIG_FAIL": "failed",
}  # fmt: skip
"""States in which a job has ended, and the state in a trace."""

STATES: Final = (*WAITING, *REQUEUED, *RUNNING, *ENDED)

MOST_NODES: Final = 100_000
"""Most names that one list of nodes may stand for."""

_NO_VALUE: Final = tuple(2**bits - k for bits in (32, 64) for k in (1, 2))
"""Slurm's infinity and missing value in JSON that does not mark them."""

GPU: Final = "gres/gpu"
"""Slurm's name for GPUs in a list of resources."""


@lru_cache(4096)
def length_of(text: str, unit: float = float("nan")) -> float:
    """Return the seconds of ``[days-]hours:minutes:seconds``, ``minutes:seconds`` or ``days-hours``; NaN if it is not.

    A plain number is in `unit`.
    """
    days, dash, clock = text.rpartition("-")
    words = clock.split(":")
    units = (unit,) if len(words) == 1 else (HOUR, MINUTE, 1.0)[-len(words) :]
    if dash:
        words, units = [days, *words], (DAY, HOUR, MINUTE, 1.0)
    if len(words) > len(units) or not all(re.fullmatch(r"\d{1,10}", word) for word in words):
        return float("nan")
    return sum(float(word) * each for word, each in zip(words, units, strict=False))


@lru_cache(4096)
def count_of(tres: str, resource: str = GPU) -> int:
    """Return the amount of a resource in a list such as ``cpu=8,gres/gpu:a100=4``, or the sum over its types."""
    found = {name: int(count) for name, _, count in (part.partition("=") for part in tres.split(","))
             if name.startswith(resource) and count.isascii() and count.isdecimal() and len(count) < 20}  # fmt: skip
    return found.get(resource, sum(count for name, count in found.items() if name.startswith(f"{resource}:")))


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


_GRES: Final = re.compile(r"(?<!\w)gpu(?::(?!\d+(?:[(,]|$))(?P<type>[^:,()]+))?(?::(?P<number>\d{1,9}))?(?=[(,]|$)")
"""An entry of a list without sums: ``gpu:a100:4``, ``gres/gpu:2``, ``gpu:2(IDX:0,3)`` or ``gpu``."""


@lru_cache(4096)
def gres_of(gres: str, resource: str = GPU) -> int:
    """Return the GPUs in ``gpu:a100:4,gpu:v100:2`` [GPU]; those of one type if the resource is ``gres/gpu:a100``."""
    wanted = resource.removeprefix(GPU).removeprefix(":")
    found = _GRES.finditer(gres)
    return sum(int(m["number"] or 1) for m in found if wanted in ("", m["type"])) * resource.startswith(GPU)


@lru_cache(4096)
def hosts_of(nodes: str) -> tuple[str, ...]:
    """Return the names in a list of nodes, ``n[01-03,7],gpu1``; none for ``None assigned``."""
    if nodes in ("", "None assigned", "None", "(null)", "Unknown"):
        return ()
    found = []
    for part in re.findall(r"(?:[^,\[]|\[[^\]]*\]?)+", nodes):
        names = [""]
        for text, inside in re.findall(r"([^\[]*)(?:\[([^\]]*)\]?)?", part):
            numbers = _numbers(inside)
            if len(names) * len(numbers) > MOST_NODES:  # no cluster has that many
                return (nodes,)
            names = [name + text + number for name in names for number in numbers]
        found += names
    return tuple(found)


def _numbers(ranges: str) -> list[str]:
    """Return the numbers of ``01-03,7``, with their leading zeros."""
    found: list[str] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and last.isdecimal() and int(first) <= int(last) < int(first) + MOST_NODES:
            found += [str(k).zfill(len(first)) for k in range(int(first), int(last) + 1)]
        else:
            found.append(part)
    return found


def number_of(value: Any) -> int | None:
    """Read a number of Slurm's JSON, None if it is not set, infinite, or below 0."""
    if isinstance(value, dict):  # newer versions write {"set": true, "infinite": false, "number": 5}
        value = value["number"] if value.get("set") and not value.get("infinite") else None
    number = None if value in (None, "") else int(value)
    return None if number is None or number < 0 or number in _NO_VALUE else number


def state_of(value: Any) -> str:
    """Read the state of a job in Slurm's JSON: since 23.02 a list whose last words are more specific."""
    if not isinstance(value, list):
        return str(value)
    words = [str(word) for word in value]
    if not {"COMPLETING", "EXPEDITING"}.isdisjoint(words):  # its nodes are not free yet
        return "COMPLETING"
    return [words[0], *(word for word in words if word in STATES)][-1]
