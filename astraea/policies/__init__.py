"""The schedulers, one file each."""

from __future__ import annotations

from typing import Final

from astraea.errors import InputError
from astraea.policies.allox import allox
from astraea.policies.astraea import astraea
from astraea.policies.astraea_released import astraea_released
from astraea.policies.base import Policy
from astraea.policies.fifo import fifo
from astraea.policies.finish_time import finish_time_fairness
from astraea.policies.gandiva_fair import gandiva_fair
from astraea.policies.hived import hived
from astraea.policies.max_min import max_min
from astraea.policies.themis import themis
from astraea.policies.tiresias_l import tiresias_l
from astraea.policies.yarn_cs import yarn_cs

_ALL: Final = (
    astraea, astraea_released, hived, allox, tiresias_l, themis, gandiva_fair, yarn_cs, fifo, finish_time_fairness,
    max_min,
)  # fmt: skip
POLICIES: Final[dict[str, Policy]] = {p.name: p for p in _ALL}
"""Every scheduler by name, in the order in which figures show them."""


def get_policy(name: str) -> Policy:
    """The scheduler of this name.

    Raises
    ------
    InputError
        If there is none; the message lists all.
    """
    if name not in POLICIES:
        raise InputError(f"unknown policy {name!r}; known are {', '.join(POLICIES)}")
    return POLICIES[name]
