"""Classes of jobs, pools and pairs: the program with fewer variables has the same optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gavel_moments import assert_valid, moment, offered
from gavel_naive import Dense
from gavel_solved import FEW, SEEDS, a_moment, close, rates, solved
from hypothesis import given
from hypothesis import strategies as st

from astraea.core.errors import PolicyError
from papers.gavel.policies import POLICIES, fifo, finish_time_fairness, las, makespan, shortest_job_first
from papers.gavel.programs.classes import Classes
from papers.gavel.programs.pool import Pool
from papers.gavel.programs.program import Program
from papers.gavel.study.policies import told_apart


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


@pytest.mark.parametrize("most", [3, 50_000])
def test_classes_are_the_jobs_with_equal_values(most: int) -> None:
    """In order of their values."""
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
