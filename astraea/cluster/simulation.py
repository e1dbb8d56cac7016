"""One simulation, from a policy with its parameters to the tables of its result."""

from __future__ import annotations

import math
import time
from dataclasses import fields, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.definition import Policy
from astraea.cluster.engine import decisions, loop
from astraea.cluster.engine.placement import PLACEMENTS
from astraea.cluster.engine.state import exact, grown, new_state, quotas, whole
from astraea.cluster.rules import Rules, checked, no_rules, nodes_of_gangs, takes_too_much
from astraea.cluster.settings import Settings
from astraea.cluster.tables import grant_log, job_table, timeline_table
from astraea.core import source
from astraea.core.checks import whole_number
from astraea.core.compile_errors import compile_errors
from astraea.core.content import content, refreshed
from astraea.core.errors import InputError, PolicyError
from astraea.core.result import Result, provenance
from astraea.estimation.estimates import Estimates
from astraea.estimation.estimators import estimate
from astraea.traces.trace import Trace


def simulated(
    trace: Trace,
    cluster: Cluster,
    policy: Policy,
    seed: int = 0,
    settings: Settings | None = None,
    *,
    keep_log: bool = False,
    rules: Rules | None = None,
) -> Result:
    """Run a trace on a cluster under a policy; arguments and errors as in `simulate.simulate`."""
    settings = Settings() if settings is None else settings
    seed = whole_number(seed, "seed", most=2**63 - 1, expected="a whole number of at least 0")
    settings = replace(settings, interval=policy.parameters.get("interval", settings.interval))
    lease_rounds = rounds_of_lease(policy, settings)
    if lease_rounds > 0:
        policy = policy.with_parameters(lease_term=float(lease_rounds * exact(settings.interval)))
    rules = None if rules is None else checked(rules, trace, cluster)
    if policy.alike and (cluster.sizes or not (rules is None or rules.allowed.all())):
        raise InputError(f"policy {policy.name} needs nodes of equal size, and jobs that may run on all of them")
    largest = policy.largest(policy.parameters)
    runnable, excluded_jobs = split_off_impossible(trace, cluster, largest, rules, policy.equal_parts)
    rows = np.flatnonzero(~pd.Index(trace.job_id).isin(excluded_jobs["job_id"]))

    told, found = {}, None
    if policy.needs_estimates:
        found = estimate(trace, settings.estimator, settings.estimate_error, int(seed))
        told["estimate"] = (found.median[rows], found.spread_below[rows], found.spread_above[rows])
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
        equal_parts=policy.equal_parts,
        revisit=policy.revisit(policy.parameters),
        **told,
    )
    with compile_errors(f"policy {policy.name}"):
        run, select = loop.compiled_for(refreshed(policy.select, f"policy {policy.name}"), view, private)
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
    return Result(
        jobs=job_table(runnable, view, private),
        excluded_jobs=excluded_jobs,
        timeline=timeline_table(runnable, view, private),
        grants=log[0],
        placements=log[1],
        provenance=origin(trace, cluster, policy, settings, int(seed), rules, found),
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
    rounds = math.ceil(exact(term) / exact(settings.interval))
    overheads = settings.checkpoint_overhead + settings.restart_overhead
    if rounds * settings.interval <= overheads:
        raise InputError(
            f"policy {policy.name}: lease_term must be longer than checkpoint and restart together "
            f"({overheads:g} s), otherwise a preempted job makes no progress; got {term:g}"
        )
    return rounds


def split_off_impossible(
    trace: Trace, cluster: Cluster, largest: float = 1.0, rules: Rules | None = None, equal_parts: bool = False
) -> tuple[Trace, pd.DataFrame]:
    """Return the jobs that some policy could run, and a table of those that none ever could, with the reason.

    A gang larger than its tenant's whole quota can never run under static quotas. It is excluded under every policy in
    the comparison, so that all run the same jobs. A policy without static quotas could run more (`Policy.largest`), one
    that cuts gangs into equal parts fewer (`Policy.equal_parts`); for a comparison, give all policies the jobs that
    this function returns.

    Parameters
    ----------
    trace : Trace
    cluster : Cluster
    largest : float
        Largest gang that is kept, as a multiple of its tenant's quota.
    rules : Rules, optional
        Nodes on which jobs may run, and limits.
    equal_parts : bool
        True for a policy under which a gang has the same number of GPUs on each of its nodes.
    """
    quota = whole(np.minimum(largest * quotas(trace, cluster.gpus), cluster.gpus))[trace.tenant]
    too_large = trace.demand > cluster.gpus
    over_quota = (trace.demand > quota) & ~too_large
    given = no_rules(trace, cluster) if rules is None else rules
    nowhere, over_limit = nodes_of_gangs(given, trace, cluster, equal_parts) == 0, takes_too_much(given)
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


SHOWN: Final = ("about", "at_least", "at_most", "choices", "help", "paper", "revokes", "sees_tenants")
"""Fields of a policy that are read before a simulation, or only shown."""


def decisive(policy: Policy) -> dict[str, Any]:
    """Return everything of a policy that determines a result; of a function of its parameters, the value."""
    given = {f.name: getattr(policy, f.name) for f in fields(policy) if f.name not in SHOWN}
    values = {k: v(policy.parameters) for k, v in given.items() if callable(v) and k != "select"}
    return given | values | {"choices": policy.as_text}


def origin(
    trace: Trace, cluster: Cluster, policy: Policy, settings: Settings, seed: int, rules: Rules | None,
    estimates: Estimates | None,
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
        "policy_sha256": content(decisive(policy), f"policy {policy.name}"),
        "parameters": policy.as_text,
        **{f.name: getattr(settings, f.name) for f in fields(settings)},
        "seed": seed,
        **({} if estimates is None else estimates.learned),
    }
    return provenance(inputs, "numpy", "numba", "pandas", source=source.digest(__name__))
