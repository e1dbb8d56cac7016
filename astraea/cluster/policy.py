"""The functions in which a scheduler's `select` is written.

A policy is one function `select(s)`. It reads the `View` and calls `grant(s, j)` for each job that gets a lease in this
round, in order. Pending jobs and jobs that ask for renewal are treated alike ([Ye2022] §5.1.2).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numba.extending import overload
from numba.np.unsafe.ndarray import to_fixed_tuple

from astraea.cluster.definition import Policy as Policy
from astraea.cluster.definition import policy as policy
from astraea.cluster.engine.accounting import alloc_at_hour, job_fair, tenant_alloc
from astraea.cluster.engine.queues import some_job_fits as some_job_fits
from astraea.cluster.engine.records import record as record
from astraea.cluster.engine.state import I, View
from astraea.core.compilation import inlined
from astraea.core.compilation import records_in as records_in
from astraea.core.units import HOUR


class LeaseTerm(NamedTuple):
    """Parameters of a policy that has leases and no other parameter.

    lease_term : s, length of a lease
    """

    lease_term: float = 900.0


def unpack(cls: Any, values: Any) -> Any:
    """Return the policy's parameters by name: ``p = unpack(Parameters, s.parameters)``."""
    return cls(*values[: len(cls._fields)])


@overload(unpack)
def _unpack(cls, values):  # type: ignore[no-untyped-def]
    fields = len(cls.instance_class._fields)
    return lambda cls, values: cls(*to_fixed_tuple(values, fields))


RESOLUTION: Final = 2.0**30
"""Inverse of the steps in which fairness is compared, about 1e-9: ratios that are equal on paper then also tie in
floating point, on every machine, and the documented tie-break decides."""

NO_TENANT: Final = -1
NO_JOB: Final = -1


@inlined
def candidates(s: View, t: int) -> I:
    """Return jobs of tenant `t` that wait or ask for renewal, in order of submission, granted ones included."""
    return s.queue[s.region[t].start : s.region[t].start + s.region[t].length]


@inlined
def all_candidates(s: View) -> I:
    """Return jobs of all tenants that wait or ask for renewal, in order of submission."""
    return candidates(s, len(s.tenant))


@inlined
def renewals(s: View) -> I:
    """Return candidates that ask for renewal, in order of submission, including those granted in this round."""
    return s.expired[: s.n_expired]


@inlined
def running(s: View) -> I:
    """Return jobs under a running lease, in order of launch, including those revoked in this round."""
    return s.running[: s.n_running]


@inlined
def is_open(s: View, j: int) -> bool:
    """Return whether job `j` has been neither granted nor revoked in this round so far."""
    return not s.job[j].decided


@inlined
def fits(s: View, j: int) -> bool:
    """Return whether the gang of job `j` is no larger than the number of free GPUs."""
    return s.job[j].demand <= s.free


@inlined
def grant(s: View, j: int) -> None:
    """Give job `j` a lease and its whole gang; the engine refuses an answer that breaks a rule."""
    if s.n_granted < len(s.granted):
        s.granted[s.n_granted] = j
        s.n_granted += 1
    if not 0 <= j < len(s.job):
        return
    s.job[j].decided = True
    s.open_gangs[s.job[j].demand] -= 1
    s.free -= s.job[j].demand
    s.tenant[s.job[j].tenant].granted += s.job[j].demand


@inlined
def revoke(s: View, j: int) -> None:
    """Take the GPUs of job `j`, which is under a running lease, now; its work since its last checkpoint is lost."""
    if s.n_revoked < len(s.revoked):
        s.revoked[s.n_revoked] = j
        s.n_revoked += 1
    if not 0 <= j < len(s.job):
        return
    s.job[j].decided = True
    s.free += s.job[j].demand
    s.tenant[s.job[j].tenant].revoked += s.job[j].demand


@inlined
def spare_checkpoints(s: View, j: int) -> None:
    """Exempt job `j` from checkpoints at the end of leases from now on; it must then keep its GPUs."""
    s.job[j].spared = True


@inlined
def place_on(s: View, j: int, node: int, gpus: int) -> None:
    """Put GPUs of job `j`, the last granted, on a node; a gang without such choices is placed by the engine."""
    if s.n_choices < len(s.choices):
        choice = s.choices[s.n_choices]
        choice.job, choice.node, choice.gpus = j, node, gpus
        s.n_choices += 1


@inlined
def in_use(s: View, t: int) -> int:
    """Return the GPUs of tenant `t` under running leases and by grants of this round [GPU]."""
    return s.tenant[t].held + s.tenant[t].granted - s.tenant[t].started - s.tenant[t].revoked


@inlined
def level(ratio: float) -> float:
    """Return a fairness value at the resolution of comparisons; whole numbers up to 2**53 are exact."""
    return np.floor(ratio * RESOLUTION + 0.5)


@inlined
def rho_job(s: View, j: int) -> float:
    """Return long-term GPU-time fairness of a candidate since its submission, [Ye2022] Eq. 15; 0 before it has run."""
    if s.job[j].attained_service == 0:
        return 0.0
    return s.job[j].attained_service / job_fair(s, j, s.now)


@inlined
def attained_by_tenant(s: View, t: int, since: float) -> float:
    """Return GPU-time that tenant `t` attained from the whole hour `since` until now [GPU-s], [Ye2022] Eq. 11."""
    return tenant_alloc(s, t, s.now) - alloc_at_hour(s, t, int(since / HOUR))


@inlined
def remaining_service(s: View, j: int) -> float:
    """Return the estimated service that job `j` still needs after its last checkpoint [s]; see `leases.expect`."""
    return s.job[j].total_service - s.job[j].progress
