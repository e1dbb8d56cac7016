"""The schedulers, one file each."""

from __future__ import annotations

from typing import Final

from astraea.cluster.policies.allox import allox, allox_under_leases
from astraea.cluster.policies.astraea import astraea
from astraea.cluster.policies.astraea_released import astraea_released
from astraea.cluster.policies.decayed_usage import decayed_usage
from astraea.cluster.policies.easy import easy
from astraea.cluster.policies.fifo import fifo
from astraea.cluster.policies.finish_time import finish_time_fairness
from astraea.cluster.policies.gandiva_fair import gandiva_fair
from astraea.cluster.policies.hived import hived
from astraea.cluster.policies.kai import kai
from astraea.cluster.policies.kueue_afs import kueue_afs
from astraea.cluster.policies.max_min import max_min
from astraea.cluster.policies.slurm import slurm
from astraea.cluster.policies.themis import themis
from astraea.cluster.policies.tiresias_l import tiresias_l
from astraea.cluster.policies.yarn_cs import yarn_cs
from astraea.cluster.policy import Policy
from astraea.core.checks import one_of

_ALL: Final = (
    astraea, astraea_released, hived, allox, allox_under_leases, tiresias_l, themis, gandiva_fair, yarn_cs, fifo, easy,
    finish_time_fairness, max_min, decayed_usage, kai, kueue_afs, slurm,
)  # fmt: skip
POLICIES: Final[dict[str, Policy]] = {p.name: p for p in _ALL}
"""Every scheduler by name, in the order of the figures."""


def get_policy(name: str) -> Policy:
    """Return the scheduler with this name; `InputError` if there is none, with a list of all names."""
    return POLICIES[one_of(name, POLICIES, "policy")]
