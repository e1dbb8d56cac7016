"""The queue of a log, with a job that is submitted at some time."""

from __future__ import annotations

from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import recorded_runs
from astraea.cluster.policy import Policy
from astraea.cluster.rules import no_rules
from astraea.cluster.site import Site
from astraea.cluster.site_rules import rules
from astraea.core.errors import InputError
from astraea.forecast.moment import ASKED, Moment, moment_of, seconds_of, tenant_of, with_asked
from astraea.forecast.wish import Wish
from astraea.traces.trace import Trace


def queue_of(trace: Trace, wish: Wish, cluster: Cluster, policy: Policy, site: Site | None = None) -> Moment:
    """Return the queue of a log when a job is submitted; `site` is what is known of the cluster's own settings.

    `InputError` says that the log does not tell when jobs ran, is not of that time, or knows no such tenant.
    """
    if wish.partition and site is None:
        raise InputError("a job: partition=... needs the cluster's own settings (--slurm-conf)")
    runs = recorded_runs(trace)
    now = seconds_of(trace, wish.at)
    tenant = tenant_of(trace.tenants, wish.account, trace.name)
    queue = with_asked(trace, now, wish._replace(account=tenant))
    known = no_rules(queue, cluster) if site is None else rules(site, queue, cluster).rules
    return moment_of(queue, runs, ASKED, cluster, policy, known, now)
