"""Definition of a scheduler, and the functions in which its `select` is written.

A policy is one function `select(s)`. It reads the `View` and calls `grant(s, j)` for each job that gets a lease in this
round, in order. Pending jobs and jobs that ask for renewal are treated alike ([Ye2022] §5.1.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numba.extending import overload
from numba.np.unsafe.ndarray import to_fixed_tuple

from astraea.cluster.engine.accounting import job_fair, tenant_alloc
from astraea.cluster.engine.queues import some_job_fits as some_job_fits
from astraea.cluster.engine.records import NOTHING
from astraea.cluster.engine.records import record as record
from astraea.cluster.engine.state import WHILE_ONE_FITS, I, View
from astraea.core.checks import number
from astraea.core.compilation import inlined
from astraea.core.compilation import records_in as records_in
from astraea.core.errors import InputError
from astraea.core.frozen import read_only
from astraea.core.text import docstring
from astraea.core.units import HOUR


@read_only
@dataclass(frozen=True)
class Policy:
    """A scheduler: its name, its compiled `select`, and its parameters.

    Attributes
    ----------
    name : str
        Name in figures and on the command line.
    select : compiled function of a `View`
        Chooses the jobs that get a lease in a round.
    parameters : mapping of str to float
        In the order of the policy's `Parameters`; `lease_term` [s] exists if the policy preempts, `half_life` [s] if it
        reads `accounting.tenant_decayed`, and `interval` [s] if its own rounds override the settings.
    help : mapping of str to str
        Meaning of each parameter, with its unit.
    source : str
        Paper and section.
    estimates : function of the parameters
        True if it reads `View.job.estimate`.
    revisit : function of the parameters
        Rounds at which its decision may differ from the last one although nothing happened. `AT_EVENTS`: none.
        `WHILE_ONE_FITS`: while a waiting gang is no larger than the free GPUs; safe for policies that revoke nothing.
        `WHILE_ONE_WAITS`: every round.
    synchronous : function of the parameters
        True if all leases end together, at multiples of their term; only jobs not renewed then pay checkpoints.
    largest : function of the parameters
        Largest gang that it ever starts, as a multiple of the tenant's quota: 1 with static quotas, else infinite.
    memory, tenant_memory, association_memory : numpy.dtype
        Records that it keeps of each job, each tenant, and each association of `View.rules`, made by `record`; zeros at
        the start. With ``memory=JOB_MEMORY``, ``records_in(s.memory, JOB_MEMORY)[j]`` is the record of job `j`.
    alike : bool
        True if it needs equal nodes, and jobs that may run on all of them.
    at_least, at_most : mapping of str to float
        Smallest value of a parameter if it is not 0, and largest value if there is one.
    choices : mapping of str to tuple of str
        Parameters whose values are words; the value is the position of the word, from 0.
    """

    name: str
    select: Callable[[View], None]
    parameters: Mapping[str, float] = field(default_factory=dict)
    help: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    estimates: Callable[[Mapping[str, float]], bool] = lambda _: False
    revisit: Callable[[Mapping[str, float]], int] = lambda _: WHILE_ONE_FITS
    synchronous: Callable[[Mapping[str, float]], bool] = lambda _: False
    largest: Callable[[Mapping[str, float]], float] = lambda _: 1.0
    memory: np.dtype[Any] = NOTHING
    tenant_memory: np.dtype[Any] = NOTHING
    association_memory: np.dtype[Any] = NOTHING
    alike: bool = False
    at_least: Mapping[str, float] = field(default_factory=dict)
    at_most: Mapping[str, float] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __call__(self, **parameters: float | str) -> Policy:
        """Return the same policy with other parameters; `InputError` for an unknown one, or a value out of bounds."""
        for key, value in parameters.items():
            if key not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise InputError(f"policy {self.name}: unknown parameter {key!r}; its parameters are {known}")
            if key in self.choices and value not in self.choices[key] and value not in range(len(self.choices[key])):
                raise InputError(f"policy {self.name}: {key} must be {' or '.join(self.choices[key])}, got {value!r}")
            if key not in self.choices:
                least, most = self.at_least.get(key, 0.0), self.at_most.get(key, np.inf)
                number(value, f"policy {self.name}: {key}", least=least, most=most)
        numbers = {k: float(self.choices[k].index(v) if isinstance(v, str) else v) for k, v in parameters.items()}
        return replace(self, parameters={**self.parameters, **numbers})

    @property
    def needs_estimates(self) -> bool:
        """True if it reads `View.job.estimate` with these parameters."""
        return self.estimates(self.parameters)

    @property
    def as_text(self) -> dict[str, float | str]:
        """The parameters with words for choices."""
        return {k: self.choices[k][int(v)] if k in self.choices else v for k, v in self.parameters.items()}

    @property
    def lease_term(self) -> float:
        """Length of a lease [s]; infinite if the policy does not preempt."""
        return self.parameters.get("lease_term", np.inf)

    @property
    def half_life(self) -> float:
        """Age at which GPU-time counts half in `accounting.tenant_decayed` [s]; infinite if the policy reads none."""
        return self.parameters.get("half_life", 0.0) or np.inf


def policy(
    name: str,
    parameters: type | None = None,
    *,
    needs_estimates: bool | Callable[[Mapping[str, float]], bool] = False,
    **declared: Any,
) -> Callable[[Callable[[View], None]], Policy]:
    """Make a `Policy` from a function `select(s)`.

    Parameters
    ----------
    name : str
        Name of the policy.
    parameters : NamedTuple class, optional
        Fields with defaults; a line ``name : unit, meaning`` in its docstring documents each. With a field
        `lease_term` the policy preempts at the end of leases; without it, a job runs to its end.
    needs_estimates : bool, or function of the parameters
        True if it reads `View.job.estimate`.
    **declared
        Further fields: `revisit`, `synchronous`, `largest`, `memory`, `tenant_memory`, `association_memory`, `alike`,
        `at_least`, `at_most` and `choices` of `Policy`.
    """
    fields: dict[str, float] = dict(getattr(parameters, "_field_defaults", {}))
    lines = dict(re.findall(r"^\s*(\w+) : (.+(?:\n\s{8,}.+)*)$", docstring(parameters), re.M)) if parameters else {}
    listed = {k: f" ({', '.join(allowed)})" for k, allowed in declared.get("choices", {}).items()}

    def make(select: Callable[[View], None]) -> Policy:
        return Policy(
            name=name,
            select=inlined(select),
            parameters={k: float(v) for k, v in fields.items()},
            help={k: " ".join(lines.get(k, "").split()) + listed.get(k, "") for k in fields},
            source=" ".join(docstring(select).strip().split("\n\n")[0].split()),
            estimates=needs_estimates if callable(needs_estimates) else lambda _: needs_estimates,
            **declared,
        )

    return make


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
    return s.tenant[t].held + s.tenant[t].granted - s.tenant[t].revoked


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
    return tenant_alloc(s, t, s.now) - s.timeline[int(since / HOUR), t].attained


@inlined
def remaining_service(s: View, j: int) -> float:
    """Return the estimated service that job `j` still needs after its last checkpoint [s]; see `leases.expect`."""
    return s.job[j].total_service - s.job[j].progress
