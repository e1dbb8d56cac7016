"""The cost of wrong running-time estimates to the schedulers that need them: workloads, runs and tables.

A trace that has no history of its own (a user's log) is cut: its last two thirds are simulated, and estimators learn
from what came before.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import log2
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.settings import Settings
from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError
from astraea.core.units import DAY, HOUR
from astraea.estimation.estimates import Estimates
from astraea.estimation.estimators import LEARNED
from astraea.estimation.models import ENOUGH
from astraea.estimation.past import Past
from astraea.experiments.grid import Grid
from astraea.experiments.run import Run
from astraea.traces.trace import Trace
from papers.ye2022.accuracy import median_remaining, observed_remaining, survival
from papers.ye2022.evaluation import (
    INTERVAL,
    READ,
    SMALL_JOBS,
    evaluated_cluster,
    few_seeds,
    grid_of,
    load_workload,
    run_of,
)
from papers.ye2022.readings import ASTRAEA

ESTIMATING: Final = ("allox", "themis")  # schedulers of the evaluation that need running times
RATES: Final = (0.5, 1.0, 2.0, 10.0)
"""Error rates of `noisy`; the last has about the mean error of the learned estimators on the synthetic traces."""

COLUMNS: Final = [
    "scheduler", "seed", "nodes", "source", "average_jct", "average_slowdown", "sharing_loss", "alpha", "f",
]  # fmt: skip
"""Figures of these runs: JCT in s, sharing loss in [0, 1], and parameters of the schedulers."""

LEAST_HISTORY: Final = 4 * ENOUGH
"""Jobs that must have ended for estimators to learn: the quarter held out for the band must give enough errors."""


class Learning(NamedTuple):
    """Jobs to simulate, and jobs to learn from."""

    trace: Trace
    cluster: Cluster
    learned: tuple[str, ...]  # estimators that have enough to learn from
    notes: tuple[str, ...]  # sentences: where the history comes from, or why nothing can be learned


@lru_cache(maxsize=12)
def estimate_workload(trace: str, scale: str = "paper", seed: int = 0) -> Learning:
    """One trace of the evaluation, with a history; parameters and errors as in `evaluation.load_workload`."""
    jobs, cluster = load_workload(trace, scale, seed)
    notes = []
    if jobs.history is None:
        whole = load_workload(trace)[0]
        jobs = whole.window(whole.span / 3, whole.span + 1)
        learnable = 0 if jobs.history is None else len(jobs.history)
        notes.append(
            f"{whole.name} has no history of its own: the last two thirds of its {whole.span / DAY:.4g} days are "
            f"simulated, and the {learnable} jobs before them are the history."
        )
        jobs = jobs.head(SMALL_JOBS) if scale == "small" else jobs
        cluster = evaluated_cluster(trace, jobs, scale)
    try:
        ended = len(Past(jobs, "history").jobs)
    except InputError:
        ended = 0
    if ended < LEAST_HISTORY:
        notes.append(
            f"The learned estimators are left out: they need at least {LEAST_HISTORY} jobs that had ended by second 0 "
            f"of {jobs.name}, and its history has {ended}."
        )
    return Learning(jobs, cluster, tuple(LEARNED) if ended >= LEAST_HISTORY else (), tuple(notes))


def estimate_grid(trace: str, scale: str = "paper") -> Grid:
    """Schedulers that need running times with noisy and learned estimates, and ASTRAEA.

    The column `source` is what the scheduler knows: an error rate such as ``50 %``, the name of an estimator that
    learned, or ``nothing``.
    """
    noise = {f"{100 * rate:g} %": Settings(estimator="noisy", estimate_error=rate) for rate in RATES}
    rows = []
    for seed in few_seeds(trace, scale):
        recorded, cluster, learned, _ = estimate_workload(trace, scale, seed)
        jobs = recorded.in_rounds(INTERVAL)
        known = {"0 %": Settings(), **{name: Settings(estimator=name) for name in learned}}
        rows.append((seed, Run(jobs, cluster, ASTRAEA.made, keep=READ), {"source": "nothing", "scheduler": "astraea"}))
        for some, draw in ((known, 0), (noise, seed)):
            for p in ESTIMATING:
                for source, settings in some.items():
                    rows.append((seed, run_of(jobs, cluster, p, seed=draw, settings=settings), {"source": source}))
    return grid_of(rows)


def costs(table: pd.DataFrame) -> pd.DataFrame:
    """Return the cost of errors: figures of ``estimate_grid(...).table()`` over those with true running times.

    Rows of `ESTIMATING`, with the columns jct_ratio (1 is no cost) and loss_change (difference of sharing loss).
    """
    table = table[table["scheduler"].isin(ESTIMATING)]
    keys = ["scheduler", "seed"]
    true = table[table["source"] == "0 %"].set_index(keys)[["average_jct", "sharing_loss"]]
    base = true.loc[pd.MultiIndex.from_frame(table[keys])].to_numpy()
    ratio, change = table["average_jct"] / base[:, 0], table["sharing_loss"] - base[:, 1]
    return table.assign(jct_ratio=ratio, loss_change=change).reset_index(drop=True)


HAD: Final = HOUR  # service of the job whose estimate `remaining_table` follows [s]


def through_quantiles(durations: FloatArray) -> Estimates:
    """One estimate for all jobs: through the 10 %, 50 % and 90 % quantile of running times [s]."""
    low, median, high = np.quantile(durations, [0.1, 0.5, 0.9])
    return Estimates.through([low], [median], [high])


def remaining_table(durations: FloatArray) -> pd.DataFrame:
    """Survival of running times [s] and what is left of jobs that still run, observed and by two distributions.

    Rows are 160 values of `time` [s], from the shortest to the longest. `observed`, `log_logistic` (through
    `through_quantiles`), `exponential` (with the same median) and `after_1_h` (log-logistic, of a job that has had
    `HAD`) are shares in [0, 1] that need more. ``*_remaining`` are medians of what is left after so much [s].
    """
    one = through_quantiles(durations)
    median = float(one.median[0])
    x = np.geomspace(max(durations.min(), 1.0), durations.max(), 160)
    fitted = survival(one, x)
    return pd.DataFrame(
        {
            "time": x,
            "observed": 1 - np.searchsorted(np.sort(durations), x, side="right") / len(durations),
            "log_logistic": fitted,
            "exponential": 0.5 ** (x / median),
            "after_1_h": np.where(x > HAD, fitted / survival(one, HAD), 1.0),
            "observed_remaining": observed_remaining(durations, x),
            "log_logistic_remaining": median_remaining(one, x),
            "exponential_remaining": median,
        }
    )


def places(table: pd.DataFrame) -> dict[str, float]:
    """Return the places of the sources of ``estimate_grid(...).table()`` on an axis: error rates, then the learned.

    Rates are a step apart if one is twice the other; 0 is a step before the least of them.
    """
    sources = [s for s in dict.fromkeys(table["source"]) if s != "nothing"]
    rates = {s: float(s.split()[0]) for s in sources if s.endswith("%")}
    least = min((rate for rate in rates.values() if rate > 0), default=1.0)
    noisy = {s: 1 + log2(rate / least) if rate > 0 else 0.0 for s, rate in sorted(rates.items(), key=lambda x: x[1])}
    first = max(noisy.values(), default=-1.5) + 1.5
    return noisy | {s: first + k for k, s in enumerate(s for s in sources if s not in noisy)}


def ahead_of_astraea(table: pd.DataFrame) -> pd.DataFrame:
    """Count the seeds of ``estimate_grid(...).table()`` on which a scheduler is ahead of ASTRAEA, by what it knows."""
    ours = table[table["scheduler"] == "astraea"].set_index("seed")
    rows = {}
    for scheduler, source in product(ESTIMATING, places(table)):
        mine = table[(table["scheduler"] == scheduler) & (table["source"] == source)].set_index("seed")
        rows[scheduler, source] = {
            "shorter average JCT": int((mine["average_jct"] < ours["average_jct"].loc[mine.index]).sum()),
            "less sharing loss": int((mine["sharing_loss"] < ours["sharing_loss"].loc[mine.index]).sum()),
            "of seeds": len(mine),
        }
    return pd.DataFrame(rows).T
