"""Definition of a scheduler: `Policy`, and the decorator `policy` that makes one from a function."""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import numpy as np
from numba import types

from astraea.cluster.engine import loop
from astraea.cluster.engine.records import NOTHING
from astraea.cluster.engine.state import EVERY_ROUND, View
from astraea.core.checks import is_number, number, one_of
from astraea.core.compilation import borrowed, inlined
from astraea.core.compile_errors import compile_errors
from astraea.core.content import refreshed
from astraea.core.errors import InputError
from astraea.core.frozen import read_only


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
        In the order of the policy's `Parameters`, integers for whole numbers; `lease_term` [s] exists if leases end,
        `half_life` [s] if it reads `accounting.tenant_decayed`, and `interval` [s] if its own rounds override the
        settings.
    help : mapping of str to str
        Meaning of each parameter, with its unit.
    about : str
        What it does, in a sentence or two.
    paper : str
        The paper and section that it follows, or its documentation.
    sees_tenants : bool
        True if its decisions depend on the tenants of the jobs.
    revokes : bool
        True if it takes GPUs from jobs under a running lease.
    estimates : function of the parameters
        True if it reads `View.job.estimate`.
    revisit : function of the parameters
        Rounds at which its decision may differ from the last one although nothing happened. `EVERY_ROUND` is always
        right, and the others are faster. `AT_EVENTS`: none. `WHILE_ONE_FITS`: while a waiting gang is no larger than
        the free GPUs; right for policies that revoke nothing. `WHILE_ONE_WAITS`: while a job waits.
    synchronous : function of the parameters
        True if all leases end together, at multiples of their term; only jobs not renewed then pay checkpoints.
    largest : function of the parameters
        Largest gang that it ever starts, as a multiple of the tenant's quota: 1 with static quotas, else infinite.
    memory, tenant_memory, association_memory : numpy.dtype
        Records that it keeps of each job, each tenant, and each association of `View.rules`, made by `record`; zeros at
        the start. With ``JOB_MEMORY = record(("seen", bool))``, that of job `j` is
        ``records_in(s.memory, JOB_MEMORY)[j].seen``.
    alike : bool
        True if it needs equal nodes, and jobs that may run on all of them.
    equal_parts : bool
        True if it gives every gang the same number of GPUs on each of its nodes.
    at_least, at_most : mapping of str to float
        Smallest value of a parameter if it is not 0, and largest value if there is one.
    choices : mapping of str to tuple of str
        Parameters whose values are words; the value is the position of the word, from 0.
    """

    name: str
    select: Callable[[View], None]
    parameters: Mapping[str, float] = field(default_factory=dict)
    help: Mapping[str, str] = field(default_factory=dict)
    about: str = ""
    paper: str = ""
    sees_tenants: bool = False
    revokes: bool = False
    estimates: Callable[[Mapping[str, float]], bool] = lambda _: False
    revisit: Callable[[Mapping[str, float]], int] = lambda _: EVERY_ROUND
    synchronous: Callable[[Mapping[str, float]], bool] = lambda _: False
    largest: Callable[[Mapping[str, float]], float] = lambda _: 1.0
    memory: np.dtype[Any] = NOTHING
    tenant_memory: np.dtype[Any] = NOTHING
    association_memory: np.dtype[Any] = NOTHING
    alike: bool = False
    equal_parts: bool = False
    at_least: Mapping[str, float] = field(default_factory=dict)
    at_most: Mapping[str, float] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __call__(self, s: View, /) -> list[int]:
        """Run it on a state, as a unit test does, and return the jobs that it grants, in order.

        `simulate.waiting` makes a state. The state then also has what the policy revoked and remembers.
        """
        if not isinstance(s, View):
            raise InputError(
                f"policy {self.name} is called with a state, got {s!r:.60}; with_parameters(...) changes its parameters"
            )
        sizes = self.memory.itemsize * len(s.job), self.tenant_memory.itemsize * len(s.tenant)
        if len(s.parameters) <= len(self.parameters) or (len(s.memory), len(s.tenant_memory)) != sizes:
            raise InputError(f"policy {self.name}: the state was made for another policy")
        s.parameters[: len(self.parameters)] = [*self.parameters.values()]
        with compile_errors(f"policy {self.name}"):
            call, select = loop.compiled_for(refreshed(self.select, f"policy {self.name}"), s, (), _once, types.void)
        call(s, (), select)
        return [int(j) for j in s.granted[: s.n_granted]]

    def with_parameters(self, **parameters: float | str) -> Policy:
        """Return the same policy with other parameters; `InputError` for an unknown one, or a value out of bounds."""
        changed: dict[str, float] = {}
        for key, value in parameters.items():
            if key not in self.parameters:
                raise unknown(key, {self.name: self.parameters})
            words = self.choices.get(key, ())
            if words and value not in words and value not in range(len(words)):
                raise InputError(f"policy {self.name}: {key} must be {' or '.join(words)}, got {value!r}")
            if words:
                changed[key] = float(words.index(value) if isinstance(value, str) else value)
                continue
            is_whole, least = isinstance(self.parameters[key], int), self.at_least.get(key, 0.0)
            most = self.at_most.get(key, np.inf)
            changed[key] = accepted(value, f"policy {self.name}: {key}", is_whole=is_whole, least=least, most=most)
        return replace(self, parameters={**self.parameters, **changed})

    @property
    def preempts(self) -> bool:
        """True if a job may lose its GPUs before its end: at the end of a lease, or because they are revoked."""
        return "lease_term" in self.parameters or self.revokes

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


@typing.overload
def policy(select: Callable[[View], None], /) -> Policy: ...
@typing.overload
def policy(
    name: str | None = None, parameters: type | None = None, *,
    needs_estimates: bool | Callable[[Mapping[str, float]], bool] = False, **properties: Any,
) -> Callable[[Callable[[View], None]], Policy]: ...  # fmt: skip
def policy(
    name: Any = None,
    parameters: type | None = None,
    *,
    needs_estimates: bool | Callable[[Mapping[str, float]], bool] = False,
    **properties: Any,
) -> Any:
    """Make a `Policy` from a function `select(s)`: ``@policy``, or ``@policy("name", Parameters, ...)``.

    Parameters
    ----------
    name : str, optional
        Name of the policy; by default that of the function, with hyphens.
    parameters : NamedTuple class, optional
        Fields with numbers as defaults; a line ``name : unit, meaning`` in its docstring documents each. With a field
        `lease_term` the policy preempts at the end of leases; without it, a job runs to its end.
    needs_estimates : bool, or function of the parameters
        True if it reads `View.job.estimate`.
    **properties
        Further properties of `Policy`: `about` (by default the first paragraph of the function's docstring), `paper`,
        `sees_tenants`, `revokes`, `revisit`, `synchronous`, `largest`, `memory`, `tenant_memory`, `association_memory`,
        `alike`, `equal_parts`, `at_least`, `at_most` and `choices`.

    Raises
    ------
    InputError
        If the name is not text, a parameter has no number as its default, or a property is unknown.
    """
    if callable(name) and not isinstance(name, type):
        return policy()(name)
    if not isinstance(name, str | None):
        raise InputError(f"the name of a policy must be text, got {name!r}")

    def make(select: Callable[[View], None]) -> Policy:
        called = name or select.__name__.replace("_", "-")
        for key in properties:
            one_of(key, _PROPERTIES, f"policy {called}: a property")
        if not parameters and "unpack" in select.__code__.co_names:
            raise InputError(f"policy {called}: it reads parameters but declares none: @policy({called!r}, Parameters)")
        defaults, meanings = declared(parameters, called) if parameters else ({}, {})
        for key, words in properties.get("choices", {}).items():
            meanings[key] += f" ({', '.join(words)})"
        described = " ".join((select.__doc__ or "").strip().split("\n\n")[0].split())
        return Policy(
            name=called,
            select=inlined(select),
            parameters=defaults,
            help=meanings,
            estimates=needs_estimates if callable(needs_estimates) else lambda _: needs_estimates,
            **{"about": described, **properties},
        )

    return make


@inlined
def _once(view: View, _: tuple[()], select: Any) -> None:
    select(borrowed(view))


_PROPERTIES: Final = {f.name for f in fields(Policy)} - {"name", "select", "parameters", "help", "estimates"}


def declared(cls: Any, policy: str) -> tuple[dict[str, float], dict[str, str]]:
    """Return defaults and meanings of the parameters that a NamedTuple class declares.

    A default is an integer if the field is annotated as `int`: then the parameter is a whole number. A meaning is the
    text of a line ``name : unit, meaning`` in the docstring of the class.

    Raises
    ------
    InputError
        If it is not such a class, or if a field has no default or one that is not a number.
    """
    if not (isinstance(cls, type) and hasattr(cls, "_field_defaults")):
        raise InputError(f"policy {policy}: its parameters must be a NamedTuple class, got {cls!r}")
    defaults: dict[str, float] = {}
    for name in cls._fields:  # type: ignore[attr-defined]
        if name not in cls._field_defaults:
            raise InputError(f"policy {policy}: parameter {name} has no default; write `{name}: float = 1.0`")
        value = cls._field_defaults[name]
        if not is_number(value):
            raise InputError(f"policy {policy}: the default of parameter {name} must be a number, got {value!r}")
        annotation = getattr(cls, "__annotations__", {}).get(name)  # text becomes a `ForwardRef`
        is_whole = getattr(annotation, "__forward_arg__", annotation) in (int, "int")
        if is_whole and value % 1:
            raise InputError(f"policy {policy}: the default of {name} must be a whole number, got {value!r}")
        defaults[name] = int(value) if is_whole else float(value)
    lines = dict(re.findall(r"^\s*(\w+) : (.+(?:\n\s{8,}.+)*)$", cls.__doc__ or "", re.M))
    return defaults, {name: " ".join(lines.get(name, "").split()) for name in defaults}


def accepted(value: object, name: str, *, is_whole: bool, least: float = 0.0, most: float = np.inf) -> float:
    """Return a value of a parameter, an integer if `is_whole`; `InputError` if it is out of bounds, or has a fraction.

    A whole number may be given as a float, as on the command line.
    """
    found = number(value, name, least=least, most=most)
    if not is_whole:
        return found
    if found % 1:
        raise InputError(f"{name} must be a whole number, got {value!r}")
    return int(found)


def unknown(name: str, policies: Mapping[str, Mapping[str, float]], settings: Sequence[str] = ()) -> InputError:
    """Return the error for a name that is neither a parameter of one of some policies nor a setting."""
    of = "; ".join(f"policy {policy} has {', '.join(known) or 'no parameters'}" for policy, known in policies.items())
    also = f"; every simulation has {', '.join(settings)}" if settings else ""
    return InputError(f"unknown parameter {name!r}; {of}{also}")
