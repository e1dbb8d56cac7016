"""Policies that remember: Gandiva and AlloX ([Narayanan2020] §7.3), LTGF on several types."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations, product

import numpy as np
import pytest
from gavel_moments import SEEDS, later, moment, offered, random_moment
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.gavel.policies import get_policy
from papers.gavel.policies.baselines import ALLOX, GANDIVA, starting
from papers.gavel.policies.ltgf import LTGF, LTGF_HET, choose_types, fill

BOTH = pytest.mark.parametrize("policy", [LTGF, LTGF_HET], ids=lambda p: p.name)


def pairs_of(problem, allocation, pairs=None):
    """Jobs of the pairs that have time."""
    pairs = allocation.pairs if pairs is None else pairs
    return {tuple(problem.job[p].tolist()) for p, x in zip(pairs, allocation.paired, strict=True) if x.any()}


def all_pairs(problem, kept):
    """Offer all pairs of one-GPU jobs, each job keeping this part of its speed on each type."""
    pairs = np.array(list(combinations(range(len(problem.job)), 2)))
    return offered(problem, pairs, problem.throughput[pairs] * np.asarray(kept, float))


def test_gandiva_keeps_pairs_that_gain_and_drops_those_that_lose():
    fits = all_pairs(moment(np.ones((3, 2)), [1, 2]), [0.8, 0.8])
    assert not GANDIVA.make()(fits).paired.any()
    allocate = GANDIVA.make()
    problem = all_pairs(moment(np.full((8, 2), 5.0), [2, 2]), [0.8, 0.8])
    formed = pairs_of(problem, allocate(problem))
    assert 1 <= len(formed) <= 4
    assert formed <= pairs_of(problem, allocate(problem))
    lost = all_pairs(problem, [0.4, 0.4])
    state = GANDIVA.make()
    first = pairs_of(lost, state(lost))
    assert first
    assert pairs_of(lost, state(lost)) != first  # 0.8 in all is less than taking turns


def test_gandiva_shares_equally_and_takes_turns_where_a_pair_cannot_share():
    # 0.9 + 0.9 on the first type and turns on the second: 1.4 on average, worth keeping
    problem = all_pairs(moment(np.ones((4, 2)), [1, 1]), [0.9, 0.0])
    allocate = GANDIVA.make()
    formed = pairs_of(problem, allocate(problem))
    allocation = allocate(problem)
    now = pairs_of(problem, allocation)
    assert formed and formed <= now
    part = 1 / (4 - len(now))  # of each type, for each pair and each other job
    used = np.append(allocation.alone[:, 0], allocation.paired[:, 0])
    np.testing.assert_allclose(used[used > 0], part)
    assert not allocation.paired[:, 1].any()
    for pair in now:
        np.testing.assert_allclose(allocation.alone[pair, 1], part / 2)


def test_gandiva_tries_no_more_partners_than_gpus_are_missing():
    problem = all_pairs(moment(np.ones((10, 1)), [8]), [0.9])
    allocate = GANDIVA.make()
    formed = pairs_of(problem, allocate(problem))
    assert len(formed) == 2
    assert pairs_of(problem, allocate(problem)) == formed  # worth keeping, and all fit now


def test_the_released_fifo_gives_the_last_type_by_name_to_more_jobs_than_it_has_gpus():
    problem = moment(np.ones((6, 3)), [1, 2, 3], types=("v100", "p100", "k80"))
    np.testing.assert_array_equal(get_policy("fifo-released").make()(problem).alone, [[1, 0, 0]] * 6)


def test_the_released_fifo_hands_a_type_to_the_first_in_the_queue():
    allocate = get_policy("fifo-released").make()
    problem = moment(np.ones((4, 1)), [2], np.array([1, 1, 2, 1]))
    for left, runs in (([0, 1, 2], [1, 1, 0]), ([0, 2, 3], [1, 0, 0]), ([2, 3], [1, 0]), ([3], [1])):
        assert allocate(problem.some(np.array(left))).alone[:, 0].tolist() == runs
    slow = moment([[0, 1], [1, 1], [1, 1]], [1, 1], types=("v100", "k80"))  # the first cannot run there
    assert get_policy("fifo-released").make()(slow).alone[:2].tolist() == [[0, 0], [1, 0]]


def test_the_released_aware_fifo_takes_the_fastest_free_type_until_a_gang_fits_nowhere():
    allocate = get_policy("fifo-het-released").make()
    problem = moment([[2, 1], [3, 1], [0, 0], [2, 2], [1, 1]], [1, 3], np.array([1, 1, 1, 4, 1]))
    np.testing.assert_array_equal(allocate(problem).alone, [[1, 0], [0, 1], [0, 0], [0, 0], [0, 0]])
    ties = moment([[1, 1]], [1, 1], types=("v100", "k80"))
    np.testing.assert_array_equal(allocate(ties).alone, [[0, 1]])


@pytest.mark.parametrize(("kept", "stays"), [([0.5, 0.5], True), ([0.24, 0.24], False), ([0.9, 0.0], False)])
def test_released_packing_keeps_pairs_whose_throughputs_reach_1_in_all(kept, stays):
    problem = all_pairs(moment(np.ones((6, 2)), [1, 1]), kept)
    allocate = get_policy("gandiva-released").make()
    first = pairs_of(problem, given := allocate(problem), given.pairs)
    assert len(first) == 3
    again = allocate(problem)
    assert (pairs_of(problem, again, again.pairs) == first) == stays
    np.testing.assert_allclose(again.paired[again.paired > 0], 1 / 3)
    two = problem.some(np.array([0, 1]))  # for whom there is room
    np.testing.assert_allclose(get_policy("gandiva-released").make()(two).alone, 1 / 2)


def best_starts(time, free):
    """Return the starts in every assignment to GPUs, and order on each, with the least sum of completion times."""
    gpus = [j for j, k in enumerate(free) for _ in range(k)]
    best, starts = np.inf, set()
    for where in product(range(len(gpus)), repeat=len(time)):
        total, start = 0.0, [-1] * len(time)
        for g, j in enumerate(gpus):
            mine = [m for m in range(len(time)) if where[m] == g]
            orders = [(sum(np.cumsum(time[list(o), j])), o) for o in permutations(mine)]
            cost, order = min(orders)
            total += cost
            for m in order[:1]:
                start[m] = j
        if total < best - 1e-9:
            best, starts = total, set()
        if total < best + 1e-9:
            starts.add(tuple(start))
    return starts


@pytest.mark.parametrize("seed", range(12))
def test_allox_has_the_least_sum_of_completion_times(seed):
    random = np.random.default_rng(seed)
    free = np.array([[1, 1], [2, 1], [1, 0], [1, 2]][seed % 4])
    time = random.uniform(1, 10, (5, 1)) * random.uniform(1, 5, (5, 2))
    if seed % 3 == 0:
        time[0, 1] = np.inf
    assert tuple(starting(time, free).tolist()) in best_starts(time, free)


def test_allox_keeps_running_jobs_and_starts_others_when_one_ends():
    allocate = ALLOX.make()
    problem = moment([[10, 1]] * 3, [1, 0], steps=[200, 100, 300])
    np.testing.assert_array_equal(allocate(problem).alone[:, 0], [0, 1, 0])
    # a shorter job comes: the running one stays
    more = moment([[10, 1]] * 4, [1, 0], steps=[200, 50, 300, 1])
    np.testing.assert_array_equal(allocate(more).alone[:, 0], [0, 1, 0, 0])
    left = moment([[10, 1]] * 3, [1, 0], steps=[200, 300, 1], job=[0, 2, 3])
    np.testing.assert_array_equal(allocate(left).alone[:, 0], [0, 0, 1])


def service(problem, allocation):
    """GPU-seconds per second of each job, at its mean speed over the cluster."""
    fits = problem.workers >= problem.scale_factor[:, None]
    mean = (problem.throughput * fits) @ problem.workers / problem.workers.sum()
    return (problem.throughput * allocation.alone).sum(axis=1) / mean * problem.scale_factor


def amounts(least, most):
    """GPU-seconds in steps of a millionth: differences near the smallest float are none."""
    return st.floats(least, most).map(lambda x: round(x, 6))


@given(st.lists(st.tuples(amounts(0, 50), amounts(0.1, 5), amounts(0, 8)), min_size=1, max_size=8), amounts(0, 30))
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


@given(SEEDS)
@settings(max_examples=15, deadline=None)
def test_no_job_gets_less_than_it_is_owed(seed):
    """Any amounts that the two phases may owe, each up to the job's gang, together up to the cluster."""
    problem = random_moment(seed, jobs=20)
    owed = problem.scale_factor * np.random.default_rng(seed).random(20)
    owed *= min(1, problem.workers.sum() / owed.sum())
    fits = problem.workers >= problem.scale_factor[:, None]
    alone = choose_types(problem, problem.throughput * fits, owed)
    assert (service(problem, problem.unshared(alone)) >= owed - 1e-6).all()


def test_type_by_comparative_advantage():
    # jobs 0 and 1 gain tenfold from the fast GPU, jobs 2 and 3 hardly at all
    problem = moment([[10, 1], [10, 1], [1.1, 1], [1.1, 1]], [1, 1])
    allocation = LTGF_HET.make()(problem)
    assert allocation.alone[:2, 1].sum() == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(service(problem, allocation), 0.634, atol=1e-3)  # 0.5 where types are ignored


@BOTH
def test_who_was_kept_waiting_is_served_first(policy):
    """A job that came later than another of equal share is not behind; one that was starved is."""
    allocate = policy.make()
    problem = moment([[1.0], [1.0]], [1], steps=1e9)
    allocate(problem)
    # job 0 ran all of the first hour, whatever was granted
    hour = replace(problem, steps=np.array([1e9 - 3600, 1e9]), elapsed=np.array([3600.0, 3600.0]))
    np.testing.assert_allclose(allocate(hour).alone[:, 0], [0, 1], atol=1e-6)


@BOTH
def test_an_entity_that_was_away_is_owed_no_less(policy):
    """GPU-time of jobs that have ended still counts for their tenant (from the beginning, Algorithm 1 line 2)."""
    entities = np.array([1.0, 1.0])
    allocate = policy.make()
    first = moment([[1.0]], [1], steps=3600, entity_weight=entities)
    allocate(first)
    both = moment([[1.0], [1.0]], [1], steps=1e9, job=[1, 2], entity=[0, 1], entity_weight=entities)
    np.testing.assert_allclose(allocate(both).alone[:, 0], [0, 1], atol=1e-6)


def test_long_term_fairness_over_many_leases():
    """With enough work, attained GPU-time per weight evens out, though jobs differ in speed, gang and arrival."""
    random = np.random.default_rng(0)
    n = 12
    speed = random.uniform(1, 10, (n, 1)) * np.array([1, 0.6, 0.3]) ** random.uniform(0.5, 2, (n, 1))
    gangs = random.choice([1, 1, 2], n)
    problem = moment(speed, [2, 2, 2], gangs, 1e12, entity=np.arange(n) % 3, entity_weight=[1.0, 2.0, 1.0])
    allocate = LTGF_HET.make()
    attained = np.zeros(3)
    for _ in range(20):
        allocation = allocate(problem)
        np.add.at(attained, problem.entity, service(problem, allocation) * 2000)
        problem = later(problem, allocation, 2000.0)
    np.testing.assert_allclose(attained / [1, 2, 1], attained.sum() / 4, rtol=0.05)
