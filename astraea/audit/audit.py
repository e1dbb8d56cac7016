"""An audit of a log: everything computed, before any of it is written."""

from __future__ import annotations

import dataclasses
import string
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.audit import causes, scenarios
from astraea.audit.calibration import Calibration, calibration
from astraea.audit.scenarios import AS_IT_WAS
from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas
from astraea.cluster.observed import observed, recorded_runs
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate, split_off_impossible
from astraea.core.arrays import FloatArray
from astraea.core.metrics import average_jct, sharing_loss
from astraea.core.result import Result
from astraea.studies.ye2022.lease_term import recommended_term
from astraea.traces.trace import Trace

WHAT_IF: Final = ("astraea", "gandiva-fair", "tiresias-l")
"""Schedulers that a log is simulated with if none are named."""

STARVED: Final = 20
"""Waits that are explained, the longest first; ten more for each tenant count for its causes."""

PER_TENANT: Final = 10

TERMS: Final = (300.0, 900.0, 1800.0, 3600.0)
"""Lease terms that are tried [s]."""

SHORT_JOBS: Final = 600.0
"""Median running time below which rounds are a second long instead of ten [s]."""


class Audit(NamedTuple):
    """What was found.

    Attributes
    ----------
    trace, cluster
        What was audited, anonymous if that was asked for.
    results : dict of str to Result
        As it was first, then each scheduler, all on the same jobs.
    replay : str
        The one of them that is the cluster's own scheduler.
    calibration : Calibration
        How far its replay is from the log.
    left_out : int
        Jobs of the log that schedulers with quotas could never run, and which are in no comparison.
    period : str
        What a period of `owed` is called.
    owed, causes, overview, by_tenant, by_size, over_time, lease_terms : DataFrame
        As of `scenarios`, `causes.causes` (the longest waits), and `lease_term.recommended_term`.
    lease_term : str
        Which lease term suits the cluster, in a sentence.
    settings : Settings
        Of the simulations.
    """

    trace: Trace
    cluster: Cluster
    results: dict[str, Result]
    replay: str
    calibration: Calibration
    left_out: int
    period: str
    owed: pd.DataFrame
    causes: pd.DataFrame
    overview: pd.DataFrame
    by_tenant: pd.DataFrame
    by_size: pd.DataFrame
    over_time: pd.DataFrame
    lease_terms: pd.DataFrame
    lease_term: str
    settings: Settings


def audit(trace: Trace, cluster: Cluster, own: Policy, what_if: Sequence[str] = WHAT_IF) -> Audit:
    """Audit a log.

    Parameters
    ----------
    trace : Trace
        With recorded starts.
    cluster : Cluster
        That it ran on.
    own : Policy
        The scheduler that it ran under, as far as it is known.
    what_if : sequence of str
        Other schedulers.

    Raises
    ------
    InputError
        As of `observed.observed` and `simulate`.
    """
    was = observed(trace, cluster)
    runs = recorded_runs(trace)
    settings = Settings(interval=1.0 if float(np.median(trace.duration)) < SHORT_JOBS else 10.0)
    quota = dict(zip(trace.tenants, quotas(trace, cluster.gpus).tolist(), strict=True))
    bounds, period = scenarios.periods(float(was.jobs["end_time"].max()))

    who = causes.waits(trace, runs)
    waiting = pd.DataFrame(
        {
            "tenant": np.array(trace.tenants, dtype=object)[who.tenant[who.still]],
            "demand": who.demand[who.still],
            "submit_time": who.since[who.still],
        }
    )
    found = causes.causes(trace, runs, cluster, who.take(_longest(who.until - who.since, who.tenant)))
    found = found.sort_values(["wait", "job_id"], ascending=[False, True], kind="stable", ignore_index=True)

    replayed = simulate(trace, cluster, own, settings=settings, keep_log=True)
    common, aside = split_off_impossible(trace, cluster)
    results = {AS_IT_WAS: _of(was, common), own.name: _of(replayed, common)}
    for name in what_if:
        results[name] = simulate(common, cluster, get_policy(name), settings=settings, keep_log=True)
    terms = _lease_terms(common, cluster, settings)
    _, sentence = recommended_term(terms)
    return Audit(
        trace=trace,
        cluster=cluster,
        results=results,
        replay=own.name,
        calibration=calibration(was, replayed),
        left_out=len(aside),
        period=period,
        owed=scenarios.owed(was, quota, bounds, waiting),
        causes=found,
        overview=scenarios.overview(results),
        by_tenant=scenarios.waits_by(results, "tenant"),
        by_size=scenarios.waits_by(results, "size"),
        over_time=scenarios.over_time(was, waiting),
        lease_terms=terms,
        lease_term=sentence,
        settings=settings,
    )


def _longest(wait: FloatArray, tenant: np.ndarray) -> np.ndarray:
    """The longest waits of all, and of each tenant."""
    order = np.argsort(-wait, kind="stable")
    rank = pd.Series(order).groupby(tenant[order]).cumcount().to_numpy()
    return order[(np.arange(len(order)) < STARVED) | (rank < PER_TENANT)]


def _of(result: Result, trace: Trace) -> Result:
    """A result's rows of some jobs."""
    assert result.grants is not None
    jobs = result.jobs[result.jobs["job_id"].isin(trace.job_id)].reset_index(drop=True)
    grants = result.grants[result.grants["job_id"].isin(trace.job_id)].reset_index(drop=True)
    return dataclasses.replace(result, jobs=jobs, grants=grants)


def _lease_terms(trace: Trace, cluster: Cluster, settings: Settings) -> pd.DataFrame:
    """ASTRAEA under several lease terms: what `recommended_term` reads."""
    rows = []
    for term in TERMS:
        result = simulate(trace, cluster, get_policy("astraea")(lease_term=term), settings=settings)
        overhead = float(result.jobs["overhead"].mean() / result.jobs["jct"].mean())
        rows.append((term, average_jct(result), overhead, sharing_loss(result)))
    return pd.DataFrame(rows, columns=["lease_term", "average_jct", "overhead_share", "sharing_loss"])


def anonymous(trace: Trace) -> Trace:
    """The same log with letters for tenants, numbers for users and jobs, in their order: the same log, the same names."""
    letters = _names(len(trace.tenants), string.ascii_uppercase, "T")
    tenant = dict(zip(trace.tenants, letters, strict=True))
    people = {user: f"user {k}" for k, user in enumerate(sorted(set(trace.user)), 1)}
    digits = len(str(len(trace)))
    ids = np.array([f"job {k:0{digits}d}" for k in range(1, len(trace) + 1)], dtype=object)
    job = dict(zip(trace.job_id, ids, strict=True))
    aside = trace.excluded_jobs.assign(job_id=[f"row {k}" for k in range(1, len(trace.excluded_jobs) + 1)])
    if "tenant" in aside:
        aside["tenant"] = aside["tenant"].map(tenant).fillna("another")
    recorded = trace.recorded
    if recorded is not None:
        recorded = recorded.assign(job_id=recorded["job_id"].map(job))
    return dataclasses.replace(
        trace,
        name="a cluster",
        job_id=ids,
        tenants=tuple(letters),
        user=np.array([people[user] for user in trace.user], dtype=object),
        excluded_jobs=aside,
        recorded=recorded,
    )


def _names(number: int, letters: str, prefix: str) -> list[str]:
    """As many names as are needed, in alphabetical order."""
    if number <= len(letters):
        return list(letters[:number])
    digits = len(str(number))
    return [f"{prefix}{k:0{digits}d}" for k in range(1, number + 1)]
