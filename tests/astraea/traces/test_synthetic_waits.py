"""Waiting in the synthetic traces: users who look first, queues under static quotas as in production, what gave way."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np
import pytest
from synthetic_traces import synthetic

from astraea.core.errors import InputError
from astraea.traces.synthetic import compromises
from astraea.traces.synthetic.arrivals import look_before_submitting
from astraea.traces.trace import Trace

SEED = pytest.mark.parametrize("seed", range(3))
EVERY_SEED = pytest.mark.parametrize("seed", range(5))
PRODUCTION = 1064
"""GPUs of Venus."""
DAY = 86_400


def fifo(trace: Trace, gpus: int) -> Any:
    """Start times where each tenant has its own GPUs and jobs start in order, whatever waits behind them."""
    start = np.zeros(len(trace))
    for tenant, size in enumerate(np.floor(gpus * trace.tenant_weight / trace.tenant_weight.sum())):
        free, now = size, 0.0
        running: list[tuple[float, int]] = []
        for i in np.flatnonzero(trace.tenant == tenant):
            now = max(now, trace.submit_time[i])
            while running and (running[0][0] <= now or free < trace.demand[i]):
                end, released = heappop(running)
                now, free = max(now, end), free + released
            start[i], free = now, free - trace.demand[i]
            heappush(running, (now + trace.duration[i], int(trace.demand[i])))
    return start


def utilization(trace: Trace, start: Any, gpus: int) -> Any:
    """Busy part of each tenant's GPUs on each day, shape (14, tenants)."""
    day = np.arange(14)[:, None] * DAY
    busy = np.clip(np.minimum(start + trace.duration, day + DAY) - np.maximum(start, day), 0, None) * trace.demand
    size = gpus * trace.tenant_weight / trace.tenant_weight.sum()
    return np.stack([np.bincount(trace.tenant, row) for row in busy]) / DAY / size


@SEED
def test_venus_virtual_clusters_are_unbalanced_over_time(seed: int) -> None:
    """Fig. 4: on one day A is below 50 % and B above 90 %, on a later day it is the other way round."""
    trace = synthetic("venus", seed)
    busy = utilization(trace, fifo(trace, PRODUCTION), PRODUCTION)
    days = np.arange(14)[:, None, None]
    swap = (busy[:, :, None] < 0.5) & (busy[:, None, :] > 0.9)  # day, A, B
    first = np.where(swap, days, 99).min(axis=0)
    last = np.where(swap, days, -1).max(axis=0)
    assert np.any(first < last.T)


@SEED
def test_venus_waits_like_figure_5_under_fifo(seed: int) -> None:
    trace = synthetic("venus", seed)
    wait = fifo(trace, PRODUCTION) - trace.submit_time
    assert 100 * np.mean(wait[trace.demand == 1] > 1800) == pytest.approx(4.4, abs=3)
    large = trace.demand >= 4
    assert np.mean(wait[large] > 1800) > np.mean(wait[~large] > 1800)
    assert wait[large].mean() > wait[~large].mean()
    assert np.mean((wait + trace.duration) / trace.duration > 5) > 0.01


@EVERY_SEED
def test_venus_queues_like_its_production_cluster(seed: int) -> None:
    trace = synthetic("venus", seed)
    start = fifo(trace, PRODUCTION)
    assert 1253 / 2 < np.mean(start - trace.submit_time) < 1253 * 2
    busy = np.clip(np.minimum(start + trace.duration, 14 * DAY) - start, 0, None) @ trace.demand / (14 * DAY)
    assert busy == pytest.approx(781, rel=0.05)


@SEED
def test_large_gangs_belong_to_large_virtual_clusters(seed: int) -> None:
    trace = synthetic("venus", seed)
    share = trace.tenant_weight / trace.tenant_weight.sum()
    assert np.all(trace.demand <= 0.6 * PRODUCTION * share[trace.tenant])
    assert trace.history is not None
    assert np.all(trace.history.demand <= 0.6 * PRODUCTION * share[trace.history.tenant])


def looked(submit: list[int], tenant: list[int], demand: list[int], duration: list[float]) -> list[int]:
    """The order of jobs of two tenants with 16 GPUs each."""
    columns = np.array(submit), np.array(tenant), np.array(demand), np.array(duration)
    return [int(i) for i in look_before_submitting(*columns, np.array([16.0, 16.0]))]


def test_large_gangs_are_submitted_one_after_the_other() -> None:
    """The second gang goes when the first has ended, and small jobs of its tenant take the time that it had."""
    submit = [0, 600, 1200, 1800, 2400, 3000, 3600, 4200]
    order = looked(submit, [0] * 8, [16, 16, 1, 1, 1, 1, 1, 1], [1900.0, 1900.0, *[60.0] * 6])
    assert order == [0, 2, 3, 4, 1, 5, 6, 7]
    # another tenant's gang takes no room
    assert looked(submit, [0, 1, *[0] * 6], [16, 16, 1, 1, 1, 1, 1, 1], [1900.0] * 2 + [60.0] * 6) == list(range(8))


def test_where_there_is_never_room_the_shortest_wait_is_chosen() -> None:
    assert looked([0, 600, 1200], [0, 0, 0], [16, 16, 1], [1700.0, 9000.0, 60.0]) == [2, 1, 0]


@pytest.mark.parametrize("name", ["venus", "philly"])
def test_what_gave_way_is_as_said(name: str) -> None:
    rows = compromises(name).set_index("statistic")
    assert list(rows.columns) == ["published", "here", "why"] and (rows != "").all(axis=None)
    traces = [synthetic(name, seed) for seed in range(5 if name == "venus" else 3)]
    if name == "venus":
        waits = [fifo(t, PRODUCTION) - t.submit_time for t in traces]
        found = {
            "queueing delay, mean [s]": np.mean(waits),
            "1-GPU jobs waiting for more than half an hour [%]": 100
            * np.mean([np.mean(w[t.demand == 1] > 1800) for t, w in zip(traces, waits, strict=True)]),
            "queueing delay of gangs above 8 GPUs, mean [s]": np.mean(
                [w[t.demand > 8].mean() for t, w in zip(traces, waits, strict=True)]
            ),
        }
    else:
        found = {
            "GPU-time per job, mean [GPU-h]": np.mean([t.gpu_time.mean() / 3600 for t in traces]),
            "jobs running less than 6 days [%]": np.mean([100 * np.mean(t.duration < 6 * DAY) for t in traces]),
            "running time, mean [s]": np.mean([t.duration.mean() for t in traces]),
            "8 GPUs over 1 GPU, mean running time": np.mean(
                [t.duration[t.demand == 8].mean() / t.duration[t.demand == 1].mean() for t in traces]
            ),
        }
    for statistic, value in found.items():  # waits without rounds, so not to the last digit
        assert float(rows["here"][statistic].replace(",", "")) == pytest.approx(value, rel=0.1)


@pytest.mark.parametrize("name", ["mars", ""])
def test_compromises_of_an_unknown_name(name: str) -> None:
    with pytest.raises(InputError, match="unknown name"):
        compromises(name)
