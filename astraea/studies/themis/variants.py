"""What the results of Themis hang on: two rules of which the notes on [Mahajan2020] say nothing, changed one by one.

as it is
    An app that wins nothing counts on one gang a lease later; who loses in the auction gets no leftovers.
leftovers for losers too
    What winners may not keep, and what nobody won, goes to all apps that want GPUs, the worst off first.
nothing is worth little
    An app that holds nothing and wins nothing expects to finish `LATER` times T_isolated later.

[Mahajan2020] K. Mahajan et al., Themis: Fair and Efficient GPU Cluster Scheduling, NSDI 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import pandas as pd

from astraea.cluster.policies.themis import number_of_bidders
from astraea.core.arrays import IntArray
from astraea.experiments.parallel import parallel_map
from astraea.studies.themis.runs import Cell, ThemisScale, themis_scale, workload_of
from astraea.themis.agent import Agent
from astraea.themis.arbiter import Arbiter
from astraea.themis.auction import Bid
from astraea.themis.metrics import rho_summary
from astraea.themis.policies.themis import bid, give_leftovers, hold_auction, themis, worst_first
from astraea.themis.policy import Policy
from astraea.themis.simulate import simulate

LATER: Final = 10.0


def losers_too(arbiter: Arbiter, f: float) -> None:
    """Themis with leftovers for everybody."""
    wanting = worst_first(arbiter)
    hold_auction(arbiter, wanting[: number_of_bidders(len(wanting), f)])
    give_leftovers(arbiter, wanting)


def worth_little(arbiter: Arbiter, f: float) -> None:
    """Themis in which nothing is worth little."""
    wanting = worst_first(arbiter)
    n = number_of_bidders(len(wanting), f)
    hold_auction(arbiter, wanting[:n], bid_in_need)
    give_leftovers(arbiter, wanting[n:])


def bid_in_need(arbiter: Arbiter, agent: Agent) -> tuple[Bid, IntArray]:
    """The bid of an app to which nothing is worth little, if it has nothing."""
    made, rows = bid(arbiter, agent)
    if not agent.lots:
        made.value[0] = 1 / (1 / made.value[0] + LATER)
    return made, rows


VARIANTS: Final[dict[str, Callable[..., None]]] = {
    "as it is": themis,
    "leftovers for losers too": losers_too,
    "nothing is worth little": worth_little,
}


def variants_table(scale: str = "paper") -> pd.DataFrame:
    """The fairness knob under each variant, at contention 1 and at the highest one.

    Parameters
    ----------
    scale : {"small", "paper", "full"}
    **computing
        As in `themis.comparison_tables`.

    Returns
    -------
    DataFrame, columns variant, contention, f, trial, max_rho, relative_gpu_time, average_jct [s]

    Raises
    ------
    InputError
        If there is no such scale.
    """
    size = themis_scale(scale)
    rows = [
        {"variant": variant, "contention": contention, "f": f, "trial": trial}
        for variant in VARIANTS
        for contention in (1.0, size.contentions[-1])
        for f in size.few_fs
        for trial in range(size.contention_trials)
    ]
    found = parallel_map(_measured, [(size, *row.values()) for row in rows])
    columns = ("max_rho", "relative_gpu_time", "average_jct")
    return pd.DataFrame([{**row, **{c: got[c] for c in columns}} for row, got in zip(rows, found, strict=True)])


def _measured(size: ThemisScale, variant: str, contention: float, f: float, trial: int) -> dict[str, float]:
    workload = workload_of(size, Cell("themis", trial, contention))
    return rho_summary(simulate(workload, Policy(variant, partial(VARIANTS[variant], f=f)), seed=trial))
