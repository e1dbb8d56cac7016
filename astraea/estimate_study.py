"""What running-time estimates are worth: how good they are, and what their errors cost schedulers that need them.

A trace that has no history of its own (a user's log) is cut: its last two thirds are simulated, and estimators learn
from what came before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from astraea.cluster import Cluster
from astraea.columns import FloatArray
from astraea.errors import InputError
from astraea.estimates import HIGH, LOW, Estimates, accuracy
from astraea.estimators import LEARNED
from astraea.evaluation import (
    NODES,
    SMALL_JOBS,
    Grid,
    busy_nodes,
    load_workload,
    run_of,
    seeds,
    suitable_nodes,
)
from astraea.experiments import Run
from astraea.learning import ENOUGH
from astraea.metrics import average_jct, average_slowdown, sharing_loss
from astraea.past import Past
from astraea.policies import get_policy
from astraea.result import Result
from astraea.simulate import Settings
from astraea.trace import Trace

ESTIMATING: Final = ("allox", "themis")
"""Schedulers of the evaluation that need running times."""

RATES: Final = (0.0, 0.25, 0.5, 1.0, 2.0, 10.0)
"""Error rates of `noisy`; the last has about the mean error of the learned estimators on the synthetic traces."""

LEAST_HISTORY: Final = 4 * ENOUGH
"""Jobs that must have ended for estimators to learn: the quarter held out for the band must give enough errors."""

DAY: Final = 86_400.0


@dataclass(frozen=True, eq=False)
class Workload:
    """What is simulated, and what can be learned from.

    Attributes
    ----------
    trace : Trace
    cluster : Cluster
    learned : tuple of str
        Estimators that have enough to learn from.
    notes : tuple of str
        Sentences for the reader: where the history comes from, or why nothing can be learned.
    """

    trace: Trace
    cluster: Cluster
    learned: tuple[str, ...]
    notes: tuple[str, ...]


def estimate_workload(trace: str, scale: str = "paper", seed: int = 0) -> Workload:
    """One trace of the evaluation, with a history; parameters as in `evaluation.load_workload`.

    Raises
    ------
    InputError
        If there is no such trace or scale.
    """
    return _with_history(*load_workload(trace, scale, seed), trace, scale)


@lru_cache(maxsize=12)
def _with_history(jobs: Trace, cluster: Cluster, source: str, scale: str) -> Workload:
    notes = []
    if jobs.history is None:
        whole = load_workload(source)[0]
        jobs = whole.window(whole.span / 3, whole.span + 1)
        learnable = 0 if jobs.history is None else len(jobs.history)
        notes.append(
            f"{whole.name} has no history of its own: the last two thirds of its {whole.span / DAY:.4g} days are "
            f"simulated, and the {learnable} jobs before them are the history."
        )
        jobs = jobs.head(SMALL_JOBS) if scale == "small" else jobs
        nodes = NODES.get(source) or suitable_nodes(jobs)
        cluster = Cluster(busy_nodes(jobs) if scale == "small" else nodes)
    ended = _ended(jobs)
    if ended < LEAST_HISTORY:
        notes.append(
            f"The learned estimators are left out: only {ended} jobs of the history of {jobs.name} had ended by its "
            f"second 0, and at least {LEAST_HISTORY} are needed."
        )
    return Workload(jobs, cluster, tuple(LEARNED) if ended >= LEAST_HISTORY else (), tuple(notes))


def _ended(trace: Trace) -> int:
    """Jobs of the history that had ended by second 0."""
    try:
        return len(Past(trace, "history").jobs)
    except InputError:
        return 0


# -- how good ----------------------------------------------------------------------------------------------------------


def constant_guess(trace: Trace) -> Estimates:
    """The same for every job: 10 %, 50 % and 90 % quantile of the jobs of the history that had ended by second 0.

    Raises
    ------
    InputError
        If there is none.
    """
    log = Past(trace, "constant guess").log_duration
    return Estimates.through(*(np.full(len(trace), np.exp(np.quantile(log, p))) for p in (LOW, 0.5, HIGH)))


def error_table(estimates: Mapping[str, Estimates], trace: Trace) -> pd.DataFrame:
    """Error and band of each estimator, one row each.

    Returns
    -------
    DataFrame, index estimator
        The measures of `estimates.accuracy`, and `rank correlation`: Spearman's, between estimated and true GPU-time,
        which is what an order by estimates hangs on; NaN where all are equal.
    """
    table = accuracy(estimates, trace.duration).pivot_table(
        index="estimator", columns="measure", values="value", sort=False
    )
    truth = _ranks(trace.gpu_time)
    found = {}
    for name, e in estimates.items():
        ranks = _ranks(trace.demand * e.median)
        same = len(trace) < 2 or np.ptp(ranks) == 0 or np.ptp(truth) == 0
        found[name] = np.nan if same else float(np.corrcoef(ranks, truth)[0, 1])
    return table.assign(**{"rank correlation": pd.Series(found)}).rename_axis(columns=None)


def _ranks(values: FloatArray) -> FloatArray:
    ranks: FloatArray = pd.Series(values).rank().to_numpy()
    return ranks


def error_by_age(estimates: Mapping[str, Estimates], trace: Trace, parts: int = 7) -> pd.DataFrame:
    """Error and coverage of jobs that come soon after second 0, when all estimates are made, and later.

    Returns
    -------
    DataFrame, columns estimator, day, jobs, log-MAE, coverage
        One row per estimator and part of the time in which a job comes; `day` is its middle; shares in [0, 1].
    """
    part = np.minimum((trace.submit_time / max(trace.span, 1.0) * parts).astype(np.int64), parts - 1)
    rows = []
    for name, e in estimates.items():
        error = np.abs(np.log(e.median / trace.duration))
        inside = (trace.duration >= e.quantile(LOW)) & (trace.duration <= e.quantile(HIGH))
        for k in np.unique(part):
            here = part == k
            day = (k + 0.5) * trace.span / parts / DAY
            rows.append((name, day, int(here.sum()), error[here].mean(), inside[here].mean()))
    return pd.DataFrame(rows, columns=["estimator", "day", "jobs", "log-MAE", "coverage"])


def joint_density(estimates: Mapping[str, Estimates], trace: Trace, per_decade: int = 6) -> pd.DataFrame:
    """Share of the jobs in each cell of true running time and estimate, cells even in the logarithm.

    Returns
    -------
    DataFrame, columns estimator, truth, estimate, share
        Cells with a job; `truth` and `estimate` are the lower edges [s], each cell a factor 10^(1 / `per_decade`) wide.
    """
    parts = []
    truth = np.floor(per_decade * np.log10(trace.duration))
    for name, e in estimates.items():
        cells = pd.DataFrame({"truth": truth, "estimate": np.floor(per_decade * np.log10(e.median))})
        counts = cells.value_counts(sort=False).sort_index().rename("share").reset_index()
        edges = 10 ** (counts[["truth", "estimate"]] / per_decade)
        parts.append(edges.assign(share=counts["share"] / len(trace)).assign(estimator=name))
    return pd.concat(parts, ignore_index=True)[["estimator", "truth", "estimate", "share"]]


# -- what is left ------------------------------------------------------------------------------------------------------


def survival(estimates: Estimates, service: npt.ArrayLike) -> FloatArray:
    """Probability that each job needs more than `service` [s]: 1 / (1 + (service / median)^(1 / spread)).

    Shapes broadcast; spreads must be above 0.
    """
    x = np.asarray(service, dtype=np.float64)
    spread = np.where(x < estimates.median, estimates.spread_below, estimates.spread_above)
    share: FloatArray = 1 / (1 + (x / estimates.median) ** (1 / spread))
    return share


def median_remaining(estimates: Estimates, had: npt.ArrayLike) -> FloatArray:
    """Median of what each job still needs once it has had that service [s]: x - had where S(x) = S(had) / 2.

    Shapes broadcast; spreads must be above 0.
    """
    e = np.asarray(had, dtype=np.float64)
    left = survival(estimates, e) / 2  # at most 1/2, so x is above the median
    remaining: FloatArray = estimates.median * (1 / left - 1) ** estimates.spread_above - e
    return remaining


def observed_remaining(duration: FloatArray, had: npt.ArrayLike) -> FloatArray:
    """Median of what jobs still needed, of those that needed more than `had` [s]; NaN where fewer than `ENOUGH` did."""
    longer = (duration[duration > e] - e for e in np.atleast_1d(np.asarray(had, dtype=np.float64)))
    return np.array([np.median(rest) if len(rest) >= ENOUGH else np.nan for rest in longer])


# -- what it costs -----------------------------------------------------------------------------------------------------


def estimate_grid(trace: str, scale: str = "paper") -> Grid:
    """Schedulers that need running times with noisy and learned estimates, and ASTRAEA.

    The columns are `source`, what the scheduler knows (an error rate such as ``25 %``, the name of an estimator, or
    ``nothing``), `seed` of the trace and `draw` of the noise: that of the seed, and for a real trace, which is one,
    as many as a synthetic one has seeds.
    """
    runs, rows = [], []

    def add(run: Run, source: str, seed: int) -> None:
        runs.append(run)
        about = {"scheduler": run.policy.name, "seed": seed, "draw": run.seed, "nodes": run.cluster.nodes}
        rows.append({**about, "source": source})

    draws = {"small": 2}.get(scale, 5)
    for seed in seeds(trace, scale):
        work = estimate_workload(trace, scale, seed)
        add(run_of(work.trace, work.cluster, "astraea"), "nothing", seed)
        for policy in map(get_policy, ESTIMATING):
            for rate in RATES:
                name = "noisy" if rate else "oracle"
                for draw in [0] if not rate else [seed] if len(seeds(trace, scale)) > 1 else range(draws):
                    settings = Settings(estimator=name, estimate_error=rate)
                    add(Run(work.trace, work.cluster, policy, draw, settings), f"{rate:.0%}".replace("%", " %"), seed)
            for name in work.learned:
                add(Run(work.trace, work.cluster, policy, settings=Settings(estimator=name)), name, seed)
    return Grid(runs, pd.DataFrame(rows))


def cost_figures(result: Result) -> dict[str, Any]:
    """Average JCT [s], average slowdown and sharing loss in [0, 1] of a run."""
    return {
        "average_jct": average_jct(result),
        "average_slowdown": average_slowdown(result),
        "sharing_loss": sharing_loss(result),
    }


def costs(table: pd.DataFrame) -> pd.DataFrame:
    """What errors cost: each figure over that of the same scheduler, trace and seed with true running times.

    Parameters
    ----------
    table : DataFrame
        Of `estimate_grid(...).table(cost_figures)`.

    Returns
    -------
    DataFrame
        Rows of `ESTIMATING`, with the columns jct_ratio (1 is no cost) and loss_change (difference of sharing loss).
    """
    table = table[table["scheduler"].isin(ESTIMATING)]
    keys = ["scheduler", "seed"]
    true = table[table["source"] == "0 %"].set_index(keys)[["average_jct", "sharing_loss"]]
    base = true.loc[pd.MultiIndex.from_frame(table[keys])].to_numpy()
    ratio, change = table["average_jct"] / base[:, 0], table["sharing_loss"] - base[:, 1]
    return table.assign(jct_ratio=ratio, loss_change=change).reset_index(drop=True)
