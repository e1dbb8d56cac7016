"""Isolated, Gandiva and AlloX, the baselines of [Narayanan2020] §7.3, and all policies that remember."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from gavel_moments import assert_valid, later, moment, offered, random_moment, with_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from astraea.core.errors import InputError
from papers.gavel.policies.allox import ALLOX, starting
from papers.gavel.policies.gandiva import GANDIVA, Packing
from papers.gavel.policies.isolated import ISOLATED
from papers.gavel.policies.ltgf import LTGF, LTGF_HET


def pairs_of(problem, allocation):
    """Jobs of the pairs that have time."""
    return {tuple(problem.job[p].tolist()) for p, x in zip(problem.pairs, allocation.paired, strict=True) if x.any()}


@pytest.mark.parametrize(
    ("workers", "gangs", "expected"),
    [
        ([1, 2], [1, 1, 1, 1], [[1 / 4, 2 / 4]] * 4),
        # each of the two owns 3 + 3 GPUs: a gang of 2 needs no more than two of them, in the mix of the cluster
        ([6, 6], [2, 8], [[1 / 2, 1 / 2], [3 / 8, 3 / 8]]),
    ],
)
def test_isolated_is_one_nth_of_each_type(workers, gangs, expected):
    problem = moment(np.ones((len(gangs), 2)), workers, gangs)
    np.testing.assert_allclose(ISOLATED.make()(problem).alone, expected)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_answers_are_valid_as_jobs_go_and_simulations_do_not_know_each_other(seed):
    for policy in (ISOLATED, GANDIVA, ALLOX, LTGF, LTGF_HET):
        problem = random_moment(seed, jobs=20, gangs=policy is not ALLOX)
        if policy.space_sharing:
            problem = with_pairs(problem, np.random.default_rng(seed))
        allocate, answers = policy.make(), []
        for _ in range(4):
            allocation = allocate(problem)
            assert_valid(problem, allocation)
            assert policy in (ISOLATED, GANDIVA) or not allocation.alone[problem.throughput == 0].any()
            answers.append((problem, allocation))
            problem = later(problem, allocation, 300.0)
            if len(problem.job) == 0:
                break
        again = policy.make()
        for asked, answer in answers:
            same = again(asked)
            np.testing.assert_array_equal(answer.alone, same.alone)
            np.testing.assert_array_equal(answer.paired, same.paired)


def test_gandiva_does_not_pack_jobs_that_fit():
    problem = with_pairs(moment(np.ones((3, 2)), [1, 2]), np.random.default_rng(0))
    allocation = GANDIVA.make()(problem)
    assert not allocation.paired.any()
    np.testing.assert_allclose(allocation.alone, np.tile([1 / 3, 2 / 3], (3, 1)))


def all_pairs(problem, kept):
    """Offer all pairs of one-GPU jobs, each job keeping this part of its speed on each type."""
    n = len(problem.job)
    pairs = np.array([(a, b) for a in range(n) for b in range(a + 1, n)], np.int64)
    return offered(problem, pairs, problem.throughput[pairs] * np.asarray(kept, float))


def test_gandiva_keeps_pairs_that_gain_and_drops_those_that_lose():
    allocate = GANDIVA.make()
    problem = all_pairs(moment(np.full((8, 2), 5.0), [2, 2]), [0.8, 0.8])
    formed = pairs_of(problem, allocate(problem))
    assert 1 <= len(formed) <= 4
    assert formed <= pairs_of(problem, allocate(problem))
    lost = all_pairs(problem, [0.4, 0.4])
    state = Packing()
    first = pairs_of(lost, state(lost))
    assert first
    assert pairs_of(lost, state(lost)) != first  # 0.8 in all is less than taking turns


def test_gandiva_shares_equally_among_pairs_and_jobs():
    problem = all_pairs(moment(np.ones((5, 1)), [2]), [0.8])
    allocation = GANDIVA.make()(problem)
    time = allocation.alone.sum(axis=1)
    np.add.at(time, problem.pairs, allocation.paired.sum(axis=1)[:, None])
    used = np.concatenate([allocation.alone[allocation.alone > 0], allocation.paired[allocation.paired > 0]])
    np.testing.assert_allclose(used, 2 / len(used))
    np.testing.assert_allclose(time, 2 / len(used))


def test_gandiva_takes_turns_where_a_pair_cannot_share():
    # 0.9 + 0.9 on the first type and turns on the second: 1.4 on average, worth keeping
    problem = all_pairs(moment(np.ones((4, 2)), [1, 1]), [0.9, 0.0])
    allocate = GANDIVA.make()
    formed = pairs_of(problem, allocate(problem))
    allocation = allocate(problem)
    assert formed <= pairs_of(problem, allocation)
    assert not allocation.paired[:, 1].any()
    for a, b in formed:
        np.testing.assert_allclose(allocation.alone[[a, b], 1], allocation.alone[a, 1])
        assert allocation.alone[a, 1] > 0
    assert_valid(problem, allocation)


def test_gandiva_does_not_try_gangs_that_cannot_share():
    problem = moment(np.ones((4, 1)), [4], [2, 2, 2, 2])
    np.testing.assert_allclose(GANDIVA.make()(problem).alone, 1 / 2)


def test_gandiva_tries_no_more_partners_than_gpus_are_missing():
    problem = all_pairs(moment(np.ones((10, 1)), [8]), [0.9])
    allocate = GANDIVA.make()
    formed = pairs_of(problem, allocate(problem))
    assert len(formed) == 2
    assert pairs_of(problem, allocate(problem)) == formed  # worth keeping, and all fit now


def test_gandiva_pairs_by_job_not_by_row():
    problem = all_pairs(moment(np.ones((6, 1)), [2]), [0.9])
    allocate = GANDIVA.make()
    formed = pairs_of(problem, allocate(problem))
    after = problem.some(np.arange(1, 6))
    assert {p for p in formed if 0 not in p} <= pairs_of(after, allocate(after))


def least_sum(time, free):
    """Sum of completion times by trying every assignment to GPUs and every order on each."""
    gpus = [j for j, k in enumerate(free) for _ in range(k)]
    best, starts = np.inf, set()
    for where in product(range(len(gpus)), repeat=len(time)):
        total, first = 0.0, {}
        for g, j in enumerate(gpus):
            mine = [m for m in range(len(time)) if where[m] == g]
            orders = [(sum(np.cumsum(time[list(o), j])), o) for o in permutations(mine)] or [(0.0, ())]
            cost, order = min(orders)
            total += cost
            first |= {m: j for m in order[:1]}
        if total < best - 1e-9:
            best, starts = total, set()
        if total < best + 1e-9:
            starts.add(tuple(first.get(m, -1) for m in range(len(time))))
    return best, starts


@pytest.mark.parametrize("seed", range(12))
def test_allox_has_the_least_sum_of_completion_times(seed):
    random = np.random.default_rng(seed)
    free = np.array([[1, 1], [2, 1], [1, 0], [1, 2]][seed % 4])
    time = random.uniform(1, 10, (5, 1)) * random.uniform(1, 5, (5, 2))
    if seed % 3 == 0:
        time[0, 1] = np.inf
    _, starts = least_sum(time, free)
    assert tuple(starting(time, free).tolist()) in starts


def test_allox_makes_a_job_wait_for_the_fast_type():
    # 1 s and 1 s on the fast GPU beat 1 s there and 10 s on the slow one
    np.testing.assert_array_equal(starting(np.array([[1.0, 10.0], [1.5, 15.0]]), np.array([1, 1])), [0, -1])


def test_allox_keeps_running_jobs_and_starts_others_when_one_ends():
    allocate = ALLOX.make()
    problem = moment([[10, 1]] * 3, [1, 0], steps=[200, 100, 300])
    np.testing.assert_array_equal(allocate(problem).alone[:, 0], [0, 1, 0])
    # a shorter job comes: the running one stays
    more = moment([[10, 1]] * 4, [1, 0], steps=[200, 50, 300, 1])
    np.testing.assert_array_equal(allocate(more).alone[:, 0], [0, 1, 0, 0])
    left = moment([[10, 1]] * 3, [1, 0], steps=[200, 300, 1], job=[0, 2, 3])
    np.testing.assert_array_equal(allocate(left).alone[:, 0], [0, 0, 1])


def test_allox_without_free_gpus():
    np.testing.assert_array_equal(starting(np.array([[1.0, 2.0]]), np.array([0, 0])), [-1])
    np.testing.assert_array_equal(starting(np.array([[1.0, np.inf]]), np.array([0, 3])), [-1])


def test_allox_refuses_gangs():
    with pytest.raises(InputError, match=r"^allox: scale_factor of job 1 must be 1, as AlloX serves no gangs, got 2$"):
        ALLOX.make()(moment(np.ones((2, 2)), [2, 2], [1, 2]))
