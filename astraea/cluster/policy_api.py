"""The words that a policy is written in.

A policy is one function `select(s)` that reads the `View` and calls `grant(s, j)` for each job that gets a lease at
this round, in order. Pending jobs and jobs that ask for renewal are treated alike ([Ye2022] §5.1.2).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.cluster.engine.accounting import contention_integral, job_fair, tenant_alloc
from astraea.cluster.engine.state import HOUR, I, View
from astraea.cluster.policy import Policy, policy, unpack
from astraea.core.compilation import inlined

__all__ = [
    "NO_JOB",
    "NO_TENANT",
    "RESOLUTION",
    "Policy",
    "active_jobs",
    "all_candidates",
    "attained_by_tenant",
    "average_contention",
    "candidates",
    "fits",
    "grant",
    "in_use",
    "is_open",
    "level",
    "place_on",
    "policy",
    "remaining_service",
    "renewals",
    "revoke",
    "rho_job",
    "running",
    "some_job_fits",
    "total_service",
    "unpack",
]

RESOLUTION: Final = 2.0**30
"""Fairness is compared in steps of 2**-30, about 1e-9, so that ratios that are equal on paper tie in floating point
too, on every machine, and the documented tie-break decides."""

NO_TENANT: Final = -1
NO_JOB: Final = -1


@inlined
def candidates(s: View, t: int) -> I:
    """Jobs of tenant `t` that wait or ask for renewal, in order of submission; those granted at this round too."""
    return s.queue[s.region[t].start : s.region[t].start + s.region[t].length]


@inlined
def all_candidates(s: View) -> I:
    """Jobs of all tenants that wait or ask for renewal, in order of submission."""
    return candidates(s, len(s.tenant))


@inlined
def renewals(s: View) -> I:
    """Candidates that ask for renewal, in order of submission; those granted at this round too."""
    return s.asking[: s.clock[0].n_asking]


@inlined
def running(s: View) -> I:
    """Jobs under a running lease, in no particular order; those revoked at this round too."""
    return s.running[: s.clock[0].n_running]


@inlined
def is_open(s: View, j: int) -> bool:
    """Whether job `j` has been neither granted nor revoked yet at this round."""
    return not s.job[j].picked


@inlined
def fits(s: View, j: int) -> bool:
    """Whether the gang of job `j` is no larger than what is free."""
    return s.job[j].demand <= s.clock[0].free


@inlined
def some_job_fits(s: View) -> bool:
    """Whether the gang of any candidate that has not been granted is no larger than what is free."""
    for gpus in range(1, s.clock[0].free + 1):
        if s.open_gangs[gpus] > 0:
            return True
    return False


@inlined
def grant(s: View, j: int) -> None:
    """Job `j` gets a lease and its whole gang; the engine refuses an answer that breaks a rule."""
    if s.clock[0].n_picks < len(s.picks):
        s.picks[s.clock[0].n_picks] = j
        s.clock[0].n_picks += 1
    if not 0 <= j < len(s.job):
        return
    s.job[j].picked = True
    s.open_gangs[s.job[j].demand] -= 1
    s.clock[0].free -= s.job[j].demand
    s.tenant[s.job[j].tenant].granted += s.job[j].demand


@inlined
def revoke(s: View, j: int) -> None:
    """Job `j`, under a running lease, loses its GPUs now, and what it did since its last checkpoint."""
    if s.clock[0].n_revoked < len(s.revoked):
        s.revoked[s.clock[0].n_revoked] = j
        s.clock[0].n_revoked += 1
    if not 0 <= j < len(s.job):
        return
    s.job[j].picked = True
    s.clock[0].free += s.job[j].demand
    s.tenant[s.job[j].tenant].revoked += s.job[j].demand


@inlined
def place_on(s: View, j: int, node: int, gpus: int) -> None:
    """Put so many GPUs of job `j`, which was granted last and does not hold any, on a node.

    Without a choice the engine places the gang.
    """
    if s.clock[0].n_choices < len(s.choices):
        s.choices[s.clock[0].n_choices].job = j
        s.choices[s.clock[0].n_choices].node = node
        s.choices[s.clock[0].n_choices].gpus = gpus
        s.clock[0].n_choices += 1


@inlined
def in_use(s: View, t: int) -> int:
    """GPUs that tenant `t` has under running leases and by the grants of this round [GPU]."""
    return s.tenant[t].held + s.tenant[t].granted - s.tenant[t].revoked


@inlined
def active_jobs(s: View, t: int) -> int:
    """Jobs of tenant `t` that have been submitted and have not ended."""
    jobs = 0
    for c in range(s.tenant[t].first_class, s.tenant[t].end_class):
        jobs += s.share[c].active
    return jobs


@inlined
def level(ratio: float) -> float:
    """A fairness value at the resolution in which it is compared; whole numbers up to 2**53 are exact."""
    return np.floor(ratio * RESOLUTION + 0.5)


@inlined
def rho_job(s: View, j: int) -> float:
    """Long-term GPU-time fairness of a candidate since its submission, [Ye2022] Eq. 15; 0 before it has run."""
    if s.job[j].attained_service == 0:
        return 0.0
    return s.job[j].attained_service / job_fair(s, j, s.clock[0].now)


@inlined
def attained_by_tenant(s: View, t: int, since: float) -> float:
    """GPU-time that tenant `t` attained from the whole hour `since` until now [GPU-s], [Ye2022] Eq. 11."""
    return tenant_alloc(s, t, s.clock[0].now) - s.timeline[int(since / HOUR), t].attained


@inlined
def average_contention(s: View, j: int) -> float:
    """Average number of active jobs since job `j` was submitted; those active now if that is this moment."""
    life = s.clock[0].now - s.job[j].submit_time
    if life == 0:
        return s.clock[0].active_jobs
    return (contention_integral(s, s.clock[0].now) - s.job[j].contention_at_submit) / life


@inlined
def total_service(s: View, j: int) -> float:
    """Estimated service of the whole job `j` [s], given what it has had; see `engine.expectation`."""
    return s.job[j].total_service


@inlined
def remaining_service(s: View, j: int) -> float:
    """Estimated service that job `j` still needs after its last checkpoint [s]; see `total_service`."""
    return total_service(s, j) - s.job[j].progress
