"""The policies, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any, Final

from astraea.core.checks import number
from astraea.core.errors import InputError
from astraea.themis.policies.astraea import astraea
from astraea.themis.policies.baselines import gandiva, optimus, slaq, strawman, tiresias
from astraea.themis.policies.themis import themis
from astraea.themis.policy import Policy

POLICIES: Final[dict[str, Callable[..., None]]] = {
    "themis": themis, "tiresias": tiresias, "optimus": optimus, "gandiva-packing": gandiva, "slaq": slaq,
    "strawman": strawman, "astraea": astraea,
}  # fmt: skip
"""Themis, the four that [Mahajan2020] §6 compares it with, its own strawman, and ASTRAEA in the same setting."""


def get_policy(name: str, **parameters: Any) -> Policy:
    """Policy of a name; only Themis takes a parameter, its `f`.

    Raises
    ------
    InputError
        If there is no such policy or parameter, or it is not in [0, 1].
    """
    if name not in POLICIES:
        raise InputError(f"policy must be one of {', '.join(POLICIES)}, got {name!r}")
    chosen = {key: p.default for key, p in signature(POLICIES[name]).parameters.items() if key != "arbiter"}
    for key, value in parameters.items():
        if key not in chosen:
            raise InputError(f"policy {name} takes no parameter {key!r}")
        number(value, key, least=0, most=1)
        chosen[key] = value
    return Policy(name, partial(POLICIES[name], **chosen), chosen)
