"""The policies, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from astraea.core.checks import number, one_of
from astraea.core.errors import InputError
from papers.themis.arbiter import AppPolicy
from papers.themis.policies.baselines import astraea, gandiva, optimus, slaq, strawman, tiresias
from papers.themis.policies.themis import F, themis

POLICIES: Final[dict[str, Callable[..., None]]] = {
    "themis": themis, "tiresias": tiresias, "optimus": optimus, "gandiva-packing": gandiva, "slaq": slaq,
    "strawman": strawman, "astraea": astraea,
}  # fmt: skip
"""Themis, the four that [Mahajan2020] §6 compares it with, its own strawman, and ASTRAEA in the same setting."""


def get_policy(name: str, **parameters: Any) -> AppPolicy:
    """Return the policy of this name; only Themis takes a parameter, `f` in [0, 1], else `InputError`."""
    decide = POLICIES[one_of(name, POLICIES, "policy")]
    known = {"f": F} if name == "themis" else {}
    for key, value in parameters.items():
        if key not in known:
            raise InputError(f"policy {name} takes no parameter {key!r}")
        number(value, key, least=0, most=1)
    chosen = known | parameters
    return AppPolicy(name, partial(decide, **chosen), chosen)
