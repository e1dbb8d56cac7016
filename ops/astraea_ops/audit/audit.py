"""The audit of a log: everything is computed here before anything is written."""

from __future__ import annotations

import dataclasses
import string
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas
from astraea.cluster.observed import observed, recorded_runs
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.rules import Rules
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.cluster.simulation import split_off_impossible
from astraea.core.errors import InputError
from astraea.core.metrics import average_jct, sharing_loss
from astraea.core.result import Result
from astraea.core.units import HOUR
from astraea.experiments.lease_term import FIGURES, MOST_LEASES, recommended_term
from astraea.traces.trace import Trace
from astraea_ops.audit import causes, recorded, scenarios
from astraea_ops.audit.replays import MANY, replays
from astraea_ops.audit.scenarios import AS_IT_WAS, Calibration, calibration
from astraea_ops.forecast.moment import still_waiting
from astraea_ops.slurm.words import hosts_of

WHAT_IF: Final = ("astraea", "gandiva-fair", "tiresias-l")
"""Schedulers with which a log is simulated by default."""

STARVED: Final = 20
"""Number of explained waits, the longest first; ten more for each tenant count for its causes."""

PER_TENANT: Final = 10

TERMS: Final = (60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0)
"""Lease terms that are tried [s]; those below 900 s only if they give at most `MOST_LEASES` leases."""

NAMELESS: Final = "a cluster"
"""Name of a log whose names were replaced."""

INTERVAL: Final = 1.0
"""Time between rounds [s]: a cluster reacts within a second or two, and its log is in whole seconds."""

SHORT: Final = 100 * HOUR
"""In longer logs, utilization until the last submission is measured by the hour, not lease by lease [s]."""

KEPT: Final = [
    "job_id", "tenant", "demand", "submit_time", "first_start_time", "jct", "rho_job", "leases", "overhead"
]  # fmt: skip
"""Columns of `Result.jobs` from which the tables of an audit are made."""


class Audit(NamedTuple):
    """The findings; tables without a comment are those of `scenarios`."""

    trace: Trace
    cluster: Cluster
    end: float  #: end of the last job [s]
    utilization: float  #: part of the GPU-time in use until the last submission; NaN if all jobs came at once
    quota: dict[str, float]  #: share of each tenant [GPU]
    jobs: dict[str, int]  #: jobs of each tenant that ran
    replay: str  #: the cluster's own scheduler
    calibration: Calibration  #: comparison of its replay with the log
    left_out: int  #: jobs that schedulers with quotas could never run; they are in no comparison
    period: str  #: name of a period of `owed`
    owed: pd.DataFrame
    causes: pd.DataFrame  #: of `causes.causes`, the longest waits, with the columns of `causes.beside`
    overview: pd.DataFrame
    by_tenant: pd.DataFrame
    by_size: pd.DataFrame
    by_month: pd.DataFrame  #: of `scenarios.by_month`
    gains: pd.DataFrame
    over_time: pd.DataFrame
    lease_terms: pd.DataFrame  #: input of `recommended_term`
    lease_term: str  #: the lease term that suits the cluster, in a sentence
    settings: Settings  #: of the simulations


def audit(
    trace: Trace, cluster: Cluster, own: Policy, what_if: Sequence[str] = WHAT_IF, rules: Rules | None = None
) -> Audit:
    """Audit a log with recorded starts from a cluster whose scheduler is `own`, as far as it is known.

    `what_if` names other schedulers; `rules` are what the cluster's own settings say about each job. `InputError` as in
    `observed.observed` and `simulate`, or if a tenant whose jobs are all waiting has no share.
    """
    trace = with_those_who_wait(trace)
    was, runs = observed(trace, cluster), recorded_runs(trace)
    end = float(was.jobs["end_time"].max())
    settings = Settings(interval=INTERVAL)
    quota = dict(zip(trace.tenants, quotas(trace, cluster.gpus).tolist(), strict=True))

    who, waiting = recorded.waits(trace, runs), still_waiting(trace)
    bounds, period = scenarios.periods(max(end, float(waiting["submit_time"].max())) if len(waiting) else end)
    longest = who.iloc[(who["since"] - who["until"]).argsort(kind="stable")]
    longest = longest[(np.arange(len(longest)) < STARVED) | (longest.groupby("tenant").cumcount() < PER_TENANT)]
    found = causes.beside(causes.causes(trace, runs, cluster, longest, rules), trace)

    of_log: dict[str, Any] = {
        "utilization": scenarios.use(was, trace.span),
        "owed": scenarios.owed(was, quota, bounds, waiting),
        "by_month": scenarios.by_month(trace, who, was, quota, waiting, bounds[-1]),
        "over_time": scenarios.over_time(was, waiting),
        "jobs": {str(name): int(n) for name, n in was.jobs["tenant"].value_counts().items()},
    }

    try:
        common, aside = split_off_impossible(trace, cluster, rules=rules)
    except InputError as error:
        hint = "use larger tenants (--tenant), or give the true number of nodes (--nodes)"
        raise InputError(f"{error}; {hint}") from None
    theirs = None if rules is None else rules.of(np.flatnonzero(pd.Index(trace.job_id).isin(common.job_id)))
    assert was.grants is not None
    shown = was
    if len(aside):
        jobs, grants = (t[t["job_id"].isin(common.job_id)].reset_index(drop=True) for t in (was.jobs, was.grants))
        shown = dataclasses.replace(was, jobs=jobs, grants=grants)
    rows = [scenarios.overview_row(AS_IT_WAS, shown)]
    results = {AS_IT_WAS: _without_log(shown)}
    was = _without_log(was) if len(aside) else results[AS_IT_WAS]
    del who, runs, shown
    # jobs that the others cannot run would make all jobs wait longer, so the comparison leaves them out
    others = [get_policy(name) for name in dict.fromkeys(what_if) if name != own.name]
    for policy in (own, *others):
        result = simulate(common, cluster, policy, settings=settings, keep_log=trace.span < SHORT, rules=theirs)
        rows.append(scenarios.overview_row(policy.name, result))
        results[policy.name] = _without_log(result)
        del result  # of a large log it fills the memory
    once = len(trace) > MANY and not len(aside)
    near = [results[own.name]] if once else replays(trace, cluster, own, rules, settings)
    terms, sentence = _lease_terms(
        common, cluster, settings, theirs,
        {p.parameters["lease_term"]: results[p.name] for p in others if p.name == "astraea"},
    )  # fmt: skip
    return Audit(
        trace=trace,
        cluster=cluster,
        end=end,
        quota=quota,
        replay=own.name,
        calibration=calibration(was, *near),
        left_out=len(aside),
        period=period,
        causes=found,
        overview=pd.DataFrame(rows),
        by_tenant=scenarios.waits_by(results, "tenant"),
        by_size=scenarios.waits_by(results, "size"),
        gains=scenarios.gains(results[AS_IT_WAS], results[own.name], {p.name: results[p.name] for p in others}),
        lease_terms=terms,
        lease_term=sentence,
        settings=settings,
        **of_log,
    )


def with_those_who_wait(trace: Trace) -> Trace:
    """Add tenants whose jobs are all still waiting; `InputError` unless all shares are equal."""
    aside = still_waiting(trace)
    lacking = sorted(set(aside["tenant"]) - set(trace.tenants))
    if not lacking:
        return trace
    weights = dict(zip(trace.tenants, trace.tenant_weight.tolist(), strict=True))
    if len(set(weights.values())) > 1 or trace.tree is not None:
        raise InputError(f"{trace.name}: tenant {lacking[0]!r} has a waiting job but no share; give it one (--weights)")
    return trace.with_weights(weights | dict.fromkeys(lacking, float(trace.tenant_weight[0])))


def _without_log(result: Result) -> Result:
    """Drop what the tables do not need from a result: in a large log, the rest fills the memory."""
    return dataclasses.replace(
        result, jobs=result.jobs[KEPT], grants=None, placements=None, timeline=result.timeline.head(0)
    )


def _lease_terms(
    trace: Trace, cluster: Cluster, settings: Settings, rules: Rules | None, known: Mapping[float, Result]
) -> tuple[pd.DataFrame, str]:
    """Simulate ASTRAEA under several lease terms, some of them `known`; return the table and the recommendation."""
    busy = float(trace.duration.sum())
    rows: list[tuple[float, ...]] = []
    for term in TERMS:
        if term >= 900 or busy / term <= MOST_LEASES:
            policy = get_policy("astraea").with_parameters(lease_term=term)
            result = known.get(term) or simulate(trace, cluster, policy, settings=settings, rules=rules)
            overhead = float(result.jobs["overhead"].mean() / result.jobs["jct"].mean())
            rows.append((term, average_jct(result), overhead, sharing_loss(result)))
            del result
    table = pd.DataFrame(rows, columns=["lease_term", *FIGURES])
    if len(table[FIGURES].drop_duplicates()) == 1:
        return table, (
            f"From {table['lease_term'].min():g} s on, the lease term makes no difference to these jobs: no job that "
            "ran that long had to give way. A log with longer jobs would say more."
        )
    return table, recommended_term(table)[1]


def anonymous(trace: Trace) -> Trace:
    """Replace tenants by letters, users and jobs by numbers, in their order, so always by the same names.

    The history, of which an audit shows nothing, is left out.
    """
    owners = sorted(set(trace.tenants) | set(still_waiting(trace)["tenant"]))
    letters: Sequence[str] = string.ascii_uppercase
    if len(owners) > len(letters):
        letters = [f"T{k:0{len(str(len(owners)))}d}" for k in range(1, len(owners) + 1)]
    tenant = dict(zip(owners, letters, strict=False))
    people = {user: f"user {k}" for k, user in enumerate(sorted(set(trace.user)), 1)}
    aside = trace.excluded_jobs
    number = len(trace) + len(aside)
    ids = np.array([f"{k:0{len(str(number))}d}" for k in range(1, number + 1)], dtype=object)
    changes: dict[str, Any] = {"excluded_jobs": aside.assign(job_id=ids[len(trace) :])}
    for column, names in (("tenant", tenant), ("user", people)):
        if column in aside:
            changes["excluded_jobs"][column] = aside[column].astype(object).map(names).fillna("another")
    if "detail" in aside:  # unreadable text may be a name
        changes["excluded_jobs"]["detail"] = np.where(aside["detail"] == "", "", "?")
    if trace.recorded is not None:
        job = dict(zip(trace.job_id, ids, strict=False))
        changes["recorded"] = trace.recorded.assign(job_id=trace.recorded["job_id"].map(job))
    if trace.details is not None:
        changes["details"] = _without_names(trace.details, tenant, people)
    return dataclasses.replace(
        trace,
        name=NAMELESS,
        job_id=ids[: len(trace)],
        tenants=tuple(tenant[name] for name in trace.tenants),
        user=np.array([people[user] for user in trace.user], dtype=object),
        history=None,
        **changes,
    )


def _without_names(details: pd.DataFrame, tenant: dict[str, str], people: dict[str, str]) -> pd.DataFrame:
    """Return the details with other names of accounts, users and nodes."""
    lists = {text: hosts_of(text) for text in details["node_list"].unique()}
    nodes = {name: f"n{k}" for k, name in enumerate(sorted(set().union(*lists.values())), 1)}
    accounts = {name: f"account {k}" for k, name in enumerate(sorted(set(details["account"]) - set(tenant)), 1) if name}
    names = {
        "account": tenant | accounts,
        "user": people,
        "node_list": {text: ",".join(nodes[host] for host in hosts) for text, hosts in lists.items()},
    }
    return details.assign(**{
        column: details[column].astype(object).map(new).fillna("").astype("category") for column, new in names.items()
    })  # fmt: skip
