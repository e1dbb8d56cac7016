"""The entry point of the engine, `simulate(trace, cluster, policy, seed)`, and a state to try a policy on."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np

from astraea.cluster.cluster import Cluster
from astraea.cluster.definition import Policy, unknown
from astraea.cluster.engine import events
from astraea.cluster.engine.state import View, new_state
from astraea.cluster.policies import get_policy
from astraea.cluster.rules import Rules
from astraea.cluster.settings import Settings
from astraea.cluster.simulation import simulated, split_off_impossible
from astraea.core.errors import InputError
from astraea.core.result import Result
from astraea.traces.trace import Trace


def simulate(
    trace: Trace,
    cluster: Cluster,
    policy: Policy | str,
    seed: int = 0,
    *,
    settings: Settings | None = None,
    keep_log: bool = False,
    rules: Rules | None = None,
    **parameters: Any,
) -> Result:
    """Run a trace on a cluster under a policy.

    Parameters
    ----------
    trace : Trace
    cluster : Cluster
    policy : Policy or str
        A scheduler with its parameters, or the name of one (`astraea.policies`).
    seed : int
        Seed of random placement and noisy estimates; nothing else is random.
    settings : Settings, optional
        All settings at once; those in `parameters` replace its values.
    keep_log : bool
        Keep every lease and its nodes (`Result.grants`, `Result.placements`).
    rules : Rules, optional
        The cluster's configuration for each job: nodes on which it may run, its place in a tree of tenants, limits,
        priority. Without rules, any job may run anywhere, and each tenant is one account.
    **parameters
        Parameters of the policy, such as ``lease_term=300``, and settings of the simulation, such as
        ``restart_overhead=10`` or ``placement="spread"``: the fields of `Settings`.

    Raises
    ------
    InputError
        If no job of the trace can ever run, a parameter is unknown or out of range, the estimator has no history, or
        the rules do not fit the trace and the cluster.
    PolicyError
        If the policy cannot be compiled, or breaks a rule: it grants GPUs that are not free or a job twice, or leaves
        jobs waiting forever.
    """
    trace, cluster, chosen = checked_trace(trace), checked_cluster(cluster), checked_policy(policy)
    of_settings = [f.name for f in fields(Settings)]
    for name in parameters:
        if name not in chosen.parameters and name not in of_settings:
            raise unknown(name, {chosen.name: chosen.parameters}, of_settings)
    own = {name: value for name, value in parameters.items() if name in chosen.parameters}
    others = {name: value for name, value in parameters.items() if name not in own}
    settings = replace(settings or Settings(), **others)
    chosen = chosen.with_parameters(**own)
    return simulated(trace, cluster, chosen, seed, settings, keep_log=keep_log, rules=rules)


def checked_trace(value: Any) -> Trace:
    """Return a trace; `InputError` if it is something else."""
    if isinstance(value, Trace):
        return value
    raise InputError(f"trace must be a Trace, as read_trace and Trace.from_frame make one, got {_kind(value)}")


def checked_cluster(value: Any) -> Cluster:
    """Return a cluster; `InputError` if it is something else."""
    if isinstance(value, Cluster):
        return value
    raise InputError(f"cluster must be a Cluster, such as Cluster(nodes=100), got {_kind(value)}")


def checked_policy(value: Any) -> Policy:
    """Return a policy, perhaps given by its name; `InputError` if it is something else."""
    if isinstance(value, str):
        return get_policy(value)
    if isinstance(value, Policy):
        return value
    raise InputError(f"policy must be a name, or a function made with @policy, got {_kind(value)}")


def _kind(value: Any) -> str:
    return f"{value!r}" if isinstance(value, int | float | str) else f"a {type(value).__name__}"


def waiting(trace: Trace, cluster: Cluster, policy: Policy | str) -> View:
    """Return the state of a first round in which every job of a trace has come and waits: ``policy(state)`` chooses.

    The round is at the last submission, and nothing has run. A policy that needs running times knows the true ones.
    """
    trace, cluster, chosen = checked_trace(trace), checked_cluster(cluster), checked_policy(policy)
    excluded = split_off_impossible(trace, cluster, chosen.largest(chosen.parameters))[1]
    if len(excluded):
        raise InputError(f"{trace.name}: job {excluded['job_id'][0]!r} can never run: {excluded['reason'][0]}")
    unknown_times = (math.nan, math.nan, math.nan)
    s, x = new_state(
        trace,
        cluster,
        parameters=chosen.parameters.values(),
        memory=chosen.memory,
        tenant_memory=chosen.tenant_memory,
        association_memory=chosen.association_memory,
        decay=math.log(2) / chosen.half_life,
        estimate=(trace.duration, 0.0, 0.0) if chosen.needs_estimates else unknown_times,
    )
    arrivals = np.zeros(len(trace), events.HAPPENS)
    arrivals["time"], arrivals["kind"], arrivals["job"] = trace.submit_time, events.ARRIVES, np.arange(len(trace))
    events.walk(s, x, arrivals)
    s.lease_end = s.now + chosen.lease_term
    return s
