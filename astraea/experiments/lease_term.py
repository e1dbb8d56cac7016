"""Which lease term suits a cluster: simulate its past under several and choose ([Ye2022] §5.1.3, §6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import pandas as pd

from astraea.core.errors import InputError
from astraea.experiments.grid import grid_table
from astraea.experiments.run import Run

TERMS: Final = (60, 120, 300, 600, 900, 1200, 1800, 2700, 3600)
"""Lease terms that are tried [s]."""

MOST_LEASES: Final = 3_000_000
"""Leases of a simulation above which a term is not worth its time, unless it is asked for."""

TOLERANCE: Final = 0.02
"""How far the average JCT of a recommended lease term may be above the best ([Ye2022] §5.1.3, our reading)."""

FIGURES: Final = ["average_jct", "overhead_share", "sharing_loss"]
"""What is compared (Fig 9), as `metrics.summary` names them: in s, and shares in [0, 1]."""


class LeaseTermChoice(NamedTuple):
    """A recommended lease term and what it rests on."""

    lease_term: float  # the recommended one [s]
    reason: str  # why, in a sentence
    table: pd.DataFrame  # a row per term that was tried, the shortest first; columns lease_term, and `FIGURES`


def select_lease_term(run: Run, terms: Sequence[float] = TERMS, **options: Any) -> LeaseTermChoice:
    """Recommend the shortest lease term [s] whose average JCT is hardly above the best.

    A shorter term lets the scheduler correct shares more often, so of terms that are as good as the best for job
    completion, the shortest is the fairest ([Ye2022] §6.2). `run` has jobs of the past under a scheduler with leases;
    `options` are those of `grid_table`. `InputError` if the policy has no leases, or a term is out of range.
    """
    if "lease_term" not in run.policy.parameters:
        raise InputError(f"policy {run.policy.name} does not preempt, so it has no lease term to select")
    if len(terms) == 0:
        raise InputError("terms must name at least one lease term")
    runs = [replace(run, policy=run.policy(lease_term=term)) for term in sorted(set(terms))]
    table = grid_table(runs, **options)[["lease_term", *FIGURES]]
    return LeaseTermChoice(*recommended_term(table), table)


def recommended_term(frame: pd.DataFrame, tolerance: float = TOLERANCE) -> tuple[float, str]:
    """Shortest lease term whose average JCT, as a mean over seeds, is within `tolerance` of the best, and why.

    `frame` has the columns lease_term and `FIGURES`, and one row or several (seeds) per term.
    """
    means, best = lease_means(frame)
    lowest = means["average_jct"].min()
    term = float(means.index.to_numpy(dtype=float)[(means["average_jct"] <= (1 + tolerance) * lowest).to_numpy()][0])
    jct, overhead, loss = means.loc[term].to_numpy(dtype=float)
    return term, (
        f"{term:g} s is the shortest lease term whose average JCT, {jct:.0f} s, is within {100 * tolerance:g} % of the "
        f"best, {lowest:.0f} s at {best:g} s; checkpoints and restarts are {100 * overhead:.2f} % of it, and "
        f"{100 * loss:.1f} % of the jobs have sharing loss."
    )


def lease_means(frame: pd.DataFrame) -> tuple[pd.DataFrame, float]:
    """Means over seeds for each lease term, the shortest first, and the term with the lowest average JCT [s]."""
    means = frame.groupby("lease_term")[FIGURES].mean()
    return means, float(means.index.to_numpy(dtype=float)[means["average_jct"].to_numpy().argmin()])
