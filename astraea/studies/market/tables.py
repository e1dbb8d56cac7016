"""Tables of [Wang2023] §5: what the plans of `points` earned, for whom, and how far from the optimum.

Every table takes the name of a trace (as `traces.named.named_trace`) and a scale ("small", "paper", "full").
`InputError` if there is no such trace or scale, or the trace has too few jobs or tenants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from astraea.studies.market.points import MARKET_SCALES, optima, plans, searches
from astraea.studies.market.properties import PROPERTIES
from astraea.studies.scales import at_scale


def revenue_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Fig 4: total revenue over the number of jobs and of servers, with both forms of utility.

    Returns
    -------
    DataFrame, columns varied (jobs, servers), value, utility, scheduler, trial, revenue, revenue_per_job, makespan
    [s], shared, seconds_per_job [s]
        As of `runs.plan_numbers`.
    """
    found = plans(trace, scale, "Fig 4").table(_once).astype({"shared": np.int64})
    parts = [
        found[(found["jobs"] == at[0]) & (found["servers"] == at[1])].assign(varied=varied, value=n)
        for varied, n, at in at_scale(MARKET_SCALES, scale).axes
    ]
    columns = ["varied", "value", "utility", "scheduler", "trial"]
    columns += ["revenue", "revenue_per_job", "makespan", "shared", "seconds_per_job"]
    return pd.concat(parts, ignore_index=True)[columns]


def ratio_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Figs 5 and 6: performance ratio of the four schedulers on small markets.

    Returns
    -------
    DataFrame, columns jobs, servers, scheduler, trial, ratio, is_exact
        As of `runs.ratios`.
    """
    found = optima(trace, scale).table(lambda table: table)
    return found[["jobs", "servers", "scheduler", "trial", "ratio", "is_exact"]]


def fairness_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Figs 7 and 8: revenue fairness of every tenant.

    Returns
    -------
    DataFrame, columns scheduler, trial, tenant, alpha
        As of `metrics.revenue_fairness`.
    """
    return _each(trace, scale, "Figs 7 and 13", "tenant", ["alpha"]).astype({"tenant": np.int64})


def time_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Figs 9 and 10: how long Astraea takes to plan one job; depends on the machine.

    Returns
    -------
    DataFrame, columns jobs, servers, trial, seconds_per_job [s]
    """
    return plans(trace, scale, "Fig 9").table(_once)[["jobs", "servers", "trial", "seconds_per_job"]]


def theta_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Fig 11: revenue with maximal prices that are wrong by some percent.

    The actual value is that of §4.4 (`feasible_theta`) with lambda 1, since prices up to 0.02 make no difference, and
    the percentage is that of the price theta - 1. Moderate and high load are the fewest and the most jobs of Fig 4.

    Returns
    -------
    DataFrame, columns load (moderate, high), percent [%], trial, revenue
    """
    jobs = at_scale(MARKET_SCALES, scale).jobs
    found = plans(trace, scale, "Fig 11").table(_once)
    found["load"] = found["jobs"].map({jobs[0]: "moderate", jobs[-1]: "high"})
    return found[["load", "percent", "trial", "revenue"]]


def admission_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Fig 12: ideal revenue and cost of every admitted job, and of Astraea as written too, where prices are felt.

    Returns
    -------
    DataFrame, columns scheduler, trial, job_id, ideal, cost
    """
    return _each(trace, scale, "Fig 12", "job_id", ["ideal", "cost"])


def utilization_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Fig 13: part of all workers that jobs hold, in every hour until the schedulers that share are done.

    Returns
    -------
    DataFrame, columns scheduler, trial, hour, utilization
        0 after a scheduler's makespan; what BatchSche has after the last of the others is left out.
    """
    found = _each(trace, scale, "Figs 7 and 13", "hour", ["utilization"]).astype({"hour": np.int64})
    last = int(found.loc[found["scheduler"] != "batch-sche", "hour"].max())
    keys = ["scheduler", "trial"]
    every = found[keys].drop_duplicates().merge(pd.DataFrame({"hour": range(1, last + 1)}), how="cross")
    return every.merge(found, how="left").fillna({"utilization": 0.0})


def tenants_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Table 2: Astraea with more and fewer tenants.

    Returns
    -------
    DataFrame, columns tenants, trial, revenue_per_job, variance
        Variance of revenue fairness over tenants, NaN where there is none (`fairness_table`).
    """
    found = plans(trace, scale, "Table 2").table(
        lambda numbers: _once(numbers) | {"variance": _of(numbers, "alpha").var(ddof=0)}
    )
    return found[["tenants", "trial", "revenue_per_job", "variance"]]


def properties_table(scale: str = "paper") -> pd.DataFrame:
    """Try every property of §4.5 on the same random markets.

    Returns
    -------
    DataFrame, columns property, instances, violations, counter_example
        Markets tried, those in which the property fails, and the first of those with fewest jobs and tenants, in words.
    """
    instances = at_scale(MARKET_SCALES, scale).instances
    found = searches(scale).table(lambda table: table).sort_values(["jobs", "tenants", "seed"])
    rows = []
    for name in PROPERTIES:
        words = [*found.loc[found["property"] == name, "counter_example"]]
        rows.append((name, instances, len(words), words[0] if words else ""))
    return pd.DataFrame(rows, columns=["property", "instances", "violations", "counter_example"])


def _each(trace: str, scale: str, figure: str, item: str, quantities: Sequence[str]) -> pd.DataFrame:
    """Quantities that the plans have of every item; columns scheduler, trial, `item`, and these."""

    def listed(numbers: pd.DataFrame) -> pd.DataFrame:
        items = numbers.loc[numbers["quantity"] == quantities[0], "item"].to_numpy()
        return pd.DataFrame({item: items, **{q: _of(numbers, q).to_numpy() for q in quantities}})

    return plans(trace, scale, figure).table(listed)[["scheduler", "trial", item, *quantities]]


def _once(numbers: pd.DataFrame) -> dict[Any, Any]:
    """What a plan has once, as a row."""
    return numbers[numbers["item"] == ""].set_index("quantity")["value"].to_dict()


def _of(numbers: pd.DataFrame, quantity: str) -> pd.Series[float]:
    """Values of one quantity."""
    return numbers.loc[numbers["quantity"] == quantity, "value"]
