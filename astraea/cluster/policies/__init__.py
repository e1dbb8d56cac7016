"""The schedulers, one file each."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Final

from astraea.cluster.policies.allox import allox
from astraea.cluster.policies.astraea import astraea
from astraea.cluster.policies.astraea_released import astraea_released
from astraea.cluster.policies.decayed_usage import decayed_usage
from astraea.cluster.policies.easy import easy
from astraea.cluster.policies.fifo import fifo
from astraea.cluster.policies.finish_time import finish_time_fairness
from astraea.cluster.policies.gandiva_fair import gandiva_fair
from astraea.cluster.policies.hived import hived
from astraea.cluster.policies.max_min import max_min
from astraea.cluster.policies.themis import themis
from astraea.cluster.policies.tiresias_l import tiresias_l
from astraea.cluster.policies.yarn_cs import yarn_cs
from astraea.cluster.policy import Policy
from astraea.core.checks import one_of
from astraea.core.errors import InputError
from astraea.core.plugins import added, refuse_missing

_OWN: Final = (
    astraea, astraea_released, hived, allox, tiresias_l, themis, gandiva_fair, yarn_cs, fifo, easy,
    finish_time_fairness, max_min, decayed_usage,
)  # fmt: skip

_FILE: Final = re.compile(r"(?P<file>.+\.py):(?P<name>\w+)")


@cache
def all_policies() -> dict[str, Policy]:
    """Return every scheduler by name: the package's in the order of the figures, then those of installed packages."""
    return {policy.name: policy for policy in (*_OWN, *added("astraea.policies").values())}


def get_policy(name: str) -> Policy:
    """Return the scheduler with this name; `InputError` if there is none, with a list of all names."""
    refuse_missing("astraea.policies", name)
    return all_policies()[one_of(name, all_policies(), "policy")]


def named_policy(name: object, folder: Path) -> Policy:
    """Return a scheduler by its name, or your own as ``file.py:function``, relative to `folder`."""
    own = _FILE.fullmatch(name) if isinstance(name, str) else None
    if own is None:
        return get_policy(name if isinstance(name, str) else repr(name))
    path = folder / own["file"]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError(f"policy {name!r}: there is no file {path}")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as err:  # the user's file may raise anything
        raise InputError(f"policy {name!r}: {path} cannot be imported ({type(err).__name__}: {err})") from None
    found = getattr(module, own["name"], None)
    if not isinstance(found, Policy):
        raise InputError(f"policy {name!r}: {path} has no policy {own['name']}; make one with @astraea.policy")
    return found
