"""Which lease term suits a cluster: simulate its past under several and choose ([Ye2022] §5.1.3, §6.2, Fig 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from astraea.cluster import Cluster
from astraea.errors import InputError
from astraea.experiments import Run, grid_table
from astraea.metrics import average_jct, overhead_share, sharing_loss
from astraea.policies import get_policy
from astraea.policies.base import Policy
from astraea.result import Result
from astraea.simulate import Settings
from astraea.trace import Trace

TERMS: Final = (60, 120, 300, 600, 900, 1200, 1800, 2700, 3600)
"""Lease terms that are tried [s]."""


@dataclass(frozen=True, eq=False)
class LeaseTermChoice:
    """A recommended lease term and what it rests on.

    Attributes
    ----------
    lease_term : float
        The recommended one [s].
    reason : str
        Why, in a sentence.
    table : DataFrame, columns lease_term, average_jct [s], overhead_share, sharing_loss, within_tolerance
        One row per term that was tried, the shortest first; shares in [0, 1].
    """

    lease_term: float
    reason: str
    table: pd.DataFrame


def select_lease_term(
    trace: Trace,
    cluster: Cluster,
    policy: Policy | str = "astraea",
    terms: Sequence[float] = TERMS,
    *,
    tolerance: float = 0.02,
    seed: int = 0,
    settings: Settings | None = None,
    **options: Any,
) -> LeaseTermChoice:
    """Recommend the shortest lease term whose average JCT is hardly above the best.

    A shorter term lets the scheduler correct shares more often, so of terms that are as good as the best for job
    completion, the shortest is the fairest ([Ye2022] §6.2).

    Parameters
    ----------
    trace : Trace
        Jobs of the past.
    cluster : Cluster
    policy : Policy or str
        A scheduler with leases; its other parameters stay as they are.
    terms : sequence of float
        Lease terms to try [s].
    tolerance : float
        How far the average JCT may be above the best, as a part of it.
    seed, settings
        As in `simulate`.
    **options
        `jobs`, `cache`, `backend`, `scheduler`, `progress` of `run_grid`.

    Raises
    ------
    InputError
        If the policy has no leases, or a term or the tolerance is out of range.
    """
    chosen = get_policy(policy) if isinstance(policy, str) else policy
    if "lease_term" not in chosen.parameters:
        raise InputError(f"policy {chosen.name} does not preempt, so it has no lease term to select")
    if len(terms) == 0:
        raise InputError("terms must name at least one lease term")
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float)) or not 0 <= tolerance <= 1:
        raise InputError(f"tolerance must be a number from 0 to 1, got {tolerance!r}")
    given = Settings() if settings is None else settings
    policies = sorted((chosen(lease_term=term) for term in set(terms)), key=lambda p: p.lease_term)
    runs = [Run(trace, cluster, p, seed, given) for p in policies]
    table = grid_table(runs, measure=_figures, **options)
    table = table[["lease_term", "average_jct", "overhead_share", "sharing_loss"]]
    jct = table["average_jct"].to_numpy(dtype=float)
    best = int(jct.argmin())
    table = table.assign(within_tolerance=jct <= jct[best] * (1 + tolerance))
    pick = int(table["within_tolerance"].to_numpy().argmax())  # the first that is true
    tried = [p.lease_term for p in policies]
    overhead, loss = (100 * float(table[c].to_numpy(dtype=float)[pick]) for c in ("overhead_share", "sharing_loss"))
    reason = (
        f"{tried[pick]:g} s is the shortest lease term whose average JCT, {jct[pick]:.0f} s, is within "
        f"{100 * tolerance:g} % of the best, {jct[best]:.0f} s at {tried[best]:g} s; checkpoints and restarts are "
        f"{overhead:.2f} % of it, and {loss:.1f} % of the jobs have sharing loss."
    )
    return LeaseTermChoice(tried[pick], reason, table)


def _figures(result: Result) -> dict[str, Any]:
    return {
        "average_jct": average_jct(result),
        "overhead_share": overhead_share(result),
        "sharing_loss": sharing_loss(result),
    }
