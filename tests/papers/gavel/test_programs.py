"""Gavel's programs against the same programs solved another way, and the properties of [Narayanan2020] §4.4."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gavel_moments import moment, unmet
from gavel_naive import Dense, bisected
from gavel_solved import FEW, SEEDS, a_moment, close, rates, solved
from hypothesis import given
from hypothesis import strategies as st

from papers.gavel.policies import POLICIES
from papers.gavel.policies.cost import promised
from papers.gavel.policies.isolated import ISOLATED
from papers.gavel.problem import equal_split
from papers.gavel.programs.program import Program

PROGRAMS = [name for name in POLICIES if name not in ("isolated", "gandiva", "allox", "ltgf", "ltgf-het")]


def equal_rates(problem):
    return problem.throughput @ (problem.workers / problem.workers.sum())


def isolated_times(problem):
    rate = (problem.throughput * equal_split(problem.scale_factor, problem.workers)).sum(axis=1)
    return problem.isolated_elapsed + problem.steps / rate


def rho(problem, rate):
    return float(np.max((problem.elapsed + problem.steps / rate) / isolated_times(problem)))


def as_good_as(name, problem, value):
    """Throughputs that the jobs have at least, just when the objective is as good as `value`; LAS' is 1 over it."""
    if name == "las-het-ss":
        return problem.weight * equal_rates(problem) / problem.scale_factor / value
    if name == "makespan-het-ss":
        return problem.steps / value
    return problem.steps / (value * isolated_times(problem) - problem.elapsed)


def best_by_bisection(name, problem):
    """The best objective, by the paper's bisection, and that of some throughputs."""
    dense, low = Dense(problem), 1e-3
    if name == "ftf-het-ss":
        low = float(np.max(problem.elapsed / isolated_times(problem))) * (1 + 1e-9)
    return bisected(lambda value: dense.allows(as_good_as(name, problem, value)), low, 1e6)


@pytest.mark.parametrize("name", ["las-het-ss", "makespan-het-ss", "ftf-het-ss"])
@FEW
@given(SEEDS, st.booleans())
def test_least_and_largest_by_bisection(name, seed, shared):
    problem = a_moment(seed, shared=shared)
    allocation, best = solved(name, problem), best_by_bisection(name, problem)
    rate = rates(problem, allocation)
    if name == "las-het-ss":
        close(1 / allocation.objective, best)
        close(allocation.objective, np.min(rate / as_good_as(name, problem, 1.0)))
    else:
        close(allocation.objective, best)
        close(allocation.objective, np.max(problem.steps / rate) if "makespan" in name else rho(problem, rate))


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


@FEW
@given(SEEDS, st.sampled_from(PROGRAMS))
def test_answers_are_valid_and_the_same_twice(seed, name):
    problem = a_moment(seed, jobs=9, shared=POLICIES[name].space_sharing, cost=np.array([3.0, 1.5, 0.5]))
    first, again = solved(name, problem), solved(name, problem)
    np.testing.assert_array_equal(first.alone, again.alone)
    np.testing.assert_array_equal(first.paired, again.paired)
    assert (first.alone[problem.throughput == 0] == 0).all()


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
