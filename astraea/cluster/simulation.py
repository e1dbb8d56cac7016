"""One simulation, from validated inputs to the tables of its result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine import decisions, loop
from astraea.cluster.engine.placement import PLACEMENTS
from astraea.cluster.engine.state import WHILE_ONE_FITS, grown, new_state, quotas, whole
from astraea.cluster.policy import Policy
from astraea.cluster.rules import Rules, checked, no_rules, nodes_of_gangs, takes_too_much
from astraea.cluster.settings import Settings
from astraea.cluster.tables import grant_log, in_whole_rounds, job_table, timeline_table
from astraea.core import source
from astraea.core.checks import whole_number
from astraea.core.errors import InputError, PolicyError
from astraea.core.fingerprint import plain
from astraea.core.result import Result, provenance
from astraea.core.user_functions import current
from astraea.estimation.estimates import Estimates
from astraea.traces.trace import Trace

Estimator = Callable[[Trace, str, float, int], Estimates]
"""Estimates of a trace's jobs by an estimator's name, its error and a seed: `estimators.estimate`."""


def simulated(
    trace: Trace,
    cluster: Cluster,
    policy: Policy,
    seed: int = 0,
    settings: Settings | None = None,
    estimator: Estimator | None = None,
    *,
    keep_log: bool = False,
    rules: Rules | None = None,
) -> Result:
    """Run a trace on a cluster under a policy; arguments and errors as in `simulate.simulate`.

    Separate from the names of schedulers, so that a cached result depends on one scheduler and not on all. It depends
    on the code of estimators only under a policy that needs estimates, which `estimator` then makes.
    """
    settings = Settings() if settings is None else settings
    seed = whole_number(seed, "seed", most=2**63 - 1, expected="a whole number of at least 0")
    settings = replace(settings, interval=policy.parameters.get("interval", settings.interval))
    lease_rounds = rounds_of_lease(policy, settings)
    if lease_rounds > 0:
        policy = policy(lease_term=lease_rounds * settings.interval)
    rules = None if rules is None else checked(rules, trace, cluster)
    if policy.alike and (cluster.sizes or not (rules is None or rules.allowed.all())):
        raise InputError(f"policy {policy.name} needs nodes of equal size, and jobs that may run on all of them")
    runnable, excluded_jobs = split_off_impossible(trace, cluster, policy.largest(policy.parameters), rules)
    rows = np.flatnonzero(~pd.Index(trace.job_id).isin(excluded_jobs["job_id"]))

    estimate, found = {}, None
    if policy.needs_estimates:
        assert estimator is not None
        found = estimator(trace, settings.estimator, settings.estimate_error, int(seed))
        estimate["estimate"] = (found.median[rows], found.spread_below[rows], found.spread_above[rows])
    revisit = policy.revisit(policy.parameters)
    if settings.placement == "strict":  # a grant that does not fit leaves GPUs free: the next decision may differ
        revisit = max(revisit, WHILE_ONE_FITS)
    view, private = new_state(
        runnable,
        cluster,
        parameters=policy.parameters.values(),
        memory=policy.memory,
        tenant_memory=policy.tenant_memory,
        association_memory=policy.association_memory,
        rules=None if rules is None else rules.of(rows),
        lease_rounds=lease_rounds,
        interval=settings.interval,
        decay=math.log(2) / policy.half_life,
        list_removal_flaw=settings.list_removal_flaw,
        checkpoint=settings.checkpoint_overhead,
        restart=settings.restart_overhead,
        synchronous=policy.synchronous(policy.parameters),
        placement=PLACEMENTS.index(settings.placement),
        random=seed,
        keep_log=keep_log,
        revisit=revisit,
        **estimate,
    )
    run, select = loop.compiled_for(current(policy.select), view, private)
    began = time.perf_counter()
    while (outcome := run(view, private, select)) in (loop.FULL, loop.PAUSED):
        if outcome == loop.FULL:
            view, private = grown(view, private)
    seconds = time.perf_counter() - began
    if outcome == loop.BROKEN:
        code, j = int(private.violation), int(private.violator)
        job = f"job {runnable.job_id[j]!r}" if 0 <= j < len(runnable) else f"index {j}"
        what = decisions.BROKEN[code].format(job=job, others=int(view.region[-1].length) - 1)
        raise PolicyError(f"policy {policy.name}, at {view.now:g} s: {what}")

    log = grant_log(runnable, private) if keep_log else (None, None)
    jobs = job_table(runnable, view, private)
    if settings.whole_rounds:
        jobs = in_whole_rounds(runnable, jobs, jobs["end_time"].to_numpy(), cluster.gpus, settings.interval)
    return Result(
        jobs=jobs,
        excluded_jobs=excluded_jobs,
        timeline=timeline_table(runnable, view, private),
        grants=log[0],
        placements=log[1],
        provenance=origin(trace, cluster, policy, settings, int(seed), rules, found, estimator),
        seconds=seconds,
    )


def rounds_of_lease(policy: Policy, settings: Settings) -> int:
    """Return the lease term in whole rounds, rounded up; 0 for a policy that does not preempt."""
    term = policy.lease_term
    if math.isinf(term):
        return 0
    if term < settings.interval:
        raise InputError(
            f"policy {policy.name}: lease_term must be at least the scheduling interval of {settings.interval:g} s, "
            f"got {term:g}"
        )
    rounds = loop.round_at(term, settings.interval)
    overheads = settings.checkpoint_overhead + settings.restart_overhead
    if rounds * settings.interval <= overheads:
        raise InputError(
            f"policy {policy.name}: lease_term must be longer than checkpoint and restart together "
            f"({overheads:g} s), otherwise a preempted job makes no progress; got {term:g}"
        )
    return int(rounds)


def split_off_impossible(
    trace: Trace, cluster: Cluster, largest: float = 1.0, rules: Rules | None = None
) -> tuple[Trace, pd.DataFrame]:
    """Return the jobs that some policy could run, and a table of those that none ever could, with the reason.

    A gang larger than its tenant's whole quota can never run under static quotas. It is excluded under every policy in
    the comparison, so that all run the same jobs. A policy without static quotas could run more (`Policy.largest`); for
    a comparison, give all policies the jobs that this function returns.

    Parameters
    ----------
    trace : Trace
    cluster : Cluster
    largest : float
        Largest gang that is kept, as a multiple of its tenant's quota.
    rules : Rules, optional
        Nodes on which jobs may run, and limits.
    """
    quota = whole(np.minimum(largest * quotas(trace, cluster.gpus), cluster.gpus))[trace.tenant]
    too_large = trace.demand > cluster.gpus
    over_quota = (trace.demand > quota) & ~too_large
    given = no_rules(trace, cluster) if rules is None else rules
    nowhere, over_limit = nodes_of_gangs(given, trace, cluster) == 0, takes_too_much(given)
    if trace.tree is not None:
        over_limit |= trace.demand > trace.tree.least_limit[trace.tenant]
    out = np.flatnonzero(too_large | over_quota | nowhere | over_limit)
    reasons = [
        f"demand exceeds the cluster ({cluster.gpus} GPUs)" if too_large[j] else
        f"demand exceeds the quota of its tenant ({quota[j]} GPUs)" if over_quota[j] else
        "its gang does not fit on the nodes where it may run" if nowhere[j] else
        "it exceeds a limit by itself"
        for j in out
    ]  # fmt: skip
    table = trace.frame.loc[out, ["job_id", "tenant", "demand", "duration"]].reset_index(drop=True)
    table["reason"] = pd.Series(reasons, dtype=object)
    if len(out) == len(trace):
        raise InputError(f"{trace.name}: no job fits a cluster of {cluster.gpus} GPUs; first job: {reasons[0]}")
    if len(out) == 0:
        return trace, table
    return trace._take(np.setdiff1d(np.arange(len(trace)), out)), table


def origin(
    trace: Trace, cluster: Cluster, policy: Policy, settings: Settings, seed: int, rules: Rules | None,
    estimates: Estimates | None, estimator: Estimator | None,
) -> dict[str, Any]:  # fmt: skip
    """Return the inputs of a simulation, and the software that computed it."""
    inputs = {
        "trace": trace.name,
        "trace_sha256": trace.digest,
        "nodes": cluster.nodes,
        "gpus_per_node": cluster.gpus_per_node,
        **({"sizes": list(cluster.sizes)} if cluster.sizes else {}),
        **({} if rules is None else {"rules_sha256": rules.digest}),
        "policy": policy.name,
        "parameters": policy.as_text,
        **{f.name: getattr(settings, f.name) for f in fields(settings)},
        "seed": seed,
        **({} if estimates is None else estimates.learned),
    }
    functions = (origin, policy.select, *(() if estimator is None or estimates is None else (estimator,)))
    ours = source.of_modules(plain(function).__module__ for function in functions)
    return provenance(inputs, "numpy", "numba", "pandas", source=ours.digest)
