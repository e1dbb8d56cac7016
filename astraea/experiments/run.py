"""One thing to compute: its arguments, its name in messages and tables, and its cache key.

`Run` is a simulation of the cluster, and `Call` is anything else. Both are here, because grids and cache take both and
prepare the policies of the first. To import `Call` is therefore to import the cluster, which is in no key of a `Call`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, MutableMapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Final
from weakref import WeakKeyDictionary

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulation import simulated
from astraea.core.checks import whole_number
from astraea.core.fingerprint import fingerprint
from astraea.estimation.estimators import LEARNED, estimate, identity
from astraea.experiments import keys
from astraea.experiments.archive import Keep, Value
from astraea.traces.trace import Trace


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
    """

    trace: Trace
    cluster: Cluster
    policy: Policy
    seed: int = 0
    settings: Settings = field(default_factory=Settings)
    keep: Keep | None = None
    function: ClassVar[Callable[..., Value]] = staticmethod(simulated)

    def __post_init__(self) -> None:
        if isinstance(self.policy, str):
            object.__setattr__(self, "policy", get_policy(self.policy))
        object.__setattr__(self, "seed", whole_number(self.seed, "seed"))

    @property
    def key(self) -> str:
        """Name of its result in the cache: equal keys mean equal results."""
        policy, settings = self.policy, self.settings
        memory = str((policy.memory, policy.tenant_memory, policy.association_memory))
        return fingerprint((
            self.code, self.trace.name, self.trace.digest, asdict(self.cluster), self.seed, asdict(settings), self.keep,
            policy.name, dict(policy.parameters), memory, policy.needs_estimates,
            identity(self.trace, settings.estimator) if policy.needs_estimates else None,
        ))  # fmt: skip

    @property
    def code(self) -> str:
        """Digest of the code that determines the result."""
        return keys.code(simulated, self.policy)

    @property
    def learns(self) -> bool:
        """True if running times are first learned from a history for its policy."""
        return self.policy.needs_estimates and self.settings.estimator in LEARNED

    @property
    def shared(self) -> Hashable:
        """The part shared with other runs: the history that is learned from, or the trace."""
        past = self.trace.history
        return ("past", past.digest) if self.learns and past is not None else id(self.trace)

    @property
    def expected(self) -> float:
        """Expected running time [s]; at the papers' size a run takes 0.2 to 2 s."""
        return 2.5e-5 * len(self.trace)

    @property
    def call(self) -> tuple[Any, ...]:
        """The function that computes its result, and the arguments; a policy of the package by name (`Named`)."""
        estimator = estimate if self.policy.needs_estimates else None
        return simulated, self.trace, self.cluster, keys.sendable(self.policy), self.seed, self.settings, estimator

    @property
    def large(self) -> tuple[Any, ...]:
        """Large arguments that other runs share."""
        return (self.trace,)

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
            **{f.name: getattr(self.settings, f.name) for f in fields(Settings)},
            **self.policy.as_text,
        }


@dataclass(frozen=True, eq=False)
class Call:
    """A function of the package and its arguments: a simulation of another system, or anything else that takes long.

    The function is at the top level of a module and returns a `Result` or a table. Its output depends only on its
    arguments, as `fingerprint` sees them, and on the code that its module can reach.
    """

    function: Callable[..., Value]
    arguments: tuple[Any, ...]
    columns: dict[str, Any]  #: the values that distinguish it, as a row of a table
    large: tuple[Any, ...] = ()  #: large arguments that are shared; each is equal only to itself
    expected: float = 1.0  #: expected running time on one core [s]
    keep: Keep | None = None  #: as in `Run`
    learns: ClassVar[bool] = False
    shared: ClassVar[Hashable] = None

    @property
    def key(self) -> str:
        """Name of its result in the cache, as in `Run`."""
        shared = {id(part) for part in self.large}
        parts = [_remembered(part) if id(part) in shared else fingerprint(part) for part in self.arguments]
        return fingerprint((self.code, parts, self.keep))

    @property
    def code(self) -> str:
        """Digest of the code that determines the result."""
        return keys.code(self.function)

    @property
    def call(self) -> tuple[Any, ...]:
        """The function and the arguments."""
        return self.function, *self.arguments

    @property
    def label(self) -> str:
        """Name of the call in messages."""
        return ", ".join(f"{name} {value}" for name, value in self.columns.items())


def _remembered(value: Any) -> str:
    """Return the fingerprint of an argument that many calls share, computed once."""
    if (known := _HASHES.get(value)) is None:
        known = _HASHES[value] = fingerprint(value)
    return known


_HASHES: Final[MutableMapping[Any, str]] = WeakKeyDictionary()

Work = Run | Call
"""An element of a grid."""
