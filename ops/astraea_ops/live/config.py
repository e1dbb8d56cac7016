"""``live.toml``: the partition, the policy, the lease parameters and the file of the state."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import inf
from pathlib import Path
from typing import Any, Final

from astraea.cluster.policies import named_policy
from astraea.cluster.policy import Policy
from astraea.core.checks import number, one_of
from astraea.core.errors import InputError
from astraea.core.frozen import read_only
from astraea_ops.checkpoint.loop import SIGNALS

TENANTS: Final = ("account", "user", "qos")
"""Fields of a job that may name its tenant."""

MOST_HISTORY: Final = 3650.0
"""Longest history: every hour of it becomes a row of tables in memory [day]."""


@read_only
@dataclass(frozen=True)
class Config:
    """Configuration of the coordinator."""

    partition: str  #: of Slurm, or several, joined by commas; jobs of other partitions are never touched
    state: Path  #: SQLite file in which the accounts are kept
    policy: Policy
    interval: float = 10.0  #: between rounds [s]
    warning: float = 5.0  #: notice before the end of a lease, to jobs that save [s] ([Ye2022] §5.1.1)
    signal: str = "USR1"  #: the notice: one of `SIGNALS`
    tenant: str = "account"  #: one of `TENANTS`
    weights: Mapping[str, float] = field(default_factory=dict)  #: shares ([Ye2022] Eq. 6); empty if all are equal
    history: float = 7.0  #: without a state, the past that is counted too, from Slurm's accounting [day]
    patience: float = 20.0  #: how long a program of Slurm may take [s]


def read_config(path: Path) -> Config:
    """Read ``live.toml``, or raise `InputError`; paths in it are relative to its folder."""
    try:
        given: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as err:
        raise InputError(f"{path}: cannot be read ({err.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise InputError(f"{path}: is not valid TOML ({err})") from None
    known = [f.name for f in fields(Config)] + ["parameters"]
    for key in given:
        if key not in known:
            raise InputError(f"{path}: unknown key {key!r}; expected one of {', '.join(known)}")
    if not isinstance(given.get("state"), str) or not given["state"]:
        raise InputError(f"{path}: state must be the name of a file, got {given.get('state')!r}")
    partition = given.get("partition")
    names: list[Any] = partition if isinstance(partition, list) else [partition]
    if not names or not all(isinstance(name, str) and re.fullmatch(r"[\w.+-]+", name) for name in names):
        raise InputError(f"{path}: partition must be a name or a list of names, got {partition!r}")
    here = path.absolute().parent
    for key in ("weights", "parameters"):
        if not isinstance(given.setdefault(key, {}), dict):
            raise InputError(f"{path}: {key} must be a table, got {given[key]!r}")
    weights = given["weights"]
    for name, weight in weights.items():
        number(weight, f"{path}: weights.{name}", above=0)
    numbers = {"interval": (1.0, inf), "warning": (0.0, inf), "history": (0.0, MOST_HISTORY), "patience": (1.0, inf)}
    seconds = {
        k: number(given[k], f"{path}: {k}", least=low, most=high) for k, (low, high) in numbers.items() if k in given
    }
    signal = one_of(given.get("signal", "USR1"), SIGNALS, f"{path}: signal")
    tenant = one_of(given.get("tenant", "account"), TENANTS, f"{path}: tenant")
    try:
        policy = named_policy(given.get("policy", "astraea"), here).with_parameters(**given["parameters"])
    except InputError as err:
        raise InputError(f"{path}: {err}") from None
    if (here / given["state"]).is_dir():
        raise InputError(f"{path}: state must be a file, got the folder {here / given['state']}")
    partition = ",".join(dict.fromkeys(names))
    config = Config(partition, here / given["state"], policy, signal=signal, tenant=tenant, weights=weights, **seconds)
    if config.policy.lease_term <= max(config.interval, config.warning):
        raise InputError(
            f"{path}: parameters.lease_term must be longer than a round ({config.interval:g} s) and the warning "
            f"({config.warning:g} s), got {config.policy.lease_term:g}"
        )
    return config
