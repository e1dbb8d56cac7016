"""Gavel's policies, one file each, and those that it is compared with ([Narayanan2020] §4, Table 1).

Names end in ``-het`` where a policy knows how fast each job is on each accelerator type, and in ``-ss`` where jobs may
share GPUs.
"""

from __future__ import annotations

from typing import Final

from astraea.core.errors import InputError
from astraea.gavel.policies.allox import ALLOX
from astraea.gavel.policies.cost import MAX_THROUGHPUT, MIN_COST, MIN_COST_SLO
from astraea.gavel.policies.fifo import FIFO, FIFO_HET, FIFO_HET_SS
from astraea.gavel.policies.finish_time_fairness import FTF, FTF_HET, FTF_HET_SS
from astraea.gavel.policies.gandiva import GANDIVA
from astraea.gavel.policies.hierarchical import (
    HIERARCHICAL,
    HIERARCHICAL_FIFO,
    HIERARCHICAL_FIFO_HET,
    HIERARCHICAL_HET,
)
from astraea.gavel.policies.isolated import ISOLATED
from astraea.gavel.policies.las import LAS, LAS_HET, LAS_HET_SS, LAS_HET_WATER_FILLING
from astraea.gavel.policies.ltgf import LTGF, LTGF_HET
from astraea.gavel.policies.makespan import MAKESPAN, MAKESPAN_HET, MAKESPAN_HET_SS
from astraea.gavel.policies.shortest_job_first import SJF, SJF_HET
from astraea.gavel.problem import Policy

_ALL: Final = (
    FIFO, FIFO_HET, FIFO_HET_SS, LAS, LAS_HET, LAS_HET_SS, FTF, FTF_HET, FTF_HET_SS, MAKESPAN, MAKESPAN_HET,
    MAKESPAN_HET_SS, SJF, SJF_HET, MAX_THROUGHPUT, MIN_COST, MIN_COST_SLO, HIERARCHICAL, HIERARCHICAL_HET,
    HIERARCHICAL_FIFO, HIERARCHICAL_FIFO_HET, LAS_HET_WATER_FILLING, ISOLATED, GANDIVA, ALLOX, LTGF, LTGF_HET,
)  # fmt: skip
POLICIES: Final[dict[str, Policy]] = {p.name: p for p in _ALL}
"""Every policy by name."""


def get_policy(name: str) -> Policy:
    """The policy of this name.

    Raises
    ------
    InputError
        If there is none; the message lists all.
    """
    if name not in POLICIES:
        raise InputError(f"unknown Gavel policy {name!r}; known are {', '.join(POLICIES)}")
    return POLICIES[name]
