"""Moments drawn by chance, and what Gavel's programs give the jobs there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gavel_moments import alike, assert_valid, of_all_pairs, random_moment, with_pairs
from gavel_naive import Dense
from hypothesis import settings
from hypothesis import strategies as st

from papers.gavel.policies import POLICIES

SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=8, deadline=None)


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


def close(value, expected):
    assert value == pytest.approx(expected, rel=1e-6)
