"""Throughputs of each kind of job on each accelerator type: alone, as an unconsolidated gang, beside another job.

Gavel's policies see a job through these numbers only ([Narayanan2020] §3.1, the matrix T).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from astraea.core.arrays import BoolArray, FloatArray, IntArray
from astraea.core.checks import is_number, one_of
from astraea.core.errors import InputError
from astraea.core.frozen import read_only
from astraea.core.text import printable
from astraea.traces.readers.table import read_text
from papers.gavel.throughputs.speeds import TYPES, Tables, tables

UNCONSOLIDATED: Final = "_unconsolidated"
_KEY: Final = re.compile(r"\((['\"])(?P<kind>.+)\1, (?P<size>[1-9]\d{0,6})\)")


@read_only
@dataclass(frozen=True, eq=False)
class Throughputs:
    """Steps/s of K configurations (a job type on a gang of some size) on J accelerator types."""

    name: str  # where the numbers come from, for messages
    configurations: tuple[tuple[str, int], ...]  # job type and scale factor of each
    solo: FloatArray  # (2, K, J) alone, on a consolidated (0) and an unconsolidated gang (1); 0: cannot run, unmeasured
    shared: FloatArray  # (2, K, K, 2, J) the first and the second of two on the same GPUs; 0 where they cannot share
    measured: BoolArray  # (2, K, K) whether a pair was tried at all, on any type
    types: tuple[str, ...] = TYPES  # names of the accelerator types

    @classmethod
    def read(cls, path: str | Path) -> Throughputs:
        """Read the measurements of Gavel's authors.

        The file is JSON: accelerator type (with ``_unconsolidated`` for gangs on separate servers) -> configuration as
        ``"('job type', scale factor)"`` -> ``"null"`` with the steps/s alone, and other configurations with the pair
        of steps/s beside them. A throughput of 0 says that the configuration, or the pair, cannot run there; one that
        is missing on one type only is taken as 0 on that type. One GPU has nothing to consolidate: its entries under
        ``_unconsolidated`` are checked, but those of the plain type are used.

        Raises
        ------
        InputError
            Names the file, the accelerator type, the entry and what is expected.
        """
        return cls(str(path), *_measured(Path(path)))

    @classmethod
    def compact(cls) -> Throughputs:
        """Make the table of the project itself, of `throughputs.speeds`, for those without the measurements.

        The factor between it and `simulation_throughputs.json` (median, 90th percentile) is 1.00, 1.03 for one GPU (two
        digits are kept). It is 1.12, 1.48 for consolidated gangs and 1.13, 1.41 for unconsolidated ones. For a job
        beside another it is 1.13, 1.57 on V100, 1.03, 1.17 on P100 and 1.04, 1.15 on K80. The fastest type of a
        configuration is the measured one in 90 of 100. Of 1,053 pairs on one GPU, it allows 14 that could not share,
        and refuses none that could. The measured V100 speeds are the least regular: gangs that run faster than their
        GPUs one by one, pairs that slow only one of the two.
        """
        return cls("the compact table", *tables())

    def by_placement(self) -> Throughputs:
        """Consolidated and unconsolidated workers as accelerator types of their own ([Narayanan2020] §3.1).

        "We can model this in our policies by having two different worker types": after the J types, whose gangs are
        consolidated, come the J types `<type>_unconsolidated`. The authors' file calls them so; their GPUs are on
        independent servers. The number of workers of each is that of the cluster's GPUs of either kind, so that every
        policy and the mechanism decide about placement without knowing of it. Both halves of `solo` are then the same.

        If the same GPUs could serve as either, with capacity shared, there would be nothing to decide: an optimum gives
        no time to the slower way of placing a job.
        """
        solo, shared = np.concatenate(self.solo, axis=-1), np.concatenate(self.shared, axis=-1)
        return Throughputs(
            name=f"{self.name}, by placement",
            configurations=self.configurations,
            solo=np.stack([solo, solo]),
            shared=np.stack([shared, shared]),
            measured=np.broadcast_to(self.measured.any(axis=0), self.measured.shape),
            types=(*self.types, *(f"{name}{UNCONSOLIDATED}" for name in self.types)),
        )

    @cached_property
    def job_types(self) -> tuple[str, ...]:
        """Each job type once, in the order of the configurations."""
        return tuple(dict.fromkeys(kind for kind, _ in self.configurations))

    @cached_property
    def _number(self) -> dict[tuple[str, int], int]:
        return {configuration: k for k, configuration in enumerate(self.configurations)}

    def kind(self, job_type: str, scale_factor: int) -> int:
        """Return the number of a configuration, an index into `solo` and `shared`.

        `InputError` if the job type is unknown, or was never measured on that many GPUs.
        """
        k = self._number.get((job_type, scale_factor))
        if k is not None:
            return k
        sizes = [str(s) for kind, s in self.configurations if kind == job_type]
        if not sizes:
            known = ", ".join(self.job_types)
            raise InputError(f"{self.name}: unknown job type {printable(job_type)!r}; known are {known}")
        raise InputError(
            f"{self.name}: {job_type!r} was not measured on a gang of {scale_factor} GPUs, only of {', '.join(sizes)}"
        )

    def type_index(self, accelerator: str) -> int:
        """Return the column of an accelerator type; `InputError` if there is none."""
        return self.types.index(one_of(accelerator, self.types, f"{self.name}: accelerator"))

    def alone(self, job_type: str, scale_factor: int, *, consolidated: bool = True) -> FloatArray:
        """Steps/s of a job without a neighbour, shape (J,); 0 where it cannot run.

        `InputError` if the configuration is unknown, or an unconsolidated one was measured on consolidated gangs only.
        """
        k = self.kind(job_type, scale_factor)
        if not consolidated and self.solo[0, k].any() and not self.solo[1, k].any():
            raise InputError(f"{self.name}: {self.configurations[k]} was never measured unconsolidated")
        row: FloatArray = self.solo[0 if consolidated else 1, k]
        return row

    def pairs(self, first: IntArray, second: IntArray) -> FloatArray:
        """Steps/s of two jobs on the same GPUs of consolidated gangs, for P pairs of configurations.

        `first` and `second` are their numbers (`kind`), (P,); the speeds have the shape (P, 2, J), and are 0 where two
        cannot share, as gangs of different sizes never can. `InputError` if two were never measured together.
        """
        size = np.array([s for _, s in self.configurations])
        unknown = np.flatnonzero((size[first] == size[second]) & ~self.measured[0, first, second])
        if len(unknown):
            a, b = (self.configurations[int(k[unknown[0]])] for k in (first, second))
            raise InputError(f"{self.name}: {a} and {b} were never measured on the same GPUs")
        return np.asarray(self.shared[0, first, second])


def _measured(path: Path) -> Tables:
    """Return the numbers of a file, checked entry by entry."""
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
