"""Choice of a lease term for a cluster: simulate its past under several terms ([Ye2022] §5.1.3, §6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import pandas as pd

from astraea.core.errors import InputError
from astraea.core.wording import duration_text
from astraea.experiments.grid import grid_table
from astraea.experiments.run import Run

TERMS: Final = (60, 120, 300, 600, 900, 1200, 1800, 2700, 3600)
"""Lease terms that are tried [s]."""

MOST_LEASES: Final = 3_000_000
"""Number of leases in a simulation above which a term is not tried unless the user asks for it."""

TOLERANCE: Final = 0.02
"""Largest excess of a recommended lease term's average JCT over the best ([Ye2022] §5.1.3, our reading)."""

FIGURES: Final = ["average_jct", "overhead_share", "sharing_loss"]
"""Compared figures (Fig 9), named as in `metrics.summary`: in s, and shares in [0, 1]."""


class LeaseTermChoice(NamedTuple):
    """A recommended lease term and the evidence for it."""

    lease_term: float  # the recommendation [s]
    reason: str  # the reason, in a sentence
    table: pd.DataFrame  # a row per tried term, the shortest first; columns lease_term and `FIGURES`


def select_lease_term(run: Run, terms: Sequence[float] = TERMS, **options: Any) -> LeaseTermChoice:
    """Recommend the shortest lease term [s] whose average JCT is close to the best.

    A shorter term lets the scheduler correct shares more often, so among terms that are about as good as the best for
    job completion, the shortest is the fairest ([Ye2022] §6.2). `run` has past jobs under a scheduler with leases;
    `options` are those of `grid_table`. `InputError` if the policy has no leases, or a term is out of range.
    """
    if "lease_term" not in run.policy.parameters:
        raise InputError(f"policy {run.policy.name} does not preempt, so it has no lease term to select")
    if len(terms) == 0:
        raise InputError("terms must contain at least one lease term, got none")
    runs = [replace(run, policy=run.policy.with_parameters(lease_term=term)) for term in sorted(set(terms))]
    table = grid_table(runs, **options)[["lease_term", *FIGURES]]
    return LeaseTermChoice(*recommended_term(table), table)


def recommended_term(frame: pd.DataFrame, tolerance: float = TOLERANCE) -> tuple[float, str]:
    """Return the shortest term whose average JCT, as a mean over seeds, is within `tolerance` of the best, and why.

    `frame` has the columns lease_term and `FIGURES`, and one row or more (seeds) per term.
    """
    means, best = lease_means(frame)
    lowest = float(means["average_jct"].min())
    term = float(means.index.to_numpy(dtype=float)[(means["average_jct"] <= (1 + tolerance) * lowest).to_numpy()][0])
    jct, overhead, loss = means.to_numpy(dtype=float)[means.index == term][0].tolist()
    return term, (
        f"{duration_text(term)} is the shortest lease term whose average JCT, {duration_text(jct)}, is within "
        f"{100 * tolerance:g} % of the best, {duration_text(lowest)} at {duration_text(best)}. "
        f"Checkpoints and restarts are {100 * overhead:.2f} % of this JCT, and "
        f"{100 * loss:.1f} % of the jobs have sharing loss."
    )


def lease_means(frame: pd.DataFrame) -> tuple[pd.DataFrame, float]:
    """Return means over seeds for each term, the shortest first, and the term with the lowest average JCT [s]."""
    means = frame.groupby("lease_term")[FIGURES].mean()
    return means, float(means.index.to_numpy(dtype=float)[means["average_jct"].to_numpy().argmin()])
