"""Long-term GPU-time fairness on several accelerator types."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gavel_moments import later, moment, random_moment
from hypothesis import given, settings
from hypothesis import strategies as st

from astraea.core.errors import InputError
from papers.gavel.policies.ltgf import LTGF, LTGF_HET, fill

BOTH = pytest.mark.parametrize("policy", [LTGF, LTGF_HET], ids=lambda p: p.name)


def service(problem, allocation):
    """GPU-seconds per second of each job, at its mean speed over the cluster."""
    fits = problem.workers >= problem.scale_factor[:, None]
    mean = (problem.throughput * fits) @ problem.workers / problem.workers.sum()
    return (problem.throughput * allocation.alone).sum(axis=1) / mean * problem.scale_factor


def amounts(least, most):
    """GPU-seconds in steps of a millionth: differences near the smallest float are none."""
    return st.floats(least, most).map(lambda x: round(x, 6))


@given(
    st.lists(st.tuples(amounts(0, 50), amounts(0.1, 5), amounts(0, 8)), min_size=1, max_size=8),
    amounts(0, 30),
)
@settings(max_examples=100, deadline=None)
def test_fill_is_max_min(items, total):
    attained, due, most = np.array(items).T
    given_ = fill(attained, due, most, total)
    assert ((given_ >= 0) & (given_ <= most)).all()
    assert given_.sum() == pytest.approx(min(total, most.sum()), abs=1e-6)
    # nobody that could have more is behind somebody that was given something
    after = (attained + given_) / due
    for hungry in np.flatnonzero(given_ < most - 1e-6):
        for fed in np.flatnonzero(given_ > 1e-6):
            assert after[hungry] >= after[fed] - 1e-5


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_no_job_gets_less_than_the_two_phases_owe_it(seed):
    problem = random_moment(seed, jobs=20)
    allocate = LTGF_HET.make()
    targets = []
    phases = allocate.two_phases
    allocate.two_phases = lambda *a: targets.append(phases(*a)) or targets[-1]
    for _ in range(3):
        allocation = allocate(problem)
        assert (service(problem, allocation) >= targets[-1] - 1e-6).all()
        problem = later(problem, allocation, 500.0)
        if len(problem.job) == 0:
            break


def test_type_by_comparative_advantage():
    # jobs 0 and 1 gain tenfold from the fast GPU, jobs 2 and 3 hardly at all
    problem = moment([[10, 1], [10, 1], [1.1, 1], [1.1, 1]], [1, 1])
    allocation = LTGF_HET.make()(problem)
    assert allocation.alone[:2, 1].sum() == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(service(problem, allocation), 0.634, atol=1e-3)  # 0.5 where types are ignored


def test_one_entity_just_arrived_is_max_min_fairness():
    # the example of [Narayanan2020] §4.1, in units of the equal split
    problem = moment([[4, 1], [3, 1], [2, 1]], [1, 1])
    allocation = LTGF_HET.make()(problem)
    np.testing.assert_allclose(service(problem, allocation), 2 / 3 * 1.09, rtol=0.01)


def test_agnostic_jobs_have_the_same_mix():
    problem = moment([[10, 1, 1], [1.1, 1, 1], [5, 2, 1], [4, 3, 2]], [1, 1, 0])
    np.testing.assert_allclose(LTGF.make()(problem).alone, np.tile([1 / 4, 1 / 4, 0], (4, 1)))


@BOTH
def test_who_was_kept_waiting_is_served_first(policy):
    """A job that came later than another of equal share is not behind; one that was starved is."""
    allocate = policy.make()
    problem = moment(np.full((2, 1), 1.0), [1], steps=[1e9, 1e9], elapsed=[0, 0])
    allocate(problem)
    # job 0 ran all of the first hour, whatever was granted
    hour = replace(problem, steps=np.array([1e9 - 3600, 1e9]), elapsed=np.array([3600.0, 3600.0]))
    np.testing.assert_allclose(allocate(hour).alone[:, 0], [0, 1], atol=1e-6)


@BOTH
@pytest.mark.parametrize("weights", [[1, 1], [1, 3]])
def test_entities_have_gpu_time_by_weight_whatever_they_run(policy, weights):
    """Phase 1 is over entities: five jobs of one against one gang of the other."""
    problem = moment(
        [[4, 2, 1]] * 5 + [[2, 1, 0.5]],
        [2, 2, 2],
        [2, 2, 2, 2, 2, 2],
        np.full(6, 1e12),
        entity=[0, 0, 0, 0, 0, 1],
        entity_weight=np.array(weights, float),
    )
    allocation = policy.make()(problem)
    s = service(problem, allocation)
    # the gang of 2 can use 2 of its 3 or 4.5 GPUs
    assert s[:5].sum() == pytest.approx(4 if policy is LTGF else s[:5].sum())
    assert s[5] >= 2 - 1e-6
    np.testing.assert_allclose(s[:5], s[:5].mean(), rtol=1e-5)


@BOTH
def test_an_entity_that_was_away_is_owed_no_less(policy):
    """GPU-time of jobs that have ended still counts for their tenant (from the beginning, Algorithm 1 line 2)."""
    entities = np.array([1.0, 1.0])
    allocate = policy.make()
    first = moment([[1.0]], [1], steps=[3600], job=[0], entity=[0], entity_weight=entities)
    allocate(first)
    both = moment([[1.0], [1.0]], [1], steps=[1e9, 1e9], job=[1, 2], entity=[0, 1], entity_weight=entities)
    np.testing.assert_allclose(allocate(both).alone[:, 0], [0, 1], atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_long_term_fairness_over_many_leases(seed):
    """With enough work, attained GPU-time per weight evens out, though jobs differ in speed, gang and arrival."""
    random = np.random.default_rng(seed)
    n = 12
    problem = moment(
        random.uniform(1, 10, (n, 1)) * np.array([1, 0.6, 0.3]) ** random.uniform(0.5, 2, (n, 1)),
        [2, 2, 2],
        random.choice([1, 1, 2], n),
        np.full(n, 1e12),
        entity=np.arange(n) % 3,
        entity_weight=[1.0, 2.0, 1.0],
    )
    allocate = LTGF_HET.make()
    attained = np.zeros(3)
    for _ in range(20):
        allocation = allocate(problem)
        np.add.at(attained, problem.entity, service(problem, allocation) * 2000)
        problem = later(problem, allocation, 2000.0)
    np.testing.assert_allclose(attained / [1, 2, 1], attained.sum() / 4, rtol=0.05)


@BOTH
def test_a_job_that_runs_nowhere(policy):
    with pytest.raises(InputError, match=r"^ltgf: job 1 must be able to run on some accelerator type, its gang of 8 "):
        policy.make()(moment(np.ones((2, 2)), [4, 4], [1, 8]))
