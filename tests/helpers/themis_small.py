"""Little apps by hand for the tests of the simulator of Themis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from astraea.core.arrays import FloatArray
from papers.themis.agent import Agent
from papers.themis.apps import App, AppTrace, Tuner
from papers.themis.arbiter import Arbiter
from papers.themis.policies import get_policy
from papers.themis.simulate import Run

STANDARD: Final = App("a", 0.0, "vgg16", 1, 60.0, (), Tuner(first=10, eta=2, tolerance=5e-4, longest=10))
"""All jobs have had all their epochs at the end of the first rung: what follows takes no time."""


def falling(epochs: int) -> FloatArray:
    """Losses of a job that converges after so many epochs; one that lasts longer ends lower."""
    return 100.0 - np.arange(1.0, epochs + 1)


def app(name: str, jobs: Sequence[int | Sequence[float] | FloatArray], **changes: Any) -> App:
    """An app by its jobs, each by its epochs or by its losses; by default one GPU, epochs of a minute and one rung."""
    loss = tuple(falling(job) if isinstance(job, int) else np.array(job, np.float64) for job in jobs)
    return replace(STANDARD, name=name, loss=loss, **changes)


def workload(apps: Sequence[App], *machines: int) -> AppTrace:
    return AppTrace("small", tuple(apps), np.array(machines, np.int64))


def arbiter_of(w: AppTrace, *, lease_term: float = 900.0, lies: Mapping[int, float] | None = None) -> Arbiter:
    """An arbiter to which all apps of the workload have come, each at its time; its clock is at the last arrival."""
    arbiter = Arbiter(w, lease_term, lies or {})
    for i, one in enumerate(w.apps):
        arbiter.now = one.arrival
        arbiter.arrive(Agent(i, one, 0.0, 0))
    return arbiter


def decided(arbiter: Arbiter, policy: str, **parameters: Any) -> list[int]:
    """Gangs that each app holds once the policy has decided."""
    get_policy(policy, **parameters).decide(arbiter)
    return [len(agent.lots) for agent in arbiter.agents]


def leases(result: Run) -> list[tuple[str, float, float, bool]]:
    """(app, begin, end, on one machine) of all leases, sorted."""
    return sorted(result.leases[["job_id", "start", "end", "is_local"]].itertuples(index=False, name=None))


def tables(result: Run) -> str:
    """Every byte of the tables."""
    return "\n".join(t.to_csv(float_format="%.17g") for t in result)
