"""What a scheduler is, and the words that it is written in.

A policy is one function `select(s)` that reads the `View` and calls `grant(s, j)` for each job that gets a lease at
this round, in order. Pending jobs and jobs that ask for renewal are treated alike ([Ye2022] §5.1.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numba.extending import overload
from numba.np.unsafe.ndarray import to_fixed_tuple

from astraea.cluster.engine.accounting import contention_integral, job_fair, tenant_alloc
from astraea.cluster.engine.queues import some_job_fits as some_job_fits
from astraea.cluster.engine.state import WHILE_ONE_FITS, I, View
from astraea.core.checks import number
from astraea.core.compilation import inlined
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
        As in figures and on the command line.
    select : compiled function of a `View`
        Chooses who gets a lease at a round.
    parameters : mapping of str to float
        In the order of the policy's `Parameters`; `lease_term` [s] is there if the policy preempts, `half_life` [s] if
        it reads `accounting.tenant_decayed`, `interval` [s] if it runs in rounds of its own, whatever the settings say.
    help : mapping of str to str
        What each parameter is, with its unit.
    source : str
        Paper and section.
    estimates : function of the parameters
        Whether it reads `View.job.estimate`.
    revisit : function of the parameters
        At which rounds its decision could differ from the last one although nothing happened: `AT_EVENTS` at none,
        `WHILE_ONE_FITS` (safe for all that revoke nothing) while a gang that waits is no larger than what is free,
        `WHILE_ONE_WAITS` at every one.
    synchronous : function of the parameters
        Whether all leases end together, at multiples of their term; only who is not renewed pays for a checkpoint.
    largest : function of the parameters
        Largest gang that it ever starts, as a multiple of its tenant's quota: 1 under static quotas, infinite without.
    memory : tuple of two or three int
        Numbers kept per job, per tenant and, if there is a third, per association of `View.rules`.
    alike : bool
        Whether it needs nodes that are alike, and jobs that may run on all of them.
    at_least, at_most : mapping of str to float
        Smallest value of a parameter where that is not 0, and largest where there is one.
    choices : mapping of str to tuple of str
        Parameters whose values are words; the value is the place of the word, from 0.
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
    memory: tuple[int, ...] = (0, 0)
    alike: bool = False
    at_least: Mapping[str, float] = field(default_factory=dict)
    at_most: Mapping[str, float] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __call__(self, **parameters: float | str) -> Policy:
        """The same policy with other parameters; `InputError` for one that it lacks, or a value out of its bounds."""
        for key, value in parameters.items():
            if key not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise InputError(f"policy {self.name}: unknown parameter {key!r}; it has {known}")
            if key in self.choices and value not in self.choices[key] and value not in range(len(self.choices[key])):
                raise InputError(f"policy {self.name}: {key} must be {' or '.join(self.choices[key])}, got {value!r}")
            if key not in self.choices:
                least, most = self.at_least.get(key, 0.0), self.at_most.get(key, np.inf)
                number(value, f"policy {self.name}: {key}", least=least, most=most)
        numbers = {k: float(self.choices[k].index(v) if isinstance(v, str) else v) for k, v in parameters.items()}
        return replace(self, parameters={**self.parameters, **numbers})

    @property
    def needs_estimates(self) -> bool:
        """Whether it reads `View.job.estimate` with these parameters."""
        return self.estimates(self.parameters)

    @property
    def as_text(self) -> dict[str, float | str]:
        """The parameters as people write them."""
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
    """Make a `Policy` of a function `select(s)`.

    Parameters
    ----------
    name : str
        What the policy is called.
    parameters : NamedTuple class, optional
        Fields with defaults; the line ``name : unit, meaning`` of its docstring documents each. With a field
        `lease_term` the policy preempts at the end of leases; without, a job runs to its end.
    needs_estimates : bool, or function of the parameters
        Whether it reads `View.job.estimate`.
    **declared
        What else it declares: `revisit`, `synchronous`, `largest`, `memory`, `alike`, `at_least`, `at_most` and
        `choices` of `Policy`.
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
    """Parameters of a policy that has leases and nothing else to set.

    lease_term : s, length of a lease
    """

    lease_term: float = 900.0


def unpack(cls: Any, values: Any) -> Any:
    """The policy's parameters by name: ``p = unpack(Parameters, s.parameters)``."""
    return cls(*values[: len(cls._fields)])


@overload(unpack)
def _unpack(cls, values):  # type: ignore[no-untyped-def]
    fields = len(cls.instance_class._fields)
    return lambda cls, values: cls(*to_fixed_tuple(values, fields))


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
    return s.expired[: s.clock[0].n_expired]


@inlined
def running(s: View) -> I:
    """Jobs under a running lease, in the order in which they were launched; those revoked at this round too."""
    return s.running[: s.clock[0].n_running]


@inlined
def is_open(s: View, j: int) -> bool:
    """Whether job `j` has been neither granted nor revoked yet at this round."""
    return not s.job[j].decided


@inlined
def fits(s: View, j: int) -> bool:
    """Whether the gang of job `j` is no larger than what is free."""
    return s.job[j].demand <= s.clock[0].free


@inlined
def grant(s: View, j: int) -> None:
    """Job `j` gets a lease and its whole gang; the engine refuses an answer that breaks a rule."""
    if s.clock[0].n_granted < len(s.granted):
        s.granted[s.clock[0].n_granted] = j
        s.clock[0].n_granted += 1
    if not 0 <= j < len(s.job):
        return
    s.job[j].decided = True
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
    s.job[j].decided = True
    s.clock[0].free += s.job[j].demand
    s.tenant[s.job[j].tenant].revoked += s.job[j].demand


@inlined
def spare_checkpoints(s: View, j: int) -> None:
    """From now on job `j` saves no state at the end of a lease, and pays nothing for it; it must keep its GPUs then."""
    s.job[j].spared = True


@inlined
def place_on(s: View, j: int, node: int, gpus: int) -> None:
    """Put GPUs of job `j`, granted last and without any yet, on a node; the engine places a gang without choices."""
    if s.clock[0].n_choices < len(s.choices):
        choice = s.choices[s.clock[0].n_choices]
        choice.job, choice.node, choice.gpus = j, node, gpus
        s.clock[0].n_choices += 1


@inlined
def in_use(s: View, t: int) -> int:
    """GPUs that tenant `t` has under running leases and by the grants of this round [GPU]."""
    return s.tenant[t].held + s.tenant[t].granted - s.tenant[t].revoked


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
def remaining_service(s: View, j: int) -> float:
    """Estimated service that job `j` still needs after its last checkpoint [s]; see `leases.expect`."""
    return s.job[j].total_service - s.job[j].progress
