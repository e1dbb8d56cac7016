"""Gavel's programs against the same programs solved another way, and the properties of [Narayanan2020] §4.4."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gavel_moments import alike, assert_valid, moment, of_all_pairs, offered, random_moment, unmet, with_pairs
from gavel_naive import Dense, bisected
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from astraea.core.errors import PolicyError
from papers.gavel.policies import POLICIES, fifo, finish_time_fairness, las, makespan, shortest_job_first
from papers.gavel.policies.cost import promised
from papers.gavel.policies.isolated import ISOLATED
from papers.gavel.problem import equal_split
from papers.gavel.programs.classes import Classes
from papers.gavel.programs.pool import Pool
from papers.gavel.programs.program import Program
from papers.gavel.study.policies import told_apart

SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=25, deadline=None)
PROGRAMS = [name for name in POLICIES if name not in ("isolated", "gandiva", "allox", "ltgf", "ltgf-het")]


def a_moment(seed, jobs=5, shared=False, like=0, **columns):
    """Jobs of so many kinds, each of its own if 0."""
    random = np.random.default_rng(seed)
    problem = random_moment(seed, jobs=jobs)
    problem = replace(
        problem, workers=random.integers(4, 6, 3), isolated_elapsed=random.uniform(0, 1e4, jobs), **columns
    )
    if like:
        problem = alike(problem, random.integers(0, like, jobs))
    return with_pairs(problem, random) if shared else problem


def solved(name, problem):
    allocation = POLICIES[name].make()(problem)
    assert_valid(problem, allocation)
    return allocation


def rates(problem, allocation):
    x = np.concatenate([allocation.alone.ravel(), of_all_pairs(problem, allocation).ravel()])
    return Dense(problem).rate @ x


def equal_rates(problem):
    return problem.throughput @ (problem.workers / problem.workers.sum())


def isolated_times(problem):
    rate = (problem.throughput * equal_split(problem.scale_factor, problem.workers)).sum(axis=1)
    return problem.isolated_elapsed + problem.steps / rate


def rho(problem, rate):
    return float(np.max((problem.elapsed + problem.steps / rate) / isolated_times(problem)))


def close(value, expected):
    assert value == pytest.approx(expected, rel=1e-6)


@FEW
@given(SEEDS, st.booleans())
def test_las(seed, shared):
    problem = a_moment(seed, shared=shared)
    need = problem.weight * equal_rates(problem) / problem.scale_factor
    allocation = solved("las-het-ss", problem)
    dense = Dense(problem)
    close(allocation.objective, 1 / bisected(lambda inverse: dense.allows(need / inverse), 1e-3, 1e3))
    close(allocation.objective, np.min(rates(problem, allocation) / need))


@FEW
@given(SEEDS, st.booleans())
def test_makespan_by_the_papers_bisection(seed, shared):
    problem = a_moment(seed, shared=shared)
    allocation = solved("makespan-het-ss", problem)
    dense = Dense(problem)
    close(allocation.objective, bisected(lambda m: dense.allows(problem.steps / m), 1.0, 1e6))
    close(allocation.objective, np.max(problem.steps / rates(problem, allocation)))


@FEW
@given(SEEDS, st.booleans())
def test_finish_time_fairness_by_bisection(seed, shared):
    problem = a_moment(seed, shared=shared)
    allocation = solved("ftf-het-ss", problem)
    dense, isolated = Dense(problem), isolated_times(problem)

    def allows(r):
        left = r * isolated - problem.elapsed
        return bool((left > 0).all()) and dense.allows(problem.steps / left)

    close(allocation.objective, bisected(allows, 0.0, 1e4))
    close(allocation.objective, rho(problem, rates(problem, allocation)))


@FEW
@given(SEEDS, st.booleans())
def test_fifo(seed, shared):
    problem = a_moment(seed, shared=shared)
    turn = np.arange(len(problem.steps), 0, -1) / problem.throughput.max(axis=1)
    close(solved("fifo-het-ss", problem).objective, Dense(problem).most(turn @ Dense(problem).rate))


@FEW
@given(SEEDS)
def test_min_cost_is_where_its_value_is_worth_nothing(seed):
    """Dinkelbach: r is the largest throughput / cost just when the largest throughput - r cost is 0."""
    problem = a_moment(seed, cost=np.array([3.0, 1.5, 0.5]))
    dense = Dense(problem)
    ratio = solved("min-cost", problem).objective
    steps, price = dense.rate.sum(axis=0), problem.cost @ dense.gpus
    assert dense.most(steps - ratio * (1 - 1e-6) * price) > 0
    assert dense.most(steps - ratio * (1 + 1e-6) * price) == pytest.approx(0, abs=1e-9)


@FEW
@given(SEEDS)
def test_cost_with_deadlines(seed):
    random = np.random.default_rng(seed)
    problem = a_moment(seed, cost=np.array([3.0, 1.5, 0.5]))
    fastest = problem.throughput.max(axis=1)
    problem = replace(problem, slo=problem.steps / fastest * random.choice([0.9, 1.2, 2.0, 10.0, np.inf], 5))
    need, missing = problem.steps / problem.slo, unmet(problem)
    rate = rates(problem, solved("min-cost-slo", problem))
    met = missing == 0
    assert (rate[met] >= need[met] * (1 - 1e-6)).all()
    assert (missing[need > fastest] == 1).all() and (missing[np.isinf(problem.slo)] == 0).all()
    possible = np.where(need > fastest, 0.0, need)
    assert Dense(problem).allows(possible * (1 - 1e-9)) == met[need <= fastest].all()
    np.testing.assert_array_equal(missing, unmet(problem))


def test_finish_time_fairness_by_another_solver():
    """The convex program itself, as it stands in the paper, by sequential quadratic programming."""
    for seed in range(8):
        problem = a_moment(seed, jobs=3)
        dense = Dense(problem)
        start = equal_split(problem.scale_factor, problem.workers).ravel()
        start = np.append(start, rho(problem, dense.rate @ start) * 1.01)
        limits = [
            {"type": "ineq", "fun": lambda z, d=dense: d.limits - d.rows @ z[:-1]},
            {
                "type": "ineq",
                "fun": lambda z, d=dense, p=problem: (
                    z[-1] - (p.elapsed + p.steps / np.maximum(d.rate @ z[:-1], 1e-9)) / isolated_times(p)
                ),
            },
        ]
        found = minimize(
            lambda z: z[-1], start, constraints=limits, bounds=[(0, 1)] * (len(start) - 1) + [(0, None)],
            method="SLSQP", options={"maxiter": 500, "ftol": 1e-10},
        )  # fmt: skip
        assert found.success
        assert solved("ftf-het", problem).objective == pytest.approx(found.fun, rel=1e-4)


def test_two_jobs_on_a_grid():
    """Two types of one GPU each: what one job leaves of a type the other may take, up to all its time."""
    throughput = np.array([[3.0, 1.0], [2.0, 1.5]])
    problem = moment(throughput, [1, 1], steps=[300, 500], elapsed=[100, 0], isolated_elapsed=[80, 0])
    first = np.linspace(0, 1, 201)
    a, b = np.meshgrid(first, first, indexing="ij")
    fits = a + b <= 1
    rate_0 = 3 * a + b
    left = np.minimum(2 * (1 - a) + 1.5 * np.minimum(1 - b, a), 10)  # the faster type first, then the other
    equal, alone = equal_rates(problem), isolated_times(problem)
    las = np.minimum(rate_0 / equal[0], left / equal[1])[fits].max()
    with np.errstate(divide="ignore"):
        longest = np.maximum(300 / rate_0, 500 / left)[fits].min()
        worst = np.maximum((100 + 300 / rate_0) / alone[0], 500 / left / alone[1])[fits].min()
    for name, value in (("las-het", las), ("makespan-het", longest), ("ftf-het", worst)):
        assert solved(name, problem).objective == pytest.approx(value, rel=0.02)


@FEW
@given(SEEDS, st.sampled_from(PROGRAMS))
def test_answers_are_valid_and_the_same_twice(seed, name):
    problem = a_moment(seed, jobs=9, shared=POLICIES[name].space_sharing, cost=np.array([3.0, 1.5, 0.5]))
    first, again = solved(name, problem), solved(name, problem)
    np.testing.assert_array_equal(first.alone, again.alone)
    np.testing.assert_array_equal(first.paired, again.paired)
    assert (first.alone[problem.throughput == 0] == 0).all()


@FEW
@given(SEEDS, st.sampled_from(["las-het", "las-het-ss", "las-het-water-filling", "hierarchical-het", "max-throughput",
                               "min-cost"]), st.booleans())  # fmt: skip
def test_classes_of_jobs_have_the_optimum_of_the_jobs(seed, name, shared):
    shared = shared and POLICIES[name].space_sharing
    problem = a_moment(seed, jobs=9, shared=shared, like=3, cost=np.array([3.0, 1.5, 0.5]))
    allocation, plain = solved(name, problem), solved(name, told_apart(problem))
    assert allocation.objective == pytest.approx(plain.objective, rel=1e-8)
    relative = [rates(problem, x) / problem.throughput.max(axis=1) for x in (allocation, plain)]
    if name.startswith("las-het"):  # the second program's objective
        assert relative[0].sum() == pytest.approx(relative[1].sum(), rel=1e-6)
    if name in ("las-het-water-filling", "hierarchical-het"):  # shares are the same in all optima
        np.testing.assert_allclose(*relative, atol=3e-4)
    for kind, weight, entity in {*zip(problem.kind, problem.weight, problem.entity, strict=True)}:
        alike = (problem.kind == kind) & (problem.weight == weight) & (problem.entity == entity)
        np.testing.assert_allclose(rates(problem, allocation)[alike], rates(problem, allocation)[alike][0])


@FEW
@given(SEEDS, st.booleans(), st.sampled_from([las.allocate, las.filled, finish_time_fairness.allocate, fifo.allocate,
                                              makespan.allocate, shortest_job_first.allocate]))  # fmt: skip
def test_a_pool_of_gpus_needs_no_solver(seed, everywhere, allocate):
    """Closed forms of agnostic policies against the program, where all types are equal for a job and where not."""
    problem = a_moment(seed, jobs=7)
    if everywhere:
        problem = replace(problem, throughput=np.maximum(problem.throughput, 0.5))
    classes = Classes.alike(problem, ("weight",), agnostic=True) if allocate in (las.allocate, las.filled) else None
    pool, plain = Pool(problem, "pool", agnostic=True, classes=classes), Program(problem, "plain", agnostic=True)
    ours, theirs = allocate(pool), allocate(plain)
    assert_valid(problem, ours)
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-7)
    time = [x.alone.sum(axis=1) for x in (ours, theirs)]
    if allocate is las.filled:
        np.testing.assert_allclose(*time, atol=3e-4)
    elif allocate is shortest_job_first.allocate:  # the second program's objective: the others by their durations
        duration = problem.steps / plain.fastest
        turn = len(duration) - np.argsort(np.argsort(duration, kind="stable"), kind="stable")
        assert turn @ time[0] == pytest.approx(turn @ time[1], rel=1e-6)
    elif allocate is not fifo.allocate:  # they fill up, for the largest sum
        assert time[0].sum() == pytest.approx(time[1].sum(), rel=1e-6)


@FEW
@given(SEEDS)
def test_pairs_that_were_left_out_would_not_pay(seed):
    """With more pairs than are handed to the solver at first."""
    problem = a_moment(seed, jobs=14, shared=True)
    turn = np.arange(len(problem.steps), 0, -1) / problem.throughput.max(axis=1)
    close(solved("fifo-het-ss", problem).objective, Dense(problem).most(turn @ Dense(problem).rate))


def test_a_floor_may_need_a_pair_that_was_left_out():
    """Two jobs on one GPU, each with three quarters of its speed: only beside each other."""
    problem = offered(moment(np.ones((2, 1)), [1]), [[0, 1]], [[[0.8], [0.8]]])
    program = Program(problem, "some-policy")
    np.testing.assert_allclose(program.reached(program.maximize(program.total(np.ones(2)), np.full(2, 0.75))), 0.8)
    with pytest.raises(PolicyError, match="infeasible"):
        program.maximize(program.total(np.ones(2)), np.full(2, 0.85))


@FEW
@given(SEEDS)
def test_sharing_incentive(seed):
    """No objective is worse than with 1/n of every type for each job."""
    problem = a_moment(seed)
    alone = rates(problem, ISOLATED.make()(problem))
    shares = alone / equal_rates(problem) * problem.scale_factor / problem.weight
    slack = 1 + 1e-6
    assert solved("las-het", problem).objective * slack >= shares.min()
    assert solved("las-het-water-filling", problem).objective * slack >= shares.min()
    assert solved("makespan-het", problem).objective <= np.max(problem.steps / alone) * slack
    assert solved("ftf-het", problem).objective <= rho(problem, alone) * slack
    turn = np.arange(len(problem.steps), 0, -1)
    assert solved("fifo-het", problem).objective * slack >= turn @ (alone / problem.throughput.max(axis=1))
    assert solved("sjf-het", problem).objective <= np.min(problem.steps / alone) * slack


@FEW
@given(SEEDS)
def test_colocation_is_never_worse(seed):
    problem = a_moment(seed, shared=True)
    slack = 1 + 1e-6
    for name in ("las-het", "fifo-het"):
        alone = replace(problem, together=np.zeros((0, 0, 2, 3)))
        assert solved(f"{name}-ss", problem).objective * slack >= solved(name, alone).objective
    for name in ("makespan-het", "ftf-het"):
        assert solved(f"{name}-ss", problem).objective <= solved(name, alone).objective * slack


@FEW
@given(SEEDS)
def test_on_one_type_agnostic_and_aware_are_the_same(seed):
    """Homogeneous clusters, §4.4."""
    problem = a_moment(seed)
    problem = replace(problem, throughput=problem.throughput[:, :1], workers=problem.workers[:1], types=("v100",))
    for name in ("las", "ftf", "makespan", "fifo", "sjf", "hierarchical", "hierarchical-fifo"):
        close(solved(name, problem).objective, solved(f"{name}-het", problem).objective)


def test_two_jobs_that_cannot_both_be_in_time():
    problem = moment(
        [[2.0], [1.0], [1.0]], [1], steps=[100, 100, 10], slo=[60, 110, -5], job=[7, 8, 9], types=("v100",)
    )
    assert promised(Program(problem, "min-cost-slo"))[2] == 0
    missing = unmet(problem)
    assert (missing > 0).tolist() == [False, True, True]
    # job 7 needs 5/6 of the GPU; job 8 has the rest, of the 10/11 that it needs
    np.testing.assert_allclose(missing, [0, 1 - (1 / 6) / (10 / 11), 1], atol=1e-6)
    np.testing.assert_allclose(solved("min-cost-slo", problem).alone[:, 0], [5 / 6, 1 / 6, 0], atol=1e-6)


@pytest.mark.parametrize("most", [3, 50_000])
def test_classes_are_the_jobs_with_equal_values(most: int) -> None:
    """Whether codes are counted (small numbers) or sorted first: the same groups, in order of their values."""
    random = np.random.default_rng(most)
    problem = replace(
        moment(np.ones((40, 2)), workers=(8, 8)),
        kind=random.integers(0, most, 12)[random.integers(0, 12, 40)],
        weight=random.choice([0.5, 1.0, 7.25], 40),
        entity=random.choice([0, most], 40),
    )
    classes = Classes.alike(problem, ("weight", "entity"), agnostic=False)
    keys = list(zip(problem.weight.tolist(), problem.entity.tolist(), problem.kind.tolist(), strict=True))
    distinct = sorted(set(keys))
    assert classes.of.tolist() == [distinct.index(key) for key in keys]
    assert classes.first.tolist() == [keys.index(key) for key in distinct]
    assert classes.jobs.tolist() == [keys.count(key) for key in distinct]
