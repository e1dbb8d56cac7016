"""The queue of a log, with a job that is submitted at some time."""

from __future__ import annotations

from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import recorded_runs
from astraea.cluster.policy import Policy
from astraea.cluster.rules import no_rules
from astraea.cluster.site import Site
from astraea.cluster.site_rules import rules
from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.forecast.moment import ASKED, Moment, moment_of, seconds_of, tenant_of, with_asked
from astraea.forecast.wish import Wish
from astraea.traces.trace import Trace


def queue_of(trace: Trace, wish: Wish, cluster: Cluster, policy: Policy, site: Site) -> Moment:
    """Return the queue of a log when a job is submitted; `site` is the known part of the cluster's own settings.

    `InputError` if the log does not have the runs of jobs, does not cover that time, or has no such tenant.
    """
    if wish.partition and wish.partition not in site.partitions:
        known = ", ".join(map(printable, site.partitions)) or "none, because no settings were given (--slurm-conf)"
        raise InputError(f"a job: partition must be one of those known ({known}), got {printable(wish.partition)!r}")
    runs = recorded_runs(trace)
    now = seconds_of(trace, wish.at)
    tenant = tenant_of(trace.tenants, wish.account, trace.name)
    queue = with_asked(trace, now, wish._replace(account=tenant))
    is_known = site.files or site.classes
    of_jobs = rules(site, queue, cluster).rules if is_known else no_rules(queue, cluster)
    return moment_of(queue, runs, ASKED, cluster, policy, of_jobs, now)
