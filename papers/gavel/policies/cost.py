"""Most throughput, least cost, and least cost subject to deadlines ([Narayanan2020] §4.2).

Max-throughput: maximize over X the sum of throughput(m, X).

Min-cost: maximize over X

    sum_m throughput(m, X) / sum_m sum_j cost_j X_mj scale_factor_m,

GPUs that are shared being paid once. With y = t X and t = 1 / cost (Charnes and Cooper) this is the linear program
"maximize the sum of throughput(m, y), with y within t times the cluster, and cost(y) <= 1".

Min-cost-slo: and throughput(m, X) >= num_steps_m / SLO_m, SLO_m being the time left.

An optimal ratio often serves one kind of job, the one with the most steps for a dollar, and says nothing about the
others. They take the GPUs that are left: each job's steps for a dollar, relative to its own cheapest way, are maximized
in sum, with the throughputs of the first program as lower bounds.

If not all deadlines can be met, `promised` says which. A job whose steps do not fit into its time on its fastest type
is treated as if it had no deadline. For the others, the allocation with the least sum of relative shortfalls decides:
jobs that fall short in it are not promised their deadline, and keep what it gives them.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
from scipy import sparse

from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError
from papers.gavel.problem import Allocation, Allocator
from papers.gavel.programs.columns import Columns
from papers.gavel.programs.highs import DUAL
from papers.gavel.programs.policy import policy
from papers.gavel.programs.program import SLACK, Program
from papers.gavel.sums import dot


def fastest(program: Program) -> Allocation:
    """Max-throughput: the objective is the sum of throughputs [steps/s]."""
    objective = program.total(np.ones(len(program.jobs)))
    x = program.maximize(objective)
    return program.allocation(x, float(dot(objective, x)))


def cheapest(program: Program, *, slo: bool = False) -> Allocation:
    """Min-cost: the objective is the optimal ratio [steps/s for $/h]."""
    problem = program.problem
    if not (np.isfinite(problem.cost) & (problem.cost > 0)).all():
        priced = dict(zip(problem.types, problem.cost.tolist(), strict=True))
        raise InputError(f"{program.policy}: the price of every accelerator type must be above 0 $/h, got {priced}")
    floor = promised(program) * (1 - SLACK) if slo else np.zeros(len(problem.steps))
    n = len(problem.steps)
    price = program.rows.worth(np.concatenate([np.zeros(n), problem.cost, np.zeros(n)]))
    # variables y and t; the ratio is that of y / t
    column = np.concatenate([-program.limits, floor / program.fastest])
    rows = program.rows.and_one(0, column).over(np.append(price / problem.cost.max(), 0.0))
    total = program.total(np.ones(len(program.jobs)))
    limits = np.append(np.zeros(rows.shape[0] - 1), 1.0)
    y = program.optimum(np.append(total / total.max(), 0.0), rows, limits, None, DUAL).x
    x = program.within(y[:-1] / y[-1])
    ratio = float(dot(total, x) / dot(price, x))
    bought = program.throughput @ sparse.diags_array(1 / price)
    steps_a_dollar = (program.jobs / bought.max(axis=1).toarray().ravel()) @ bought
    held = program.reached(x) * (1 - SLACK)
    return program.allocation(program.maximize(steps_a_dollar, held), ratio)


def promised(program: Program) -> FloatArray:
    """Throughput that each job with a deadline is promised, 0 without one [steps/s].

    It is num_steps_m / SLO_m where the deadline is met, and less where it cannot be.
    """
    problem = program.problem
    need = np.where(problem.slo > 0, problem.steps / np.maximum(problem.slo, 1e-300), np.inf)
    need = np.where(need <= program.best, need, 0.0)
    late = np.flatnonzero(need > 0)
    wanted = np.bincount(program.speed[late].argmax(axis=1), problem.scale_factor[late], len(problem.workers))
    if (need <= program.fastest).all() and (wanted <= problem.workers).all():  # all have their fastest type
        return need
    met = sparse.diags_array(1 / need[late]) @ program.throughput.tocsr()[late]
    uses = program.rows.sparse()[: program.limits.size]
    rows = sparse.block_array([[uses, None], [-met, sparse.eye_array(late.size)]], format="csc")
    variables = program.throughput.shape[1]
    objective = np.append(np.zeros(variables), np.ones(late.size))
    upper = np.append(np.full(variables, np.inf), np.ones(late.size))
    limits = np.append(program.limits, np.zeros(late.size))
    reached = program.optimum(objective, Columns.like(rows), limits, upper, DUAL).x[variables:]
    need[late] *= np.where(reached < 1 - 1e-6, reached, 1.0)
    return need


MAX_THROUGHPUT: Final[Allocator] = policy("max-throughput", fastest, ())
MIN_COST: Final[Allocator] = policy("min-cost", cheapest, (), leaves_idle=True)
MIN_COST_SLO: Final[Allocator] = policy("min-cost-slo", partial(cheapest, slo=True), leaves_idle=True)
