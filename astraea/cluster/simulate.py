"""The entry point of the engine: `simulate(trace, cluster, policy, seed)`."""

from __future__ import annotations

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.rules import Rules
from astraea.cluster.settings import Settings
from astraea.cluster.simulation import simulated
from astraea.core.result import Result
from astraea.estimation.estimators import estimate
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
) -> Result:
    """Run a trace on a cluster under a policy.

    Parameters
    ----------
    trace : Trace
    cluster : Cluster
    policy : Policy or str
        A scheduler with its parameters, or the name of one.
    seed : int
        Seed of random placement and noisy estimates; nothing else is random.
    settings : Settings, optional
        Scheduling interval, overheads, placement, estimator.
    keep_log : bool
        Keep every lease and its nodes (`Result.grants`, `Result.placements`).
    rules : Rules, optional
        The cluster's configuration for each job: nodes on which it may run, its place in a tree of tenants, limits,
        priority. Without rules, any job may run anywhere, and each tenant is one account.

    Raises
    ------
    InputError
        If no job of the trace can ever run, a parameter is out of range, the estimator has no history, or the
        rules do not fit the trace and the cluster.
    PolicyError
        If the policy breaks a rule: it grants GPUs that are not free or a job twice, or leaves jobs waiting forever.
    """
    chosen = get_policy(policy) if isinstance(policy, str) else policy
    return simulated(trace, cluster, chosen, seed, settings, estimate, keep_log=keep_log, rules=rules)
