"""The policies, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from astraea.core.errors import InputError
from astraea.themis.arbiter import Arbiter
from astraea.themis.policies.astraea import astraea
from astraea.themis.policies.gandiva import gandiva
from astraea.themis.policies.optimus import optimus
from astraea.themis.policies.slaq import slaq
from astraea.themis.policies.strawman import strawman
from astraea.themis.policies.themis import make_themis
from astraea.themis.policies.tiresias import tiresias
from astraea.themis.policy import Policy

BASELINES: Final[dict[str, Callable[[Arbiter], None]]] = {
    "tiresias": tiresias,
    "optimus": optimus,
    "gandiva-packing": gandiva,
    "slaq": slaq,
    "strawman": strawman,
    "astraea": astraea,
}
NAMES: Final = ("themis", *BASELINES)


def get_policy(name: str, **parameters: Any) -> Policy:
    """Policy of a name; only Themis takes a parameter, its `f`.

    Raises
    ------
    InputError
        If there is no such policy or parameter, or f is out of range.
    """
    if name not in NAMES:
        raise InputError(f"policy must be one of {', '.join(NAMES)}, got {name!r}")
    unknown = set(parameters) - ({"f"} if name == "themis" else set())
    if unknown:
        raise InputError(f"policy {name} takes no parameter {sorted(unknown)[0]!r}")
    return make_themis(**parameters) if name == "themis" else Policy(name, BASELINES[name])
