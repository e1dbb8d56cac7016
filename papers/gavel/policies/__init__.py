"""Gavel's policies, and those that it is compared with ([Narayanan2020] §4, Table 1).

Names end in ``-het`` where a policy knows how fast each job is on each accelerator type, and in ``-ss`` where jobs may
share GPUs. The name has no effect; only what a policy declares has.
"""

from __future__ import annotations

from typing import Final

from astraea.core.checks import one_of
from papers.gavel.policies import (
    baselines,
    cost,
    fifo,
    finish_time_fairness,
    hierarchical,
    las,
    ltgf,
    makespan,
    released,
)
from papers.gavel.problem import Allocator

_MODULES: Final = (fifo, las, finish_time_fairness, makespan, cost, hierarchical, baselines, ltgf, released)
POLICIES: Final = {p.name: p for module in _MODULES for p in vars(module).values() if isinstance(p, Allocator)}
"""Every policy by name."""


def get_policy(name: str) -> Allocator:
    """Return the policy of this name; the `InputError` for an unknown name lists all."""
    return POLICIES[one_of(name, POLICIES, "policy")]
