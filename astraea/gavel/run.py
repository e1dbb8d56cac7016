"""One simulation of Gavel to do, as the cache of runs takes it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

import joblib

from astraea.core.compilation import digest
from astraea.core.result import Result
from astraea.gavel.ideal import simulate_ideal
from astraea.gavel.policies import get_policy
from astraea.gavel.simulate import Options, simulate
from astraea.gavel.throughputs.table import Throughputs
from astraea.gavel.workload import Workload


@dataclass(frozen=True, eq=False)
class GavelRun:
    """One simulation to do: the arguments of `simulate`, with the policy by name.

    Attributes
    ----------
    ideal : bool
        As `simulate_ideal` does it, without rounds.
    believed : Throughputs or None
        What the policy is told of speeds, if not the truth.
    """

    workload: Workload
    throughputs: Throughputs
    workers: tuple[int, ...]
    policy: str
    options: Options = field(default_factory=Options)
    ideal: bool = False
    believed: Throughputs | None = None

    @property
    def key(self) -> str:
        """Name of its result in a cache: equal keys mean equal results."""
        content = [joblib.hash(part) for part in (*self.large, self.believed)]
        content += [str(self.workers), self.policy, repr(self.options), str(self.ideal), source_digest()]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    @property
    def label(self) -> str:
        """Which run it is, for messages."""
        return f"workload {self.workload.name}, {' + '.join(map(str, self.workers))} GPUs, policy {self.policy}"

    @property
    def columns(self) -> dict[str, Any]:
        """What distinguishes it, as a row of a table."""
        return {"workload": self.workload.name, "workers": " + ".join(map(str, self.workers)), "policy": self.policy}

    @property
    def rooms(self) -> tuple[str, ...]:
        """Where its code lies."""
        return "core", "gavel"

    @property
    def kept(self) -> None:
        """Everything."""

    @property
    def past(self) -> str:
        """Nothing is learned before it begins."""
        return ""

    @property
    def expected(self) -> float:
        """Time that it is likely to take [s]; more where a queue grows, as programs do with it."""
        jobs = self.options.until or len(self.workload)
        return (0.04 if self.policy.endswith("-ss") else 0.006) * jobs

    @property
    def call(self) -> tuple[Any, ...]:
        """Function that gives its result, and the arguments."""
        return (
            simulated, self.workload, self.throughputs, self.workers, self.policy, self.options, self.ideal,
            self.believed,
        )  # fmt: skip

    @property
    def large(self) -> tuple[Any, ...]:
        """Arguments that other runs share."""
        return self.workload, self.throughputs


def simulated(
    workload: Workload,
    throughputs: Throughputs,
    workers: tuple[int, ...],
    policy: str,
    options: Options,
    ideal: bool,
    believed: Throughputs | None,
) -> Result:
    """Simulate a run given in parts, perhaps in another process."""
    if ideal:
        result = simulate_ideal(workload, throughputs, workers, get_policy(policy), options)
    else:
        result = simulate(workload, throughputs, workers, get_policy(policy), options, believed=believed)
    result.provenance["source_sha256"] = source_digest()
    return result


def source_digest() -> str:
    """SHA-256 of the code that decides a result."""
    return digest("core", "gavel")
