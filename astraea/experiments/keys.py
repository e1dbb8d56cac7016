"""Keys of results: everything that determines a result, and nothing else. `docs/cache.md` explains them.

A key is the SHA-256 of the fingerprints (`astraea.core.fingerprint`) of the function that computes the result, its
arguments, its kept columns, and the versions of Python and of the libraries that the code imports. The code is that of
all modules that the function, or the policy, can reach through imports.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from astraea.cluster.policies import POLICIES, get_policy
from astraea.cluster.policy import Policy
from astraea.core import source
from astraea.core.fingerprint import fingerprint, plain, version
from astraea.core.user_functions import current
from astraea.estimation.estimators import estimate
from astraea.experiments.archive import reduced

COMPUTING: Final = ("highspy", "numba", "numpy", "pandas", "scipy", "sklearn")
"""Libraries whose versions can change a number; others only transport, store or show it."""


class Named(NamedTuple):
    """A scheduler of the package by its name: the form that is sent to a worker, which has it compiled on disk."""

    name: str
    parameters: dict[str, float]

    @property
    def policy(self) -> Policy:
        """The scheduler."""
        return get_policy(self.name).with_parameters(**self.parameters)


def code(function: Callable[..., Any], policy: Policy | None = None) -> str:
    """Return the digest of the code by which `function` computes a result, and of the versions on which it runs.

    `InputError` if a policy from outside the package reads something whose content cannot be known.
    """
    reach = reached(function, policy)
    versions = {library: version(library) for library in COMPUTING if library in reach.libraries}
    chosen = [] if policy is None else [fingerprint(f, f"policy {policy.name}") for f in _functions_of(policy)]
    functions = (fingerprint(function), fingerprint(reduced), chosen)
    return fingerprint((platform.python_version(), versions, reach.digest, *functions))


def reached(function: Callable[..., Any], policy: Policy | None = None) -> source.Source:
    """Return the part of the project that this code can reach."""
    functions = (function, reduced, *(() if policy is None else _functions_of(policy)))
    return source.of_modules(plain(f).__module__ for f in functions)


def _functions_of(policy: Policy) -> tuple[Callable[..., Any], ...]:
    own = policy.select, policy.estimates, policy.revisit, policy.synchronous, policy.largest
    return (*own, estimate) if policy.needs_estimates else own


def sendable(policy: Policy) -> Policy | Named:
    """Return the form of a scheduler that is sent to a worker: one of ours by name, or a user's policy as it is."""
    known = POLICIES.get(policy.name)
    if known is not None and replace(known, parameters=policy.parameters) == policy:
        return Named(policy.name, dict(policy.parameters))
    return replace(policy, select=current(policy.select))
