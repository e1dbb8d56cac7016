"""Gavel's programs against the same programs solved another way, and the properties of [Narayanan2020] §4.4."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gavel_moments import EXACT, FEW, SEEDS, Dense, answer, assert_valid, close, moment, offered, random_moment
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from astraea.core.errors import PolicyError
from papers.gavel.moment import effective
from papers.gavel.policies import POLICIES, fifo, finish_time_fairness, las, makespan
from papers.gavel.policies.baselines import ISOLATED
from papers.gavel.policies.cost import promised
from papers.gavel.policies.hierarchical import job_weights
from papers.gavel.problem import equal_split
from papers.gavel.programs import center
from papers.gavel.programs.classes import Classes
from papers.gavel.programs.columns import paying_pairs
from papers.gavel.programs.policy import Pool
from papers.gavel.programs.program import Program

# the same examples every time: where jobs trade GPUs in a chain, a tolerance of one is multiplied for another
SAME = settings(FEW, derandomize=True)


def turns(problem):
    """Value of a step of each job under FIFO."""
    return np.arange(len(problem.steps), 0, -1) / problem.throughput.max(axis=1)


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
    """The best objective, to nine digits, by the paper's bisection."""
    dense, low, high = Dense(problem), 1e-3, 1e6
    if name == "ftf-het-ss":
        low = float(np.max(problem.elapsed / isolated_times(problem))) * (1 + 1e-9)
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if dense.allows(as_good_as(name, problem, middle)) else (middle, high)
    return high


@pytest.mark.parametrize("name", ["las-het-ss", "makespan-het-ss", "ftf-het-ss"])
@FEW
@given(SEEDS, st.booleans())
def test_least_and_largest_by_bisection(name, seed, shared):
    problem = random_moment(seed, shared=shared)
    allocation, best = answer(name, problem), best_by_bisection(name, problem)
    rate = effective(problem, allocation)
    if name == "las-het-ss":
        close(1 / allocation.objective, best)
        close(allocation.objective, np.min(rate / as_good_as(name, problem, 1.0)))
    else:
        close(allocation.objective, best)
        close(allocation.objective, np.max(problem.steps / rate) if "makespan" in name else rho(problem, rate))


@FEW
@given(SEEDS, st.booleans())
def test_fifo(seed, shared):
    """With more pairs than are handed to the solver at first."""
    problem = random_moment(seed, jobs=14, shared=shared)
    close(answer("fifo-het-ss", problem).objective, Dense(problem).most(turns(problem) @ Dense(problem).rate))


@FEW
@given(SEEDS)
def test_min_cost_is_where_its_value_is_worth_nothing(seed):
    """Dinkelbach: r is the largest throughput / cost just when the largest throughput - r cost is 0."""
    problem = random_moment(seed, cost=np.array([3.0, 1.5, 0.5]))
    dense = Dense(problem)
    ratio = answer("min-cost", problem).objective
    steps, price = dense.rate.sum(axis=0), problem.cost @ dense.gpus
    assert dense.most(steps - ratio * (1 - 1e-6) * price) > 0
    assert dense.most(steps - ratio * (1 + 1e-6) * price) == pytest.approx(0, abs=1e-9)


def unmet(problem):
    """Part of the throughput that each job needs for its deadline, and is not promised; 0 where it is met."""
    has_deadline = np.isfinite(problem.slo)
    given = promised(Program(problem, "min-cost-slo"))
    part = given * np.where(has_deadline, np.maximum(problem.slo, 0.0), 0.0) / problem.steps
    return np.where(has_deadline & (part < 1 - 1e-9), 1 - part, 0.0)


@FEW
@given(SEEDS)
def test_cost_with_deadlines(seed):
    random = np.random.default_rng(seed)
    problem = random_moment(seed, cost=np.array([3.0, 1.5, 0.5]))
    fastest = problem.throughput.max(axis=1)
    problem = replace(problem, slo=problem.steps / fastest * random.choice([0.9, 1.2, 2.0, 10.0, np.inf], 5))
    need, missing = problem.steps / problem.slo, unmet(problem)
    rate = effective(problem, answer("min-cost-slo", problem))
    met = missing == 0
    assert (rate[met] >= need[met] * (1 - 1e-6)).all()
    assert (missing[need > fastest] == 1).all() and (missing[np.isinf(problem.slo)] == 0).all()
    possible = np.where(need > fastest, 0.0, need)
    assert Dense(problem).allows(possible * (1 - 1e-9)) == met[need <= fastest].all()


@FEW
@given(SEEDS)
def test_sharing_incentive(seed):
    """No objective is worse than with 1/n of every type for each job."""
    problem = random_moment(seed)
    alone = effective(problem, ISOLATED.make()(problem))
    shares = alone / equal_rates(problem) * problem.scale_factor / problem.weight
    slack = 1 + 1e-6
    assert answer("las-het", problem).objective * slack >= shares.min()
    assert answer("las-het-water-filling", problem).objective * slack >= shares.min()
    assert answer("makespan-het", problem).objective <= np.max(problem.steps / alone) * slack
    assert answer("ftf-het", problem).objective <= rho(problem, alone) * slack
    assert answer("fifo-het", problem).objective * slack >= turns(problem) @ alone
    assert answer("sjf-het", problem).objective <= np.min(problem.steps / alone) * slack


@FEW
@given(SEEDS)
def test_colocation_is_never_worse(seed):
    problem = random_moment(seed, shared=True)
    slack = 1 + 1e-6
    for name in ("las-het", "fifo-het"):
        alone = replace(problem, together=np.zeros((0, 0, 2, 3)))
        assert answer(f"{name}-ss", problem).objective * slack >= answer(name, alone).objective
    for name in ("makespan-het", "ftf-het"):
        assert answer(f"{name}-ss", problem).objective <= answer(name, alone).objective * slack


@FEW
@given(SEEDS)
def test_on_one_type_agnostic_and_aware_are_the_same(seed):
    """Homogeneous clusters, §4.4."""
    problem = random_moment(seed)
    problem = replace(problem, throughput=problem.throughput[:, :1], workers=problem.workers[:1], types=("v100",))
    for name in ("las", "ftf", "makespan", "fifo", "sjf", "hierarchical", "hierarchical-fifo"):
        close(answer(name, problem).objective, answer(f"{name}-het", problem).objective)


@FEW
@given(SEEDS)
def test_agnostic_fairness_and_makespan_are_the_aware_ones_with_wrong_speeds(seed):
    """Notebook 10a says so: without the types, a job's speed on the first of them counts on all."""
    problem = random_moment(seed)
    problem = replace(problem, throughput=np.maximum(problem.throughput, 0.5))
    wrong = replace(problem, throughput=np.repeat(problem.throughput[:, :1], 3, axis=1))
    for name in ("ftf", "makespan"):
        close(answer(name, problem).objective, answer(f"{name}-het", wrong).objective)  # allocations may differ


def test_two_jobs_that_cannot_both_be_in_time():
    problem = moment([[2.0], [1.0], [1.0]], [1], steps=[100, 100, 10], slo=[60, 110, -5])
    assert promised(Program(problem, "min-cost-slo"))[2] == 0
    missing = unmet(problem)
    assert (missing > 0).tolist() == [False, True, True]
    # the first needs 5/6 of the GPU; the second has the rest, of the 10/11 that it needs
    np.testing.assert_allclose(missing, [0, 1 - (1 / 6) / (10 / 11), 1], atol=1e-6)
    np.testing.assert_allclose(answer("min-cost-slo", problem).alone[:, 0], [5 / 6, 1 / 6, 0], atol=1e-6)


def told_apart(problem):
    """The problem with each job as a kind of its own."""
    together = problem.together[np.ix_(problem.kind, problem.kind)] if len(problem.together) else problem.together
    return replace(problem, kind=np.arange(len(problem.job)), together=together)


@FEW
@given(SEEDS, st.sampled_from(["las-het", "las-het-ss", "las-het-water-filling", "hierarchical-het", "max-throughput",
                               "min-cost"]), st.booleans())  # fmt: skip
def test_classes_of_jobs_have_the_optimum_of_the_jobs(seed, name, shared):
    shared = shared and POLICIES[name].space_sharing
    problem = random_moment(seed, jobs=9, shared=shared, like=3, cost=np.array([3.0, 1.5, 0.5]))
    allocation, plain = answer(name, problem), answer(name, told_apart(problem))
    assert allocation.objective == pytest.approx(plain.objective, rel=1e-8)
    relative = [effective(problem, x) / problem.throughput.max(axis=1) for x in (allocation, plain)]
    if name.startswith("las-het"):  # the second program's objective
        assert relative[0].sum() == pytest.approx(relative[1].sum(), rel=1e-6)
    if name in ("las-het-water-filling", "hierarchical-het"):  # shares are the same in all optima
        np.testing.assert_allclose(*relative, atol=3e-4)
    for kind, weight, entity in {*zip(problem.kind, problem.weight, problem.entity, strict=True)}:
        alike = (problem.kind == kind) & (problem.weight == weight) & (problem.entity == entity)
        np.testing.assert_allclose(effective(problem, allocation)[alike], effective(problem, allocation)[alike][0])


@FEW
@given(SEEDS, st.booleans(), st.sampled_from([las.allocate, las.filled, finish_time_fairness.allocate, fifo.allocate,
                                              makespan.allocate, makespan.shortest]))  # fmt: skip
def test_a_pool_of_gpus_needs_no_solver(seed, everywhere, allocate):
    """Closed forms of agnostic policies against the program, where all types are equal for a job and where not."""
    problem = random_moment(seed, jobs=7)
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
    elif allocate is makespan.shortest:  # the second program's objective: the others by their durations
        duration = problem.steps / plain.fastest
        turn = len(duration) - np.argsort(np.argsort(duration, kind="stable"), kind="stable")
        assert turn @ time[0] == pytest.approx(turn @ time[1], rel=1e-6)
    elif allocate is not fifo.allocate:  # they fill up, for the largest sum
        assert time[0].sum() == pytest.approx(time[1].sum(), rel=1e-6)


def logs(problem, x, floor):
    """Sum of the logarithms of all slacks, -inf outside."""
    gangs, runs = problem.scale_factor, problem.scale_factor[:, None] <= problem.workers
    speed = problem.throughput * runs / (problem.throughput * runs).max(axis=1, keepdims=True)
    above = (speed * x).sum(axis=1) - floor
    free = (problem.workers - gangs @ x)[problem.workers > 0]
    slack = np.concatenate([x[runs], 1 - x.sum(axis=1), free, above])
    return float(np.log(slack).sum()) if (slack > 0).all() and not x[~runs].any() else -np.inf


@SAME
@given(SEEDS)
def test_the_center_is_where_the_product_of_the_slacks_is_largest(seed):
    random = np.random.default_rng(seed)
    problem = random_moment(seed, jobs=9, like=3)
    problem = replace(problem, workers=np.array([5, 4, seed % 2]))  # on which some gangs do not fit
    x = answer("las-het", problem, "central").alone
    unit = las.share_of_one(Program(problem, "plain"))
    fastest = (problem.throughput * (problem.scale_factor[:, None] <= problem.workers)).max(axis=1)
    floor = Program(problem, "plain").max_min(problem.weight * unit).reached / fastest * (1 - center.RELAXED)
    best = logs(problem, x, floor)
    assert np.isfinite(best)
    for size in (0.1, 1e-2, 1e-3, 1e-4):
        for _ in range(50):
            assert logs(problem, x * (1 + random.normal(0, size, x.shape)), floor) < best + 1e-7
    np.testing.assert_allclose(answer("las-het", told_apart(problem), "central").alone, x, atol=1e-5)


@pytest.mark.parametrize("name", ["las", "ftf", "makespan"])
def test_the_center_of_a_pool_reaches_the_optimum_where_a_gang_or_a_job_has_few_types(name):
    gangs = moment([[1, 1, 1], [2, 2, 2], [3, 1, 1]], [8, 2, 0], [4, 1, 1], steps=[900, 100, 100])
    for problem in (gangs, moment([[1, 0], [2, 2], [3, 1]], [1, 2])):
        pool = Program(problem, name, agnostic=True)
        told = replace(problem, throughput=pool.speed)
        rate = effective(told, answer(name, problem, "central"))
        least = answer(name, problem).objective
        if name == "las":
            assert np.min(rate / las.share_of_one(pool)) >= least * (1 - 2e-4)
        else:
            assert (rho(told, rate) if name == "ftf" else np.max(problem.steps / rate)) <= least * (1 + 2e-4)


def test_a_center_that_is_not_found_is_said():
    one = np.ones((1, 1))
    with pytest.raises(PolicyError, match="Newton's method did not find the center of the allocations of 1 classes"):
        center.center(one, np.array([2.0]), np.array([1]), np.ones(1), np.array([1]), one / 2)


def test_a_floor_may_need_a_pair_that_was_left_out():
    """Two jobs on one GPU, each with three quarters of its speed: only beside each other."""
    problem = offered(moment(np.ones((2, 1)), [1]), [[0, 1]], [[[0.8], [0.8]]])
    program = Program(problem, "some-policy")
    np.testing.assert_allclose(program.reached(program.maximize(program.total(np.ones(2)), np.full(2, 0.75))), 0.8)
    with pytest.raises(PolicyError, match="infeasible"):
        program.maximize(program.total(np.ones(2)), np.full(2, 0.85))


@FEW
@given(SEEDS)
def test_pairs_pay_whose_columns_are_worth_less_than_their_objective(seed):
    problem, random = random_moment(seed, jobs=12, shared=True, like=4), np.random.default_rng(seed)
    program = Program(problem, "plain", classes=Classes.alike(problem, ("weight",), agnostic=False))
    pairs, every = program.pairs, np.arange(len(program.pairs.first))
    rows = program._shared(every).sparse()
    price, objective = random.uniform(0, 1, rows.shape[0]), random.uniform(0, 3, len(every))
    left, chosen = objective - rows.T @ price, every[::3]
    pay, gains = paying_pairs(
        objective, price, 0.5, chosen, *pairs[:3], len(problem.workers), pairs.mine, pairs.theirs, program.jobs,
        program.problem.scale_factor, program.fastest,
    )  # fmt: skip
    np.testing.assert_array_equal(pay, np.setdiff1d(np.flatnonzero(left > 0.5), chosen))
    np.testing.assert_allclose(gains, left[pay])


def shares_by_filling(problem, unit, weigh):
    """Water filling with one program per job to find out whether it is bottlenecked."""
    dense = Dense(problem)
    n = len(unit)
    level, stuck = np.zeros(n), np.zeros(n, bool)
    for _ in range(n):  # every step has a bottleneck
        if stuck.all():
            break
        weight = weigh(stuck)
        rate = np.hstack([-dense.rate, (unit * weight)[:, None]])
        rows = np.vstack([np.hstack([dense.rows, np.zeros((len(dense.rows), 1))]), rate])
        limits = np.concatenate([dense.limits, -unit * level * (1 - 1e-9)])
        found = linprog(-np.eye(rows.shape[1])[-1], A_ub=rows, b_ub=limits, bounds=(0, None), options=EXACT)
        assert found.status == 0
        level = level + weight * found.x[-1]
        for m in np.flatnonzero(~stuck):
            floor = unit * level * (1 - 1e-9)
            stuck[m] = dense.most(dense.rate[m], floor) <= unit[m] * level[m] + 1e-4 * problem.throughput[m].max()
    assert stuck.all()
    return level


@SAME
@given(SEEDS, st.sampled_from(["fairness", "fifo"]), st.booleans())
def test_shares_are_those_of_a_naive_search(seed, inside, shared):
    problem = random_moment(seed, jobs=6, shared=shared)
    program = Program(problem, "hierarchical-het")
    unit = las.share_of_one(program)

    def weigh(stuck):
        return job_weights(problem, (inside,), stuck)

    x, shares, _ = las.water_fill(program, unit, weigh)
    np.testing.assert_allclose(shares, shares_by_filling(problem, unit, weigh), atol=2e-4)
    np.testing.assert_allclose(program.reached(x) / unit, shares, atol=2e-4)


@SAME
@given(SEEDS, st.sampled_from(["las-het-water-filling", "hierarchical-het", "hierarchical-fifo-het"]))
def test_pareto_efficiency(seed, name):
    """§4.4: no job can have more without another having less."""
    problem = random_moment(seed, jobs=9)
    rate = effective(problem, answer(name, problem))
    dense = Dense(problem)
    for m, fastest in enumerate(problem.throughput.max(axis=1)):
        assert dense.most(dense.rate[m], rate * (1 - 1e-9)) <= rate[m] + 1e-4 * fastest
