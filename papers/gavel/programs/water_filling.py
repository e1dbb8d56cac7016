"""Water filling: max-min fairness that goes on where the least well-off can have no more ([Narayanan2020] §4.3, A.1).

Shares of all jobs rise together, in proportion to their weights, until some are bottlenecked: no allocation gives them
more without giving another job less than it has. Those keep their level, weights are dealt out anew, and the others
rise on. In each step, with s_m the share and t_m the level so far,

    maximize over X the least of (s_m(X) - t_m) / w_m over {m: w_m > 0}, with s_m(X) >= t_m for all m.

A level is what the steps so far guarantee, w_m times the sum of their optima; what a solution happens to give beyond it
does not count, so that the outcome does not depend on which of several optimal X a solver returns.

Who is bottlenecked is a mixed-integer program in the paper (z_m = 1 if job m can have more). Two allocations that raise
one job each have a mean that raises both; so all jobs that can have more can have more at once, and one linear program
finds them: each gains up to a small step, and the sum of gains is maximized.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from astraea.core.arrays import BoolArray, FloatArray
from papers.gavel.programs.optimum import SLACK
from papers.gavel.programs.program import Program


def water_fill(
    program: Program, unit: FloatArray, weigh: Callable[[BoolArray], FloatArray]
) -> tuple[FloatArray, FloatArray, float]:
    """Fill until every job is bottlenecked: variables of the program, shares of the jobs, optimum of the first step.

    `unit` is the throughput of each job that is a share of 1 [steps/s], (n,). `weigh` gives the weights of all jobs,
    told which are bottlenecked; those of the bottlenecked are 0, and not all others are.
    """
    stuck = np.zeros(unit.size, dtype=bool)
    level = np.zeros(unit.size)
    first = np.nan
    while not stuck.all():
        weight = weigh(stuck)
        least = program.max_min(unit * weight, unit * level * (1 - SLACK))
        first = least.value if np.isnan(first) else first
        level = least.reached / unit
        # a row with a price is a bottleneck for certain; one at least has a price, so this ends
        stuck = stuck | (least.price * unit * weight > 1e-6) | program.bottlenecked(unit * level)
    return program.fill(unit * level), level, float(first)
