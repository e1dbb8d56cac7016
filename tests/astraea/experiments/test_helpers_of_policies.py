"""Whatever a user's policy calls reads what is there now: in a grid and alone, here and in a worker."""

from __future__ import annotations

import enum
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from small_runs import FOUR, tiny

from astraea.cluster.simulate import simulate
from astraea.experiments.grid import run_grid
from astraea.experiments.parallel import computing
from astraea.experiments.run import Run

MYMOD = """
import numba
import numpy as np
ORDER = np.array([1.0])

@numba.njit
def step():
    return int(ORDER[0])
"""
HELPED = """
from astraea.cluster.policy import all_candidates, fits, grant, policy

@policy("helped")
def helped(s):
    for j in all_candidates(s)[:: mymod.sub.step() * Mode.A.value]:
        if fits(s, j):
            grant(s, j)
"""


def policy_of_a_user(folder: Path) -> dict[str, Any]:
    """What stands in the session of a user, who has a module too."""
    mymod = ModuleType("mymod")
    exec(compile(MYMOD, str(folder / "mymod.py"), "exec"), vars(mymod))
    mymod.sub = mymod  # type: ignore[attr-defined]
    scope: dict[str, Any] = {"__name__": "__main__", "mymod": mymod, "Mode": enum.IntEnum("Mode", {"A": 1})}
    exec(compile(HELPED, "<cell>", "exec"), scope)
    return scope


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_a_helper_reads_is_read_again_wherever_it_is(jobs: int, tmp_path: Path) -> None:
    def ends(scope: dict[str, Any], jobs: int, cache: str) -> list[float]:
        runs = [Run(tiny(name), FOUR, scope["helped"]) for name in ("x", "y")]
        with computing(jobs=jobs):
            found = run_grid(runs, cache=tmp_path / cache, progress=False)
        found.append(simulate(tiny(), FOUR, scope["helped"]))
        return [float(r.jobs["end_time"].sum()) for r in found]

    first, second = policy_of_a_user(tmp_path), policy_of_a_user(tmp_path)
    forward = ends(first, jobs, "cache")
    first["mymod"].ORDER[0] = -1.0
    backward = ends(first, jobs, "cache")
    assert all(one != other for one, other in zip(backward, forward, strict=True))
    second["Mode"] = enum.IntEnum("Mode", {"A": -1})  # who has compiled nothing before
    assert ends(second, 1, "other") == ends(second, jobs, "third") == backward
    assert len([*(tmp_path / "cache").iterdir()]) == 4
