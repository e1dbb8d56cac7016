"""Water filling: bottlenecks against the paper's mixed-integer program, levels against a naive search, efficiency."""

from __future__ import annotations

import numpy as np
import pytest
from gavel_moments import assert_valid, random_moment, with_pairs
from gavel_naive import Dense, shares_by_filling
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from papers.gavel.policies import POLICIES
from papers.gavel.policies.hierarchical import job_weights
from papers.gavel.policies.las import share_of_one
from papers.gavel.programs.program import Program
from papers.gavel.programs.water_filling import water_fill

SEEDS = st.integers(0, 2**32 - 1)
# the same examples every time: where jobs trade GPUs in a chain, a tolerance of one is multiplied for another
FEW = settings(max_examples=12, deadline=None, derandomize=True)


def a_moment(seed, jobs=7, shared=False):
    problem = random_moment(seed, jobs=jobs)
    return with_pairs(problem, np.random.default_rng(seed)) if shared else problem


def bottlenecks_of_the_paper(problem, floor):
    """Appendix A.1: maximize the number of jobs of which z_m = 1, with throughput(m, X) > throughput(m, X_prev).

    More is a thousandth of the fastest throughput here: integers are exact to 1e-6 only, and what one job gives up
    within that another can have a hundredfold.
    """
    dense = Dense(problem)
    n, variables = dense.rate.shape
    fastest = problem.throughput.max(axis=1)
    rate, held, epsilon, large = dense.rate / fastest[:, None], floor / fastest, 1e-3, 2.0
    nothing = np.zeros((n, n))
    constraints = [
        LinearConstraint(np.hstack([dense.rows, np.zeros((len(dense.rows), n))]), -np.inf, dense.limits),
        LinearConstraint(np.hstack([rate, nothing]), held - 1e-8, np.inf),
        LinearConstraint(np.hstack([rate, -large * np.eye(n)]), held + epsilon - large, np.inf),
        LinearConstraint(np.hstack([rate, -large * np.eye(n)]), -np.inf, held + epsilon / 2),
    ]
    found = milp(
        -np.concatenate([np.zeros(variables), np.ones(n)]),
        constraints=constraints,
        integrality=np.concatenate([np.zeros(variables), np.ones(n)]),
        bounds=Bounds(0, 1),
    )
    assert found.status in (0, 2)
    return found.x[variables:] < 0.5 if found.status == 0 else np.ones(n, bool)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_bottlenecks_are_those_of_the_mixed_integer_program(seed, shared, monkeypatch):
    problem = a_moment(seed, shared=shared)
    program = Program(problem, "las-het-water-filling")
    seen = []

    def both(program, floor):
        ours = plain(program, floor)
        np.testing.assert_array_equal(ours, bottlenecks_of_the_paper(problem, floor))
        seen.append(ours.sum())
        return ours

    plain = Program.bottlenecked
    monkeypatch.setattr(Program, "bottlenecked", both)
    water_fill(program, share_of_one(program), lambda stuck: np.where(stuck, 0.0, problem.weight))
    assert seen[-1] == len(problem.weight)


@FEW
@given(SEEDS, st.sampled_from(["fairness", "fifo"]), st.booleans())
def test_shares_are_those_of_a_naive_search(seed, inside, shared):
    problem = a_moment(seed, jobs=6, shared=shared)
    program = Program(problem, "hierarchical-het")
    unit = share_of_one(program)

    def weigh(stuck):
        return job_weights(problem, (inside,), stuck)

    x, shares, _ = water_fill(program, unit, weigh)
    np.testing.assert_allclose(shares, shares_by_filling(problem, unit, weigh), atol=2e-4)
    np.testing.assert_allclose(program.reached(x) / unit, shares, atol=2e-4)


@FEW
@given(SEEDS, st.sampled_from(["las-het-water-filling", "hierarchical-het", "hierarchical-fifo-het"]))
def test_pareto_efficiency(seed, name):
    """§4.4: no job can have more without another having less."""
    problem = a_moment(seed, jobs=9)
    allocation = POLICIES[name].make()(problem)
    assert_valid(problem, allocation)
    rate = (problem.throughput * allocation.alone).sum(axis=1)
    dense = Dense(problem)
    for m, fastest in enumerate(problem.throughput.max(axis=1)):
        assert dense.most(dense.rate[m], rate * (1 - 1e-9)) <= rate[m] + 1e-4 * fastest


def test_weights_of_an_entity_go_to_those_that_can_have_more():
    problem = a_moment(0, jobs=6)
    stuck = np.zeros(6, bool)
    for inside in ("fairness", "fifo"):
        for job in range(5):
            weight = job_weights(problem, (inside,), stuck | (np.arange(6) < job))
            of_entity = np.bincount(problem.entity, weight, minlength=3)
            alive = np.isin(np.arange(3), problem.entity[job:])
            np.testing.assert_allclose(of_entity, np.where(alive, problem.entity_weight, 0))
            assert (weight[:job] == 0).all()
