"""How fast each kind of job trains on each accelerator type: alone, on an unconsolidated gang, beside another job.

Gavel's policies see a job through these numbers only ([Narayanan2020] §3.1, the matrix T).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from astraea.core.arrays import BoolArray, FloatArray, IntArray
from astraea.core.checks import one_of
from astraea.core.errors import InputError
from astraea.core.frozen import read_only
from astraea.core.text import printable
from papers.gavel.throughputs import measurements, speeds


@read_only
@dataclass(frozen=True, eq=False)
class Throughputs:
    """Steps/s of K configurations (a job type on a gang of some size) on J accelerator types."""

    name: str  # where the numbers come from, for messages
    configurations: tuple[tuple[str, int], ...]  # job type and scale factor of each
    solo: FloatArray  # (2, K, J) alone, on a consolidated (0) and an unconsolidated gang (1); 0: cannot run, unmeasured
    shared: FloatArray  # (2, K, K, 2, J) the first and the second of two on the same GPUs; 0 where they cannot share
    measured: BoolArray  # (2, K, K) whether a pair was tried at all, on any type
    types: tuple[str, ...] = speeds.TYPES  # names of the accelerator types

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
        return cls(str(path), *measurements.read(Path(path)))

    @classmethod
    def compact(cls) -> Throughputs:
        """Make the table of the project itself, of `throughputs.speeds`, for those without the measurements.

        How far it is from `simulation_throughputs.json`, as the factor between the two (median, 90th percentile): one
        GPU 1.00, 1.03 (two digits are kept); consolidated gangs 1.12, 1.48; unconsolidated gangs 1.13, 1.41; a job
        beside another on V100 1.13, 1.57, on P100 1.03, 1.17, on K80 1.04, 1.15. The fastest type of a configuration
        is the measured one in 90 of 100. Of 1,053 pairs on one GPU, it allows 14 that could not share, and refuses
        none that could. The measured V100 speeds are the least regular: gangs that run faster than their GPUs one by
        one, pairs that slow only one of the two.
        """
        return cls("the compact table", *speeds.tables())

    def by_placement(self) -> Throughputs:
        """Consolidated and unconsolidated workers as accelerator types of their own ([Narayanan2020] §3.1).

        "We can model this in our policies by having two different worker types": after the J types, whose gangs are
        consolidated, come the J types `<type>_unconsolidated`, as the authors' file calls them, whose GPUs stand on
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
            types=(*self.types, *(f"{name}{measurements.UNCONSOLIDATED}" for name in self.types)),
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
        """The column of an accelerator type; `InputError` if there is none."""
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
