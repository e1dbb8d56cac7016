"""What a policy is, and the words it is written in.

A policy is one function `select(s)` that reads the `View` and calls `grant(s, j)` for each job that gets a lease at
this round, in order. Pending jobs and jobs that ask for renewal are treated alike ([Ye2022] §5.1.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numba import types
from numba.extending import overload

from astraea.engine.accounting import contention_integral, job_fair, tenant_alloc
from astraea.engine.state import HOUR, WHILE_ONE_FITS, I, View
from astraea.errors import InputError
from astraea.jit import compiled

RESOLUTION: Final = 2.0**30
"""Fairness is compared in steps of 2**-30, about 1e-9, so that ratios that are equal on paper tie in floating point
too, on every machine, and the documented tie-break decides."""

NO_TENANT: Final = -1
NO_JOB: Final = -1


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
        In the order of the policy's `Parameters`; `lease_term` [s] is there if the policy preempts.
    help : mapping of str to str
        What each parameter is, with its unit.
    source : str
        Paper and section.
    estimates : function of the parameters
        Whether it reads `View.job.estimate`.
    looks : function of the parameters
        At which rounds its decision could differ from the last one although nothing happened: `AT_EVENTS` at none,
        `WHILE_ONE_FITS` (safe for all that revoke nothing) while a gang that waits is no larger than what is free,
        `WHILE_ONE_WAITS` at every one.
    memory : tuple of three int
        Numbers kept per job, per tenant and per node.
    at_least : mapping of str to float
        Smallest value of a parameter where that is not 0.
    at_most : mapping of str to float
        Largest value of a parameter where there is one.
    words : mapping of str to tuple of str
        Parameters whose values are words; the value is the place of the word, from 0.
    """

    name: str
    select: Callable[[View], None]
    parameters: Mapping[str, float] = field(default_factory=dict)
    help: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    estimates: Callable[[Mapping[str, float]], bool] = lambda _: False
    looks: Callable[[Mapping[str, float]], int] = lambda _: WHILE_ONE_FITS
    memory: tuple[int, int, int] = (0, 0, 0)
    at_least: Mapping[str, float] = field(default_factory=dict)
    at_most: Mapping[str, float] = field(default_factory=dict)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __call__(self, **parameters: float | str) -> Policy:
        """The same policy with other parameters.

        Raises
        ------
        InputError
            For a parameter that the policy does not have, or a value that is no number.
        """
        for key, value in parameters.items():
            if key not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise InputError(f"policy {self.name}: unknown parameter {key!r}; it has {known}")
            if key in self.words and value not in self.words[key] and value not in range(len(self.words[key])):
                raise InputError(f"policy {self.name}: {key} must be {' or '.join(self.words[key])}, got {value!r}")
            if key not in self.words and not self._allows(key, value):
                least, most = self.at_least.get(key, 0.0), self.at_most.get(key, np.inf)
                wanted = f"a number of at least {least:g}" if np.isinf(most) else f"a number from {least:g} to {most:g}"
                raise InputError(f"policy {self.name}: {key} must be {wanted}, got {value!r}")
        numbers = {k: float(self.words[k].index(v) if isinstance(v, str) else v) for k, v in parameters.items()}
        return replace(self, parameters={**self.parameters, **numbers})

    def _allows(self, key: str, value: Any) -> bool:
        """Whether the value is a number in the parameter's range."""
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
            return False
        return bool(self.at_least.get(key, 0.0) <= value <= self.at_most.get(key, np.inf))

    @property
    def needs_estimates(self) -> bool:
        """Whether it reads `View.job.estimate` with these parameters."""
        return self.estimates(self.parameters)

    @property
    def shown(self) -> dict[str, float | str]:
        """The parameters as people write them."""
        return {k: self.words[k][int(v)] if k in self.words else v for k, v in self.parameters.items()}

    @property
    def lease_term(self) -> float:
        """Length of a lease [s]; infinite if the policy does not preempt."""
        return self.parameters.get("lease_term", np.inf)


def policy(
    name: str,
    parameters: type | None = None,
    *,
    needs_estimates: bool | Callable[[Mapping[str, float]], bool] = False,
    looks: Callable[[Mapping[str, float]], int] = lambda _: WHILE_ONE_FITS,
    memory: tuple[int, int, int] = (0, 0, 0),
    at_least: Mapping[str, float] | None = None,
    at_most: Mapping[str, float] | None = None,
    words: Mapping[str, tuple[str, ...]] | None = None,
) -> Callable[[Callable[[View], None]], Policy]:
    """Make a `Policy` of a function `select(s)`.

    Parameters
    ----------
    name : str
        What the policy is called.
    parameters : NamedTuple class, optional
        Fields with defaults; the line ``name : unit, meaning`` of its docstring documents each. With a field
        `lease_term` the policy preempts at the end of leases; without, a job runs to its end.
    """
    fields: dict[str, float] = dict(getattr(parameters, "_field_defaults", {}))
    lines = dict(re.findall(r"^\s*(\w+) : (.+(?:\n\s{8,}.+)*)$", parameters.__doc__ or "", re.M)) if parameters else {}

    def make(select: Callable[[View], None]) -> Policy:
        return Policy(
            name=name,
            select=compiled(select),
            parameters={k: float(v) for k, v in fields.items()},
            help={k: " ".join(lines.get(k, "").split()) for k in fields},
            source=" ".join((select.__doc__ or "").strip().split("\n\n")[0].split()),
            estimates=needs_estimates if callable(needs_estimates) else lambda _: needs_estimates,
            looks=looks,
            memory=memory,
            at_least=at_least or {},
            at_most=at_most or {},
            words=words or {},
        )

    return make


def unpack(cls: Any, values: Any) -> Any:
    """The policy's parameters by name: ``p = unpack(Parameters, s.parameters)``."""
    return cls(*values[: len(cls._fields)])


@overload(unpack)
def _unpack(cls, values):  # type: ignore[no-untyped-def]
    assert isinstance(cls, types.NamedTupleClass)
    items = ", ".join(f"values[{i}]" for i in range(len(cls.instance_class._fields)))
    scope: dict[str, Any] = {}
    exec(f"def unpacked(cls, values):\n    return cls({items})", scope)
    return scope["unpacked"]


@compiled
def candidates(s: View, t: int) -> I:
    """Jobs of tenant `t` that wait or ask for renewal, in order of submission; those granted at this round too."""
    return s.queue[s.region[t].start : s.region[t].start + s.region[t].length]


@compiled
def all_candidates(s: View) -> I:
    """Jobs of all tenants that wait or ask for renewal, in order of submission."""
    return candidates(s, len(s.tenant))


@compiled
def running(s: View) -> I:
    """Jobs under a running lease, in no particular order; those revoked at this round too."""
    return s.running[: s.moment[0].n_running]


@compiled
def is_open(s: View, j: int) -> bool:
    """Whether job `j` has been neither granted nor revoked yet at this round."""
    return not s.job[j].picked


@compiled
def fits(s: View, j: int) -> bool:
    """Whether the gang of job `j` is no larger than what is free."""
    return s.job[j].demand <= s.moment[0].free


@compiled
def some_job_fits(s: View) -> bool:
    """Whether the gang of any candidate that has not been granted is no larger than what is free."""
    for gpus in range(1, s.moment[0].free + 1):
        if s.open_gangs[gpus] > 0:
            return True
    return False


@compiled
def grant(s: View, j: int) -> None:
    """Job `j` gets a lease and its whole gang; the engine refuses an answer that breaks a rule."""
    if s.moment[0].n_picks < len(s.picks):
        s.picks[s.moment[0].n_picks] = j
        s.moment[0].n_picks += 1
    if not 0 <= j < len(s.job):
        return
    s.job[j].picked = True
    s.open_gangs[s.job[j].demand] -= 1
    s.moment[0].free -= s.job[j].demand
    s.tenant[s.job[j].tenant].granted += s.job[j].demand


@compiled
def revoke(s: View, j: int) -> None:
    """Job `j`, under a running lease, loses its GPUs now, and what it did since its last checkpoint."""
    if s.moment[0].n_revoked < len(s.revoked):
        s.revoked[s.moment[0].n_revoked] = j
        s.moment[0].n_revoked += 1
    if not 0 <= j < len(s.job):
        return
    s.job[j].picked = True
    s.moment[0].free += s.job[j].demand
    s.tenant[s.job[j].tenant].revoked += s.job[j].demand


@compiled
def place_on(s: View, j: int, node: int, gpus: int) -> None:
    """Put so many GPUs of job `j`, which was granted last and does not hold any, on a node.

    Without a choice the engine places the gang.
    """
    if s.moment[0].n_choices < len(s.choices):
        s.choices[s.moment[0].n_choices].job = j
        s.choices[s.moment[0].n_choices].node = node
        s.choices[s.moment[0].n_choices].gpus = gpus
        s.moment[0].n_choices += 1


@compiled
def in_use(s: View, t: int) -> int:
    """GPUs that tenant `t` has under running leases and by the grants of this round [GPU]."""
    return s.tenant[t].held + s.tenant[t].granted - s.tenant[t].revoked


@compiled
def active_jobs(s: View, t: int) -> int:
    """Jobs of tenant `t` that have been submitted and have not ended."""
    jobs = 0
    for c in range(s.tenant[t].first_class, s.tenant[t].end_class):
        jobs += s.share[c].active
    return jobs


@compiled
def level(ratio: float) -> float:
    """A fairness value at the resolution in which it is compared; whole numbers up to 2**53 are exact."""
    return np.floor(ratio * RESOLUTION + 0.5)


@compiled
def rho_job(s: View, j: int) -> float:
    """Long-term GPU-time fairness of a candidate since its submission, [Ye2022] Eq. 15; 0 before it has run."""
    if s.job[j].attained_service == 0:
        return 0.0
    return s.job[j].attained_service / job_fair(s, j, s.moment[0].now)


@compiled
def attained_by_tenant(s: View, t: int, since: float) -> float:
    """GPU-time that tenant `t` attained from the whole hour `since` until now [GPU-s], [Ye2022] Eq. 11."""
    return tenant_alloc(s, t, s.moment[0].now) - s.timeline[int(since / HOUR), t].attained


@compiled
def average_contention(s: View, j: int) -> float:
    """Average number of active jobs since job `j` was submitted; those active now if that is this moment."""
    life = s.moment[0].now - s.job[j].submit_time
    if life == 0:
        return s.moment[0].active_jobs
    return (contention_integral(s, s.moment[0].now) - s.job[j].contention_at_submit) / life


@compiled
def total_service(s: View, j: int) -> float:
    """Estimated service of the whole job `j` [s], given what it has had up to its last checkpoint.

    The estimate is a log-logistic distribution around its median m, with one shape below and one above it. Its
    survival function is S(x) = 1 / (1 + (x / m)^(1 / spread)); the answer is the median of what is left of it after
    the service e that the job has had, S(x) = S(e) / 2, which is always above e: a job that outlives its estimate
    never has nothing left. Without spread, and before any service, it is m.
    """
    median, had = s.job[j].estimate, s.job[j].progress
    spread = s.job[j].spread_below if had < median else s.job[j].spread_above
    if had <= 0 or (had < median and spread == 0):
        return median
    odds = (had / median) ** (1 / spread) if spread > 0 else 1.0
    above = s.job[j].spread_above
    if odds > 1e9:  # far out the distribution is a power law, and this its limit
        return had * 2**above
    return max(median * (1 + 2 * odds) ** above, had)


@compiled
def remaining_service(s: View, j: int) -> float:
    """Estimated service that job `j` still needs after its last checkpoint [s]; see `total_service`."""
    return total_service(s, j) - s.job[j].progress
