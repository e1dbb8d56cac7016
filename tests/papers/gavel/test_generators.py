"""Generators of Gavel's workloads: their distributions, and draws that do not disturb each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from astraea.core.errors import InputError
from astraea.traces.trace import Trace
from papers.gavel.generators import continuous, cost, from_trace, hierarchical, static
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload

COMPACT = Throughputs.compact()
COLUMNS = ("job_id", "job_type", "scale_factor", "total_steps", "arrival_time", "weight", "slo", "entity")


def differ(a: Workload, b: Workload) -> list[str]:
    """Columns in which two workloads differ."""
    return [c for c in COLUMNS if not np.array_equal(np.asarray(getattr(a, c)), np.asarray(getattr(b, c)))]


def hours(w: Workload) -> Any:
    """Time of each job alone on V100s [h]."""
    speed = [COMPACT.alone(kind, int(size))[0] for kind, size in zip(w.job_type, w.scale_factor, strict=True)]
    return w.total_steps / np.array(speed) / 3600


@pytest.fixture(scope="module")
def large() -> Workload:
    return continuous(20_000, 4.0, COMPACT, multiple=True, seed=7, priorities=True)


def test_distributions(large: Workload) -> None:
    n = len(large)
    shares = [(large.scale_factor == size).sum() / n for size in (1, 2, 4, 8)]
    assert shares == pytest.approx([0.70, 0.10, 0.15, 0.05], abs=0.012)
    minutes = hours(large) * 60
    assert 10**1.5 <= minutes.min() < 35
    assert 9_800 < minutes.max() <= 10**4 * (1 + 1e-9)
    assert (minutes <= 1000).mean() == pytest.approx(0.8, abs=0.01)
    assert np.log10(minutes[minutes <= 1000]).mean() == pytest.approx(2.25, abs=0.015)
    assert np.log10(minutes[minutes > 1000]).mean() == pytest.approx(3.5, abs=0.02)
    assert (large.weight == 5).mean() == pytest.approx(0.2, abs=0.01)
    assert set(large.weight) == {1.0, 5.0}
    gaps = np.diff(large.arrival_time)
    assert large.arrival_time[0] == 0
    assert gaps.mean() == pytest.approx(900, rel=0.03)
    assert gaps.std() == pytest.approx(900, rel=0.05)


def test_job_types_are_equally_likely_among_those_of_the_gang(large: Workload) -> None:
    kinds = np.array(large.job_type)
    single = pd.Series(kinds[large.scale_factor == 1]).value_counts(normalize=True)
    assert len(single) == 26
    assert single.to_numpy() == pytest.approx(np.full(26, 1 / 26), abs=0.007)
    gangs = pd.Series(kinds[large.scale_factor > 1]).value_counts(normalize=True)
    assert len(gangs) == 19
    assert gangs.to_numpy() == pytest.approx(np.full(19, 1 / 19), abs=0.012)


def test_draws_do_not_disturb_each_other() -> None:
    base = continuous(300, 4.0, COMPACT, multiple=True, seed=3)
    assert differ(base, continuous(300, 4.0, COMPACT, multiple=True, seed=3)) == []
    faster = continuous(300, 8.0, COMPACT, multiple=True, seed=3)
    assert differ(base, faster) == ["arrival_time"]
    np.testing.assert_allclose(faster.arrival_time * 2, base.arrival_time)
    assert differ(base, continuous(300, 4.0, COMPACT, multiple=True, seed=3, priorities=True)) == ["weight"]
    assert differ(base, static(300, COMPACT, multiple=True, seed=3)) == ["arrival_time"]
    single = continuous(300, 4.0, COMPACT, multiple=False, seed=3)
    assert differ(base, single) == ["job_type", "scale_factor", "total_steps"]
    np.testing.assert_allclose(hours(single), hours(base))
    assert differ(base, continuous(500, 4.0, COMPACT, multiple=True, seed=3).first(300)) == []
    other = differ(base, continuous(300, 4.0, COMPACT, multiple=True, seed=4))
    assert other == ["job_type", "scale_factor", "total_steps", "arrival_time"]


def test_plain_workloads() -> None:
    w = continuous(50, 2.0, COMPACT, multiple=False, seed=0)
    assert w.name == "continuous-single"
    assert set(w.scale_factor) == {1}
    assert set(w.weight) == {1.0}
    assert np.isinf(w.slo).all()
    assert not w.entity.any()
    assert static(50, COMPACT, multiple=True, seed=0).name == "static-multiple"
    assert not static(50, COMPACT, multiple=True, seed=0).arrival_time.any()


def test_cost() -> None:
    w = cost(0.5, COMPACT, seed=1)
    assert len(w) == 500
    assert set(w.job_type) == {"ResNet-50 (batch size 64)", "A3C"}
    assert set(np.round(hours(w) / 24, 9)) == {0.5, 1, 2, 4, 8}
    many = cost(0.5, COMPACT, seed=1, jobs=20_000)
    factors, counts = np.unique(np.round(many.slo / 3600 / hours(many), 9), return_counts=True)
    assert factors.tolist() == [1.2, 2, 10]
    assert counts / len(many) == pytest.approx(np.full(3, 1 / 3), abs=0.012)
    assert differ(w, cost(1.0, COMPACT, seed=1)) == ["arrival_time"]


def test_hierarchical() -> None:
    w = hierarchical(COMPACT, seed=2)
    assert len(w) == 18
    assert w.arrival_time[:3].tolist() == [0, 1440, 2880]
    assert w.entity.tolist() == [0] * 6 + [1] * 6 + [2] * 6
    assert w.entity_weight.tolist() == [1, 2, 3]
    assert set(w.scale_factor) == {1}
    assert w.job_type != hierarchical(COMPACT, seed=3).job_type
    assert w.arrival_time[1] == 1440


def test_from_trace() -> None:
    jobs = pd.DataFrame(
        {
            "job_id": ["a", "b", "c", "d"],
            "tenant": ["y", "x", "x", "y"],
            "demand": [1, 3, 4, 8],
            "submit_time": [0.0, 1.0, 2.0, 3.0],
            "duration": [100.0, 100.0, 200.0, 300.0],
            "weight": [1.0, 1.0, 2.0, 1.0],
            "deadline": [np.nan, np.nan, 502.0, np.nan],
        }
    )
    trace = Trace.from_frame(jobs, name="t", weights={"x": 3.0, "y": 1.0})
    w = from_trace(trace, COMPACT, seed=5)
    assert w.job_id == ("a", "c", "d")
    assert w.excluded_jobs.to_dict("list") == {
        "job_id": ["b"],
        "reason": ["no job type was measured on that many GPUs"],
    }
    assert hours(w) * 3600 == pytest.approx([100, 200, 300])
    assert w.slo.tolist() == [np.inf, 500, np.inf]
    assert w.weight.tolist() == [1, 2, 1]
    assert w.entity.tolist() == [1, 0, 1]
    assert w.entity_weight.tolist() == [3, 1]
    none = Trace.from_frame(jobs.iloc[[1]], name="t")
    with pytest.raises(InputError, match="t: no job asks for a number of GPUs that the throughputs were measured on"):
        from_trace(none, COMPACT, seed=5)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: static(0, COMPACT, multiple=False, seed=0),
            "the number of jobs must be a whole number of at least 1, got 0",
        ),
        (lambda: cost(float("nan"), COMPACT, seed=0), "rate_per_hour must be a number above 0, got nan"),
        (lambda: cost(1.0, COMPACT, seed=-1), "the seed must be a whole number of at least 0, got -1"),
    ],
)
def test_bad_parameters(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == says
