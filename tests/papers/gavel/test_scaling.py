"""The hierarchy that grows, and crowds to solve for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from papers.gavel.moment import answer, effective
from papers.gavel.scaling import crowd, hierarchy, seconds_to_solve, told_apart
from papers.gavel.throughputs.table import Throughputs

COMPACT = Throughputs.compact()


def test_hierarchy_keeps_the_entities_weights() -> None:
    frames = [hierarchy(COMPACT, name).assign(policy=name) for name in ("hierarchical", "hierarchical-het")]
    frame = pd.concat(frames)
    assert len(frame) == 2 * 18 * 19 // 2
    np.testing.assert_allclose(frame.groupby(["policy", "timestep"])["share"].sum(), 1)
    last = frame[frame["jobs"] == 18].pivot_table("throughput", "entity", "policy", aggfunc="sum")
    blind, aware = last["hierarchical"], last["hierarchical-het"]
    # X^equal is the same part of each of 9 GPUs: weights 1, 2, 3 of 6 are 1.5, 3 and 4.5 of them
    np.testing.assert_allclose(blind, [1.5, 3, 4.5], rtol=1e-6)
    np.testing.assert_allclose(aware / aware.sum(), [1 / 6, 1 / 3, 1 / 2], rtol=1e-3)
    assert aware.sum() > blind.sum()


def test_fifo_inside_leaves_the_last_jobs_nothing() -> None:
    last = hierarchy(COMPACT, "hierarchical-fifo-het").query("jobs == 18")
    assert 0 < (last["throughput"] > 1e-6).sum() < 18
    assert (last.groupby("entity")["throughput"].first() > 0.5).all()


def test_a_crowd_told_apart_has_the_same_optimum() -> None:
    for policy, pairs in (("las-het", False), ("las-het-ss", True)):
        problem = crowd(COMPACT, 24, pairs=pairs)
        assert problem.workers.tolist() == [6, 6, 6] and np.bincount(problem.entity).tolist() == [8, 8, 8]
        each = told_apart(problem)
        assert each.kind.tolist() == list(range(24)) and (len(each.pairs) > 0) == pairs
        ours, theirs = answer(policy, problem), answer(policy, each)
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-6)
        assert (effective(problem, ours) > 0).all()


def test_a_solve_takes_time() -> None:
    assert seconds_to_solve(COMPACT, "las-het", 8, by_job=False) > 0
    assert seconds_to_solve(COMPACT, "las-het-ss", 8, by_job=True) > 0
