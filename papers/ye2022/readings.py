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
from typing import Any, Final, NamedTuple

from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.core.checks import one_of
from astraea.core.units import DAY, HOUR
from astraea.traces.trace import Trace
from papers.ye2022.under_leases import allox_under_leases
from papers.ye2022.with_rules import astraea_with_rules

PROGRAM: Final = "the authors' program"
PAPERS: Final = "from the papers"
READINGS: Final = (PROGRAM, PAPERS)

NO_COST: Final = Settings(checkpoint_overhead=0.0, restart_overhead=0.0)
"""Settings of the released simulator without its flaw."""

OWN: Final = {policy.name: policy for policy in (astraea_with_rules, allox_under_leases)}
"""Policies that only the evaluation has, by name."""


@dataclass(frozen=True)
class Flawed(Settings):
    """Settings of the released simulator with its flaw: some leases last a round longer."""

    list_removal_flaw: bool = True  # type: ignore[misc]


FLAWED: Final = Flawed(checkpoint_overhead=0.0, restart_overhead=0.0)
"""Settings of the released simulator."""


class Scheduler(NamedTuple):
    """One curve: its name in figures and tables, and the policy with its parameters."""

    name: str
    policy: str
    parameters: Mapping[str, Any] = {}

    @property
    def made(self) -> Policy:
        """The policy with these parameters."""
        return policy_named(self.policy).with_parameters(**self.parameters)


def policy_named(name: str) -> Policy:
    """Return a policy of the package, or one of `OWN`."""
    return OWN[name] if name in OWN else get_policy(name)


ASTRAEA: Final = Scheduler("astraea", "astraea")
WITH_RULES: Final = Scheduler("astraea", astraea_with_rules.name)
RELEASED: Final = Scheduler("astraea", "astraea-released")

COMPARED: Final[Mapping[str, tuple[Scheduler, ...]]] = {
    PROGRAM: (
        RELEASED,
        Scheduler("tiresias-l", "astraea-released", {"job_order": "2das", "delay_threshold": 0}),
        Scheduler("themis", "astraea-released", {"job_order": "themis"}),
        Scheduler("fifo", "astraea-released", {"job_order": "fifo", "delay_threshold": 0}),
        Scheduler("yarn-cs", "yarn-cs"),
    ),
    PAPERS: (
        ASTRAEA,
        *(Scheduler(p, p) for p in ("hived", "allox", "tiresias-l", "themis", "gandiva-fair", "yarn-cs", "fifo")),
    ),
}
"""Schedulers of each reading, in the order of the figures; the seven of §6.1.5 as far as there are, and FIFO."""

MEMORIES: Final = (
    ASTRAEA,
    WITH_RULES._replace(name="window-24h", parameters={"tenant_window": DAY}),
    *(
        Scheduler(f"half-life-{name}", "decayed-usage", {"half_life": time})
        for name, time in (("1h", HOUR), ("1d", DAY), ("7d", 7 * DAY))
    ),
)
"""ASTRAEA with other memories of what a tenant has used: since the beginning, over 24 h, or decayed as schedulers
in production have it (Slurm's fair share); everything else is the same."""

BASELINES: Final = (
    Scheduler("tiresias-l", "tiresias-l"),
    Scheduler("tiresias-l-at-once", "tiresias-l", {"immediate": "yes"}),
    Scheduler("tiresias-l-released", "tiresias-l", {"queues": 3, "threshold": 3250, "growth": 7200 / 3250}),
    Scheduler("themis", "themis"),
    Scheduler("themis-times-n", "themis", {"isolated": "times-n"}),
    Scheduler("gandiva-fair", "gandiva-fair"),
    Scheduler("gandiva-fair-filling", "gandiva-fair", {"others_fill": "yes"}),
    Scheduler("gandiva-fair-quanta", "gandiva-fair", {"lease_term": 60, "others_fill": "yes", "quanta": "common"}),
    Scheduler("hived", "hived"),
    Scheduler("allox", "allox"),
    Scheduler("allox-under-leases", "allox-under-leases"),
)
"""The baselines, in each way in which their papers can be read."""


IN_PROGRAM: Final[Mapping[str, Policy]] = {
    "astraea": get_policy("astraea-released"),
    "tiresias-l": get_policy("astraea-released").with_parameters(job_order="2das", delay_threshold=0),
    "themis": get_policy("astraea-released").with_parameters(job_order="themis"),
    "fifo": get_policy("astraea-released").with_parameters(job_order="fifo", delay_threshold=0),
    "yarn-cs": get_policy("yarn-cs"),
}
"""The schedulers that the authors' program has: rivals are orders of jobs inside ASTRAEA's choice of a tenant."""


def learnable(schedulers: Iterable[str], trace: Trace) -> list[str]:
    """Return the schedulers that can learn what they need from the past of a trace: on one without a past, not all.

    None may win by knowing the future, so those that need running times are left out there.
    """
    return [name for name in schedulers if trace.history is not None or not get_policy(name).needs_estimates]


def compared(reading: str, trace: Trace) -> tuple[Scheduler, ...]:
    """Return the schedulers of a reading that can be simulated on a trace.

    The authors' program knows true running times.
    """
    listed = COMPARED[one_of(reading, READINGS, "reading")]
    return listed if reading == PROGRAM else able(listed, trace)


def able(schedulers: Iterable[Scheduler], trace: Trace) -> tuple[Scheduler, ...]:
    """Return those that can learn what they need from the past of a trace.

    On a trace without a past, schedulers that need running times are left out: none may win by knowing the future.
    """
    return tuple(s for s in schedulers if trace.history is not None or not s.made.needs_estimates)


def settings_of(reading: str, scheduler: Scheduler) -> Settings:
    """Return the settings of a scheduler in a reading."""
    if reading == PROGRAM:
        return FLAWED
    return Settings(estimator="gradient-boosting" if scheduler.made.needs_estimates else "oracle")
