"""The interface to HiGHS: compared with another package's HiGHS, its answer where there is no optimum; and sums."""

from __future__ import annotations

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from papers.gavel.programs import highs
from papers.gavel.sums import dot


def dense(rows):
    return highs.Columns.like(sparse.csc_array(np.array(rows, float)))


def maximize(*program, **how):
    """Solve with a new solver."""
    return highs.Solver().maximize(*program, **how)


def a_program(seed):
    """Up to 12 rows, among them some that keep sums above a bound, so that not every program has an optimum."""
    random = np.random.default_rng(seed)
    count, size = random.integers(1, 12, 2)
    rows = random.uniform(0, 1, (count, size)) * (random.random((count, size)) < 0.5)
    limits = random.uniform(0.5, 2, count)
    turned = random.random(count) < 0.2
    rows[turned], limits[turned] = -rows[turned], -limits[turned] * random.uniform(0, 0.5)
    upper = np.where(random.random(size) < 0.5, random.uniform(0.1, 1, size), np.inf)
    return random.uniform(0, 1, size), rows, limits, upper


@settings(max_examples=70, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([highs.DUAL, highs.PRIMAL]))
def test_optima_and_prices_are_those_of_another_solver(seed, strategy):
    objective, rows, limits, upper = a_program(seed)
    found = maximize(objective, dense(rows), limits, upper, strategy=strategy)
    bounds = np.column_stack([np.zeros(upper.size), upper])
    expected = linprog(-objective, A_ub=rows, b_ub=limits, bounds=bounds, method="highs")
    assert found.is_optimal == (expected.status == 0)
    if found.is_optimal:
        assert objective @ found.x == pytest.approx(-expected.fun, abs=1e-7)
        assert (rows @ found.x <= limits + 1e-8).all() and (found.x <= upper + 1e-8).all()
        # strong duality: what rows and upper bounds are worth is the optimum
        left = np.maximum(objective - found.price @ rows, 0.0)
        worth = found.price @ limits + left[np.isfinite(upper)] @ upper[np.isfinite(upper)]
        assert worth == pytest.approx(-expected.fun, abs=1e-6)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_numbers_that_are_none_are_no_optimum(wrong):
    one = np.ones(2)
    for objective, row in ((np.array([wrong, 1.0]), one), (one, np.array([1.0, wrong]))):
        found = maximize(objective, dense([row]), np.ones(1))
        assert not found.is_optimal and found.message == "a coefficient is no number"
    assert not maximize(one, dense([one]), np.array([np.nan])).is_optimal


def test_the_interior_point_method_takes_over_where_simplex_gives_up(monkeypatch):
    objective, rows, limits = np.array([3.0, 2.0]), dense([[1.0, 1.0], [1.0, 0.0]]), np.array([4.0, 2.0])
    monkeypatch.setitem(highs.OPTIONS, "simplex_iteration_limit", 0)
    found = maximize(objective, rows, limits)
    assert found.is_optimal
    np.testing.assert_allclose(found.x, [2, 2], atol=1e-6)
    np.testing.assert_allclose(found.price, [2, 1], atol=1e-6)
    monkeypatch.setitem(highs.OPTIONS, "ipm_iteration_limit", 0)
    assert not maximize(objective, rows, limits).is_optimal


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_basis_from_before_changes_no_optimum(seed):
    """Programs of one shape after each other, and some with more variables."""
    solver, random = highs.Solver(), np.random.default_rng(seed)
    objective, rows, limits, upper = a_program(seed)
    for _ in range(4):
        found, fresh = (s.maximize(objective, dense(rows), limits, upper) for s in (solver, highs.Solver()))
        assert found.is_optimal == fresh.is_optimal
        if fresh.is_optimal:
            assert objective @ found.x == pytest.approx(objective @ fresh.x, abs=1e-7)
        if random.random() < 0.5:
            rows = np.column_stack([rows, random.uniform(0, 1, len(rows))])
            objective, upper = np.append(objective, random.uniform(0, 1)), np.append(upper, np.inf)
        objective, limits = objective * random.uniform(0.5, 1.5, objective.size), limits * random.uniform(0.9, 1.1)


def test_only_a_proof_is_believed():
    """Refuse a solution that is not the best, one outside the limits, and prices that are too low."""
    objective, rows, limits, upper = np.array([2.0, 1.0]), dense([[1.0, 1.0]]), np.array([1.0]), np.array([np.inf, 0.5])
    best = maximize(objective, rows, limits, upper)
    assert highs.is_proven(best.x, best.price, *rows[1:], objective, limits, upper)
    for wrong in ({"x": np.array([0.5, 0.5])}, {"x": np.array([1.1, 0.0])}, {"price": np.array([1.9])}):
        other = best._replace(**wrong)
        assert not highs.is_proven(other.x, other.price, *rows[1:], objective, limits, upper)


def test_highs_knows_every_option():
    solver = highspy.Highs()
    for name, value in (highs.OPTIONS | {"simplex_strategy": highs.PRIMAL}).items():
        assert solver.setOptionValue(name, value) == highspy.HighsStatus.kOk, name


@pytest.mark.parametrize("types", [2, 3, 7])
def test_every_sum_is_that_of_a_plain_loop_to_the_last_bit(types):
    draw = np.random.default_rng(types)
    many, few, rows = draw.random((500, types)), draw.random(types), draw.random(500)

    def in_order(a, b):
        total = 0.0
        for x, y in zip(a.tolist(), b.tolist(), strict=True):
            total += x * y
        return total

    assert dot(many, few).tolist() == [in_order(row, few) for row in many]
    assert dot(rows, many).tolist() == [in_order(rows, column) for column in many.T]
    assert dot(np.zeros((0, types)), few).shape == (0,)
    assert float(dot(few, few)) == in_order(few, few)
