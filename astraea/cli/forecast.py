"""When a job that is not submitted yet would start, in a log or in a running Slurm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from astraea.cli import arguments as args

if TYPE_CHECKING:
    from astraea.cluster.cluster import Cluster
    from astraea.cluster.policy import Policy
    from astraea.cluster.site import Site
    from astraea.traces.trace import Trace


def in_log(job: str, trace: Trace, cluster: Cluster, policy: Policy, site: Site | None = None) -> str:
    """Forecast a job that is submitted where a log ends, or at a time in it, in five lines."""
    from astraea.core.errors import InputError
    from astraea.forecast.log import queue_of
    from astraea.forecast.start import would_start
    from astraea.forecast.wish import wish
    from astraea.forecast.words import as_text

    if policy.name != "slurm":
        raise InputError(f"--would-start simulates the scheduler slurm only, got {policy.name}")
    moment = queue_of(trace, wish(job), cluster, policy, site)
    args.say_if_compiling()
    return as_text(would_start(moment), moment)
