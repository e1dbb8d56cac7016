"""What a scheduler is: a compiled function of the `View`, its parameters, and when it wants to be asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from astraea.cluster.engine.state import WHILE_ONE_FITS, View
from astraea.core.checks import number
from astraea.core.compilation import inlined
from astraea.core.errors import InputError


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
    revisit : function of the parameters
        At which rounds its decision could differ from the last one although nothing happened: `AT_EVENTS` at none,
        `WHILE_ONE_FITS` (safe for all that revoke nothing) while a gang that waits is no larger than what is free,
        `WHILE_ONE_WAITS` at every one.
    memory : tuple of three int
        Numbers kept per job, per tenant and per node.
    at_least : mapping of str to float
        Smallest value of a parameter where that is not 0.
    at_most : mapping of str to float
        Largest value of a parameter where there is one.
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
    memory: tuple[int, int, int] = (0, 0, 0)
    at_least: Mapping[str, float] = field(default_factory=dict)
    at_most: Mapping[str, float] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

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


def policy(
    name: str,
    parameters: type | None = None,
    *,
    needs_estimates: bool | Callable[[Mapping[str, float]], bool] = False,
    revisit: Callable[[Mapping[str, float]], int] = lambda _: WHILE_ONE_FITS,
    memory: tuple[int, int, int] = (0, 0, 0),
    at_least: Mapping[str, float] | None = None,
    at_most: Mapping[str, float] | None = None,
    choices: Mapping[str, tuple[str, ...]] | None = None,
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

    listed = {k: f" ({', '.join(allowed)})" for k, allowed in (choices or {}).items()}

    def make(select: Callable[[View], None]) -> Policy:
        return Policy(
            name=name,
            select=inlined(select),
            parameters={k: float(v) for k, v in fields.items()},
            help={k: " ".join(lines.get(k, "").split()) + listed.get(k, "") for k in fields},
            source=" ".join((select.__doc__ or "").strip().split("\n\n")[0].split()),
            estimates=needs_estimates if callable(needs_estimates) else lambda _: needs_estimates,
            revisit=revisit,
            memory=memory,
            at_least=at_least or {},
            at_most=at_most or {},
            choices=choices or {},
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
