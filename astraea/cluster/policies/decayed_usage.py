"""Fair share by decayed usage, as in production schedulers, with the jobs and leases of ASTRAEA.

The next tenant is the one with the least past usage relative to its quota. GPU-time counts half after every half-life,
as in Slurm's multifactor plugin (`PriorityDecayHalfLife`, 7 days by default), where Fair Tree orders the accounts of a
level by shares over that usage. Everything else is ASTRAEA: the loop of Algorithm 1, in which a grant counts in full at
once, the order of jobs within the tenant (Algorithm 2), and leases. So only the memory of tenants differs: ASTRAEA
compares all GPU-time since the beginning, or that of a window, without decay.

Departures: usage decays continuously and exactly, where Slurm decays it every `PriorityCalcPeriod`; tenants are one
level; age, size and QOS, which Slurm may add to the fair-share factor, are left out.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from astraea.cluster.engine.accounting import tenant_decayed
from astraea.cluster.engine.state import WHILE_ONE_FITS, View
from astraea.cluster.policies.astraea import Parameters as AlgorithmTwo
from astraea.cluster.policies.astraea import allocate
from astraea.cluster.policy import level, policy, unpack
from astraea.core.compilation import inlined


class Parameters(NamedTuple):
    """Parameters of fair share by decayed usage.

    lease_term : s, length of a lease
    half_life : s, age at which GPU-time counts half
    """

    lease_term: float = 900.0
    half_life: float = 604_800.0


PLAIN: Final = AlgorithmTwo()
"""Algorithm 2 without bonuses: new jobs first, then the least fairness."""


@policy(
    "decayed-usage",
    Parameters,
    about="Serves the tenant with the least usage relative to its quota; usage decays with a half-life, as in "
    "Slurm. Jobs are chosen and leased as in `astraea`.",
    paper="Slurm's fair share, and [Ye2022] §5.2",
    sees_tenants=True,
    revisit=lambda _: WHILE_ONE_FITS,
    at_least={"half_life": 1},
)
def decayed_usage(s: View) -> None:
    """Least decayed usage per quota first (Slurm's fair share), jobs and leases of [Ye2022] Algorithms 1 and 2."""
    allocate(s, unpack(Parameters, s.parameters), PLAIN, half_lives)


@inlined
def half_lives(s: View, p: Parameters, t: int) -> float:
    """Return the usage of tenant `t` per quota, leases granted in this round included."""
    usage = tenant_decayed(s, t, s.now) + s.tenant[t].granted * p.lease_term
    remembered = min(p.half_life, s.now + p.lease_term)  # otherwise a long half-life makes all usage tie
    return level(usage / (s.tenant[t].quota * remembered))
