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

HELPED = """
import enum
import numba
import numpy as np
from astraea.cluster.policy import all_candidates, fits, grant, policy

@numba.njit
def own():
    return int(mymod.ORDER[0])

class Mode(enum.IntEnum):
    A = 1

@policy("helped")
def helped(s):
    for j in all_candidates(s)[::{step}]:
        if fits(s, j):
            grant(s, j)
"""
MYMOD = """
import numba
import numpy as np
ORDER = np.array([1.0])
@numba.njit
def step():
    return int(ORDER[0])
"""


class Helped:
    """A policy of a user, who has a module too."""

    def __init__(self, folder: Path, step: str) -> None:
        self.mymod = ModuleType("mymod")
        exec(compile(MYMOD, str(folder / "mymod.py"), "exec"), vars(self.mymod))
        self.mymod.sub = self.mymod  # type: ignore[attr-defined]
        self.scope: dict[str, Any] = {"__name__": "__main__", "mymod": self.mymod}
        exec(compile(HELPED.format(step=step), "<cell>", "exec"), self.scope)

    def reverse(self) -> None:
        self.mymod.ORDER[0] = -1.0
        self.scope["Mode"] = enum.IntEnum("Mode", {"A": -1})

    def ends(self, jobs: int, cache: Path) -> list[float]:
        """When jobs end, by a grid and by `simulate`."""
        runs = [Run(tiny(name), FOUR, self.scope["helped"]) for name in ("x", "y")]
        with computing(jobs=jobs):
            found = run_grid(runs, cache=cache, progress=False)
        found.append(simulate(tiny(), FOUR, self.scope["helped"]))
        return [float(r.jobs["end_time"].sum()) for r in found]


@pytest.mark.parametrize(
    ("step", "jobs"), [*((step, 1) for step in ("mymod.sub.step()", "Mode.A.value")), ("own()", 2)]
)
def test_what_a_helper_reads_is_read_again_wherever_it_is(step: str, jobs: int, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = Helped(tmp_path, step)
    forward = first.ends(jobs, cache)
    first.reverse()
    backward = first.ends(jobs, cache)
    assert all(one != other for one, other in zip(backward, forward, strict=True))
    second = Helped(tmp_path, step)  # who has compiled nothing before
    second.reverse()
    assert second.ends(1, cache) == second.ends(jobs, tmp_path / "other") == backward
    assert len([*cache.iterdir()]) == 4
