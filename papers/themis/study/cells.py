"""One simulation of the evaluation of Themis, apart from the figures read of it, whose edits recompute nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Final, NamedTuple

import numpy as np

from astraea.core.arrays import IntArray
from astraea.core.result import Result
from papers.themis.agent import Agent
from papers.themis.apps import AppTrace
from papers.themis.arbiter import AppPolicy, Arbiter
from papers.themis.auction import Bid
from papers.themis.policies import get_policy
from papers.themis.policies.themis import bid, themis
from papers.themis.simulate import simulate
from papers.themis.workload import sample_workload

LATER: Final = 10.0
"""Delay, in T_isolated, that an app expects if it holds and wins nothing; used by one of the variants."""


def bid_in_need(arbiter: Arbiter, agent: Agent) -> tuple[Bid, IntArray]:
    """Return the bid of an app that rates losing as a long wait if it holds nothing."""
    made, rows = bid(arbiter, agent)
    if not agent.lots:
        made.value[0] = 1 / (1 / made.value[0] + LATER)
    return made, rows


VARIANTS: Final[dict[str, Callable[..., None]]] = {
    # what winners may not keep, and what nobody won, goes to all; as it is, who loses in the auction gets none of it
    "leftovers for losers too": partial(themis, losers_too=True),
    # as it is, an app that holds and wins nothing counts on one gang a lease later
    "nothing is worth little": partial(themis, make_bid=bid_in_need),
}
"""Themis with one of two other rules; the notes on [Mahajan2020] leave them open, and results depend on them."""


class ThemisRun(NamedTuple):
    """One simulation; apps, machines, trials and contention as in `tables.ThemisScale`."""

    apps: int
    machines: tuple[int, ...]
    scheduler: str = "themis"  # name of a policy, or one of `VARIANTS`
    trial: int = 0
    contention: float = 1.0
    f: float = 0.8  # of Themis and its variants
    lease_term: float = 900.0  # [s]
    error: float = 0.0  # of estimates, as a part
    liar: int = 0  # place of the app that lies
    factor: float = 1.0  # by which it multiplies its rho; 1 is the truth


def workload_of(cell: ThemisRun) -> AppTrace:
    """Apps and machines of a cell."""
    return _sampled(cell.apps, cell.contention, cell.trial, cell.machines)


@lru_cache(maxsize=16)
def _sampled(apps: int, contention: float, trial: int, machines: tuple[int, ...]) -> AppTrace:
    return sample_workload(apps, contention, trial, np.array(machines))


def simulated(cell: ThemisRun) -> Result:
    """Simulate a cell."""
    if cell.scheduler in VARIANTS:
        policy = AppPolicy(cell.scheduler, partial(VARIANTS[cell.scheduler], f=cell.f), {"f": cell.f})
    else:
        policy = get_policy(cell.scheduler, **({"f": cell.f} if cell.scheduler == "themis" else {}))
    lies = {f"app-{cell.liar}": cell.factor} if cell.factor != 1 else {}
    return simulate(workload_of(cell), policy, lease_term=cell.lease_term, error=cell.error, lies=lies, seed=cell.trial)
