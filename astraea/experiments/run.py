"""One thing to compute: its arguments, its name in messages and tables, and its key in a cache."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Hashable, Iterator, MutableMapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from types import CodeType, FunctionType
from typing import Any, ClassVar, Final
from weakref import WeakKeyDictionary

import joblib

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import POLICIES, get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import SIMULATOR, simulate
from astraea.core.checks import whole_number
from astraea.core.compilation import digest
from astraea.core.result import Result
from astraea.estimation.estimators import LEARNED, identity
from astraea.experiments.archive import Kept, Value
from astraea.traces.trace import Trace


@dataclass(frozen=True, eq=False)
class Run:
    """One simulation to do: the arguments of `simulate`.

    Attributes
    ----------
    trace : Trace
    cluster : Cluster
    policy : Policy
        Or the name of one, when it is made.
    seed : int
        Of random placement and noisy estimates.
    settings : Settings
    kept : mapping of str to column names, or "summary", optional
        What the cache keeps of the result, as in `archive.reduced`; everything if not given.
    """

    trace: Trace
    cluster: Cluster
    policy: Policy
    seed: int = 0
    settings: Settings = field(default_factory=Settings)
    kept: Kept | None = None
    rooms: ClassVar[tuple[str, ...]] = SIMULATOR

    def __post_init__(self) -> None:
        if isinstance(self.policy, str):
            object.__setattr__(self, "policy", get_policy(self.policy))
        object.__setattr__(self, "seed", whole_number(self.seed, "seed"))

    @property
    def key(self) -> str:
        """Name of its result in a cache: equal keys mean equal results.

        SHA-256 of the canonical JSON of everything that decides a result: trace (content, and name, which stands in
        the provenance), cluster, policy with its parameters, seed, settings, the source of the simulator, the
        source of a policy that is not one of `POLICIES`, and what decides the estimates of a policy that needs them.
        """
        content = {
            "trace": [self.trace.name, self.trace.digest],
            "cluster": asdict(self.cluster),
            "policy": self.policy.name,
            "parameters": dict(self.policy.parameters),
            "source": None if is_registered(self.policy) else policy_source(self.policy),
            "seed": self.seed,
            "settings": asdict(self.settings),
            "kept": repr(self.kept),
            "simulator": digest(*self.rooms),
            "estimates": identity(self.trace, self.settings.estimator) if self.policy.needs_estimates else None,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    @property
    def compiled(self) -> tuple[str, ...]:
        """What is compiled for it the first time: the simulator, and the policy."""
        return *self.rooms, self.policy.name

    @property
    def learns(self) -> bool:
        """Whether what its policy knows of running times is learned from a history first."""
        return self.policy.needs_estimates and self.settings.estimator in LEARNED

    @property
    def shared(self) -> Hashable:
        """What it has in common with others: the history that is learned from, or the trace."""
        past = self.trace.history
        return ("past", past.digest) if self.learns and past is not None else id(self.trace)

    @property
    def expected(self) -> float:
        """Time that it is likely to take [s]: at the papers' size one takes 0.2 to 2 s."""
        return 2.5e-5 * len(self.trace)

    @property
    def call(self) -> tuple[Any, ...]:
        """Function that gives its result, and the arguments.

        One of the package's policies is named instead of sent, so that a worker finds it compiled on its disk.
        """
        known = is_registered(self.policy)
        policy = (self.policy.name, dict(self.policy.parameters)) if known else self.policy
        return simulated, self.trace, self.cluster, policy, self.seed, self.settings

    @property
    def large(self) -> tuple[Any, ...]:
        """Arguments that other runs share."""
        return (self.trace,)

    @property
    def label(self) -> str:
        """Which run it is, for messages."""
        parameters = ", ".join(f"{k}={v if isinstance(v, str) else f'{v:g}'}" for k, v in self.policy.as_text.items())
        return (
            f"trace {self.trace.name}, {self.cluster.nodes} x {self.cluster.gpus_per_node} GPUs, "
            f"policy {self.policy.name}{f' ({parameters})' if parameters else ''}, seed {self.seed}"
        )

    @property
    def columns(self) -> dict[str, Any]:
        """What distinguishes it, as a row of a table."""
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
    """A function of the package and its arguments: a simulation of another system, or what else takes long.

    Attributes
    ----------
    function : function at the top of a module of the package
        Gives a `Result` or a table, and nothing else decides it than its arguments and the code in its own module and
        in `code`.
    arguments : tuple
        Of plain values, arrays and dataclasses of them, as `joblib.hash` takes them.
    columns : mapping
        What distinguishes it, as a row of a table.
    code : tuple of str
        Rooms of the package that the function uses, such as ``"market"``; `core` is always among them.
    large : tuple
        Those of the arguments that are large and that other calls share; equal to nothing but themselves.
    expected : float
        Time that it is likely to take on one core [s].
    kept : mapping of str to column names, or "summary", optional
        As in `Run`.
    """

    function: Callable[..., Value]
    arguments: tuple[Any, ...]
    columns: dict[str, Any]
    code: tuple[str, ...]
    large: tuple[Any, ...] = ()
    expected: float = 1.0
    kept: Kept | None = None
    learns: ClassVar[bool] = False
    shared: ClassVar[Hashable] = None

    @property
    def rooms(self) -> tuple[str, ...]:
        """Places of the code that decides its result."""
        own = self.function.__module__.removeprefix("astraea.").replace(".", "/") + ".py"
        return "core", *self.code, own

    @property
    def key(self) -> str:
        """Name of its result in a cache, as of `Run`."""
        name = f"{self.function.__module__}.{self.function.__qualname__}"
        shared = {id(part) for part in self.large}
        hashes = [_remembered(part) if id(part) in shared else _hash(part) for part in self.arguments]
        content = [name, *hashes, repr(self.kept), digest(*self.rooms)]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    @property
    def compiled(self) -> tuple[str, ...]:
        """As of `Run`; here policies are not compiled."""
        return self.rooms

    @property
    def call(self) -> tuple[Any, ...]:
        """The function and the arguments."""
        return self.function, *self.arguments

    @property
    def label(self) -> str:
        """Which one it is, for messages."""
        return ", ".join(f"{name} {value}" for name, value in self.columns.items())


def _content(value: Any) -> Any:
    """What a value is made of, without what it has remembered of it (`cached_property`)."""
    if is_dataclass(value):
        return type(value).__qualname__, [_content(getattr(value, f.name)) for f in fields(value)]
    return [_content(part) for part in value] if isinstance(value, tuple) else value


def _hash(value: Any) -> str:
    """Hash of what a value is made of."""
    return str(joblib.hash(_content(value)))


def _remembered(value: Any) -> str:
    """`_hash` of what many calls share, made once."""
    if (known := _HASHES.get(value)) is None:
        known = _HASHES[value] = _hash(value)
    return known


_HASHES: Final[MutableMapping[Any, str]] = WeakKeyDictionary()

Work = Run | Call
"""What a grid is made of."""


def is_registered(policy: Policy) -> bool:
    """Whether it is one of the package's schedulers, perhaps with other parameters."""
    known = POLICIES.get(policy.name)
    return known is not None and replace(known, parameters=policy.parameters) == policy


def simulated(
    trace: Trace, cluster: Cluster, policy: Policy | tuple[str, dict[str, float]], seed: int, settings: Settings
) -> Result:
    """Simulate a run given in parts, perhaps in another process; the policy as in `Run.call`."""
    chosen = get_policy(policy[0])(**policy[1]) if isinstance(policy, tuple) else policy
    return simulate(trace, cluster, chosen, seed, settings=settings)


def policy_source(policy: Policy) -> list[str]:
    """Everything that a policy from outside the package is made of: its text, and that of what it calls and reads."""
    own = (f.name for f in fields(policy) if f.name not in ("parameters", "help", "source"))
    parts = [(name, part) for name in own for part in _parts(getattr(policy, name), set())]
    return [repr((list(policy.parameters), policy.needs_estimates)), *(text for part in parts for text in part)]


def _parts(value: Any, seen: set[int]) -> Iterator[str]:
    """Texts of a function and of the functions and constants outside the package that it names."""
    function = getattr(value, "py_func", value)  # what numba compiled
    if isinstance(function, FunctionType):
        if function.__module__.partition(".")[0] == "astraea" or id(function) in seen:
            return  # the simulator's digest covers it
        seen.add(id(function))
        yield _text(function)
        for name, used in sorted(_names(function).items()):
            yield name
            yield from _parts(used, seen)
    elif isinstance(value, type):
        yield repr((value.__qualname__, getattr(value, "_fields", ()), getattr(value, "_field_defaults", {})))
    elif isinstance(value, (bool, int, float, str, bytes, tuple)):
        yield repr(value)


def _text(function: FunctionType) -> str:
    """Source of a function; its bytecode where there is none, as after `exec`."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        parts = [
            (code.co_code, code.co_names, code.co_varnames, [c for c in code.co_consts if not isinstance(c, CodeType)])
            for code in _codes(function.__code__)
        ]
        return repr(parts)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code and that of the functions and comprehensions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _names(function: FunctionType) -> dict[str, Any]:
    """Find what a function takes from the module or the function around it."""
    found = {
        name: function.__globals__[name]
        for code in _codes(function.__code__)
        for name in code.co_names
        if name in function.__globals__
    }
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not filled yet
            continue
    return found
