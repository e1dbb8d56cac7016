"""One simulation to run: its arguments, its name in messages and tables, and its cache key.

The key is the SHA-256 of everything that determines the result; `docs/cache.md` explains it.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, NamedTuple

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import all_policies, get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulation import decisive, simulated
from astraea.core import source
from astraea.core.checks import whole_number
from astraea.core.content import content, refreshed
from astraea.estimation.estimators import identity
from astraea.experiments.archive import Keep, Value
from astraea.traces.trace import Trace

COMPUTING: Final = ("highspy", "numba", "numpy", "pandas", "scipy", "scikit-learn")
"""Libraries whose versions can change a number; others only transport, store or show it."""


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of `COMPUTING`, "" for a library that is not installed."""
    found = {"python": platform.python_version()}
    for library in COMPUTING:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = ""
    return found


def module_of(function: Callable[..., Any]) -> str:
    """Return the name of the module of a function, or of the one that a `partial` calls."""
    return str(getattr(function, "func", function).__module__)


def code_of(function: Callable[..., Any], arguments: Sequence[Any] = ()) -> str:
    """Return the digest of the code by which a function computes a result, and of the versions on which it runs.

    It covers a policy among the arguments.
    """
    policies = [(decisive(part), part.name) for part in arguments if isinstance(part, Policy)]
    return content((
        source.digest(module_of(function)), getattr(function, "func", function).__qualname__, versions(),
        [content(parts, f"policy {name}") for parts, name in policies],
    ))  # fmt: skip


class Named(NamedTuple):
    """A scheduler of the package by its name: the form that is sent to a worker, which has it compiled on disk."""

    name: str
    parameters: dict[str, float]

    @property
    def policy(self) -> Policy:
        """The scheduler."""
        return get_policy(self.name).with_parameters(**self.parameters)


def sendable(policy: Policy) -> Policy | Named:
    """Return the form of a scheduler that is sent to a worker: one of ours by name, or a user's policy as it is."""
    known = all_policies().get(policy.name)
    if known is not None and replace(known, parameters=policy.parameters) == policy:
        return Named(policy.name, dict(policy.parameters))
    refreshed(policy.select, f"policy {policy.name}")
    return policy


@dataclass(frozen=True, eq=False)
class Run:
    """One simulation to run: the arguments of `simulate`.

    Attributes
    ----------
    trace : Trace
    cluster : Cluster
    policy : Policy
        Its name is accepted too.
    seed : int
        Seed of random placement and noisy estimates.
    settings : Settings
    keep : mapping of str to column names, or "summary", optional
        Part of the result that the cache keeps, as in `archive.reduced`; everything by default.
    function : function, optional
        The simulator: a function at the top level of a module, with the arguments of `simulation.simulated`.
    """

    trace: Trace
    cluster: Cluster
    policy: Policy
    seed: int = 0
    settings: Settings = field(default_factory=Settings)
    keep: Keep | None = None
    function: Callable[..., Value] = simulated

    def __post_init__(self) -> None:
        if isinstance(self.policy, str):
            object.__setattr__(self, "policy", get_policy(self.policy))
        object.__setattr__(self, "seed", whole_number(self.seed, "seed"))

    @property
    def key(self) -> str:
        """Name of its result in the cache: equal keys mean equal results."""
        policy, settings = self.policy, self.settings
        learned = identity(self.trace, settings.estimator) if policy.needs_estimates else None
        jobs = self.trace.name, self.trace.digest, learned
        return content((self.code, jobs, asdict(self.cluster), self.seed, asdict(settings), self.keep))

    @property
    def code(self) -> str:
        """Digest of the code that determines the result."""
        return code_of(self.function, [self.policy])

    @property
    def expected(self) -> float:
        """Expected running time [s]; at the papers' size a run takes 0.2 to 2 s."""
        return 2.5e-5 * len(self.trace)

    @property
    def call(self) -> tuple[Any, ...]:
        """The function that computes its result, and the arguments; a policy of the package by name (`Named`)."""
        policy = sendable(self.policy)
        return partial(self.function, settings=self.settings), self.trace, self.cluster, policy, self.seed

    @property
    def label(self) -> str:
        """Name of the run in messages."""
        parameters = ", ".join(f"{k}={v if isinstance(v, str) else f'{v:g}'}" for k, v in self.policy.as_text.items())
        return (
            f"trace {self.trace.name}, {self.cluster} GPUs, "
            f"policy {self.policy.name}{f' ({parameters})' if parameters else ''}, seed {self.seed}"
        )

    @property
    def columns(self) -> dict[str, Any]:
        """The values that distinguish the run, as a row of a table."""
        return {
            "trace": self.trace.name,
            "nodes": self.cluster.nodes,
            "gpus_per_node": self.cluster.gpus_per_node,
            "policy": self.policy.name,
            "seed": self.seed,
            **{f.name: getattr(self.settings, f.name) for f in fields(self.settings)},
            **self.policy.as_text,
        }
