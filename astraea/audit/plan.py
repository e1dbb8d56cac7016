"""Plan the replay of a log: the part of the cluster's own settings that is simulated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.rules import Rules
from astraea.cluster.site import Site
from astraea.cluster.site_clock import clock
from astraea.cluster.site_rules import rules
from astraea.traces.trace import Trace


class Plan(NamedTuple):
    """The part of a site that is simulated, and its origin."""

    site: Site
    cluster: Cluster
    own: Policy
    rules: Rules | None
    doubts: list[str]


def plan_of(site: Site, trace: Trace, scheduler: str, given: Mapping[str, Any], cluster: Cluster) -> Plan:
    """Plan the replay of a log under a scheduler with the parameters from the user, else those of the site.

    `cluster` is that of the site if it names nodes. `InputError` as from the scheduler.
    """
    own = get_policy(scheduler)
    parameters: dict[str, Any] = dict(site.parameters) if scheduler == "slurm" else {}
    if "calc_period" in own.parameters:
        period = float({**own.parameters, **parameters, **given}["calc_period"])
        parameters |= clock(site, trace, period)
    own = own(**{name: v for name, v in parameters.items() if name in own.parameters} | dict(given))
    if not site.files and not site.classes:
        return Plan(site, cluster, own, None, [])
    return Plan(site, cluster, own, *rules(site, trace, cluster))
