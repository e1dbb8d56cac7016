"""The two readings of [Ye2022]'s evaluation: their schedulers, and the cost of preemption in each.

the authors' program
    The simulator that the authors released: their whole ASTRAEA, and their baselines, which are orders of jobs inside
    ASTRAEA's own selection of tenants, or the static quota. Checkpoints and restarts cost no time, and some leases are
    a round too long (`engine.loop`). It has no HiveD, AlloX or Gandiva_fair.
from the papers
    Every scheduler as its own paper describes it, with overheads, and with learned running times where it needs them.
    ASTRAEA is Algorithms 1 and 2 as printed (§5.2), with Eq. 16 and new jobs first (§6.1.1).

The `ladder` leads from the second to the first, a difference at a time. In both, time is counted in rounds (§6.1.3): a
job exists from the first round that sees it. The program does so itself, with submissions to the second and sums over
whole rounds (`whole_rounds`); otherwise the trace is brought to rounds first (`Trace.in_rounds`), and
everything else is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.traces.trace import Trace

PROGRAM: Final = "the authors' program"
PAPERS: Final = "from the papers"
READINGS: Final = (PROGRAM, PAPERS)

NO_COST: Final = Settings(checkpoint_overhead=0.0, restart_overhead=0.0)
"""Settings of the released simulator without its flaw."""


@dataclass(frozen=True)
class Flawed(Settings):
    """Settings of the released simulator with its flaw: some leases last a round longer."""

    list_removal_flaw: bool = True  # type: ignore[misc]


FLAWED: Final = Flawed(checkpoint_overhead=0.0, restart_overhead=0.0)
"""Settings of the released simulator."""

IN_PROGRAM: Final[Mapping[str, Policy]] = {
    "astraea": get_policy("astraea-released"),
    "tiresias-l": get_policy("astraea-released").with_parameters(job_order="2das", delay_threshold=0),
    "themis": get_policy("astraea-released").with_parameters(job_order="themis"),
    "fifo": get_policy("astraea-released").with_parameters(job_order="fifo", delay_threshold=0),
    "yarn-cs": get_policy("yarn-cs"),
}
"""The schedulers that the authors' program has: rivals are orders of jobs inside ASTRAEA's choice of a tenant."""


FROM_PAPERS: Final = ("astraea", "hived", "allox", "tiresias-l", "themis", "gandiva-fair", "yarn-cs", "fifo")
"""The seven schedulers of §6.1.5, and FIFO, in the order of the figures."""


def in_program(schedulers: Iterable[str]) -> dict[str, Policy]:
    """Return those of the schedulers that the authors' program has, by name, in the order of `IN_PROGRAM`."""
    chosen = set(schedulers)
    return {name: policy for name, policy in IN_PROGRAM.items() if name in chosen}


def learnable(schedulers: Iterable[str], trace: Trace) -> list[str]:
    """Return the schedulers that can learn what they need from the past of a trace: on one without a past, not all.

    None may win by knowing the future, so those that need running times are left out there.
    """
    return [name for name in schedulers if trace.history is not None or not get_policy(name).needs_estimates]
