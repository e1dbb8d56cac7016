"""The synthetic traces: every published statistic they were made for, for several seeds; determinism; bad input."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from places import ROOT
from processes import run
from synthetic_traces import synthetic

from astraea.cluster.cluster import Cluster
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.traces.synthetic import Recipe, synthesize
from astraea.traces.synthetic.draw import HOURLY, look_before_submitting
from astraea.traces.trace import Trace
from papers.ye2022.characterize import PRODUCTION_NODES
from papers.ye2022.generator import PUBLISHED, accepted, described

SEEDS = range(3)
BOTH = pytest.mark.parametrize("name", ["venus", "philly"])
SEED = pytest.mark.parametrize("seed", SEEDS)
GPUS = {"venus": 800, "philly": 1680}
DAY = 86_400
GAVE_WAY = {
    "venus": {
        "1-GPU jobs waiting for more than half an hour [%]",
        "queueing delay, gangs above 8 GPUs over others",
    },
    "philly": {"running time, mean [s]", "8 GPUs over 1 GPU, mean running time"},
}
"""Statistics that one seed may miss."""


def quota(trace: Trace, gpus: float) -> Any:
    """Part of some GPUs that the tenant of each job contributed."""
    return (gpus * trace.tenant_weight / trace.tenant_weight.sum())[trace.tenant]


@cache
def measured(name: str, seed: int) -> dict[str, float]:
    """Statistics of a trace, and of its queues in production."""
    trace = synthetic(name, seed)
    result = simulate(trace, Cluster(PRODUCTION_NODES[name]), "yarn-cs")
    large = result.jobs.loc[result.jobs["demand"] > 8, "queueing_delay"].mean()
    return {**described(trace, result), "queueing delay of gangs above 8 GPUs, mean [s]": large}


@BOTH
@SEED
def test_published_statistics(name: str, seed: int) -> None:
    found, missed = measured(name, seed), set()
    for row in PUBLISHED[name].itertuples():
        low, high = accepted(row.published, row.within)
        if not low <= found[row.statistic] <= high:
            missed.add(row.statistic)
    assert missed <= GAVE_WAY[name]


@BOTH
def test_what_gave_way_is_as_said(name: str) -> None:
    """The means over the seeds that are evaluated."""
    rows = Recipe.load(name).compromises.set_index("statistic")
    assert list(rows.columns) == ["published", "here", "why"] and (rows != "").all(axis=None)
    means = pd.DataFrame([measured(name, seed) for seed in range(5 if name == "venus" else 3)]).mean()
    for statistic, here in rows["here"].items():
        assert float(here.split()[0].replace(",", "")) == pytest.approx(means[statistic], rel=0.1)


@BOTH
@SEED
def test_size_clock_and_history(name: str, seed: int) -> None:
    trace = synthetic(name, seed)
    past = trace.history
    assert past is not None and past.history is None
    assert past.tenants == trace.tenants and len(np.unique(trace.tenant)) == len(trace.tenants)
    for part, days in ((trace, 14), (past, 42)):
        assert part.submit_time[0] >= 0 and (days - 1) * DAY < part.span < days * DAY
        assert np.all(part.submit_time % 1 == 0) and np.all(part.duration % 1 == 0) and part.duration.min() >= 1
        assert np.all(part.demand <= np.floor(quota(part, GPUS[name])))
        if name == "venus":  # large gangs belong to large virtual clusters, also in production
            assert np.all(part.demand <= 0.6 * quota(part, 1064))
    assert trace.origin is not None and past.origin is not None
    assert trace.origin - past.origin == pd.Timedelta(days=42)
    assert trace.origin.day_of_week == 0
    assert not set(trace.job_id) & set(past.job_id)
    load = trace.gpu_time.sum() / (GPUS[name] * 14 * DAY)
    assert 0.97 <= load <= 1.1 if name == "venus" else load == pytest.approx(0.94, rel=0.01)


@BOTH
@SEED
def test_arrivals_have_a_daily_and_a_weekly_profile(name: str, seed: int) -> None:
    trace = synthetic(name, seed)
    assert trace.history is not None
    times = np.concatenate([trace.history.submit_time, trace.submit_time + 42 * DAY])
    counts = np.bincount((times // 3600).astype(int), minlength=56 * 24).reshape(8, 7, 24)
    if name == "philly":  # its evaluated weeks are busier than those before
        counts = counts / counts.mean(axis=(1, 2), keepdims=True)
    by_hour, by_day = counts.mean(axis=(0, 1)), counts.mean(axis=(0, 2))
    assert np.corrcoef(by_hour, HOURLY)[0, 1] > 0.9
    assert by_day[:5].mean() > 1.2 * by_day[5:].mean()


@BOTH
@SEED
def test_tenants_differ_and_users_repeat_themselves(name: str, seed: int) -> None:
    """Durations of a user's earlier jobs of this size partly predict the next one."""
    trace = synthetic(name, seed)
    jobs = np.bincount(trace.tenant)
    per_gpu = jobs / trace.tenant_weight
    assert per_gpu.max() > (10 if name == "venus" else 5) * per_gpu.min()
    busy = np.bincount(trace.tenant, trace.gpu_time) / trace.tenant_weight
    assert busy.max() > 2 * busy.min()
    assert trace.history is not None
    past = pd.Series(np.log(trace.history.duration)).groupby([trace.history.user, trace.history.demand]).median()
    told = past.reindex(pd.MultiIndex.from_arrays([trace.user, trace.demand])).to_numpy()
    known = ~np.isnan(told)
    assert known.mean() > 0.85
    assert 0.25 < np.corrcoef(told[known], np.log(trace.duration[known]))[0, 1] < 0.8


LARGE_FIRST = [16, 16, 1, 1, 1, 1, 1, 1]
EVERY_BIN = [600 * k for k in range(8)]


@pytest.mark.parametrize(
    ("submit", "tenant", "demand", "duration", "order"),
    [
        # the second gang goes when the first has ended, and small jobs of its tenant take the time that it had
        (EVERY_BIN, [0] * 8, LARGE_FIRST, [1900.0] * 2 + [60.0] * 6, [0, 2, 3, 4, 1, 5, 6, 7]),
        # another tenant's gang takes no room
        (EVERY_BIN, [0, 1, *[0] * 6], LARGE_FIRST, [1900.0] * 2 + [60.0] * 6, list(range(8))),
        # where there is never room, the shortest wait is chosen
        (EVERY_BIN[:3], [0, 0, 0], [16, 16, 1], [1700.0, 9000.0, 60.0], [2, 1, 0]),
    ],
)
def test_users_who_look_first(
    submit: list[int], tenant: list[int], demand: list[int], duration: list[float], order: list[int]
) -> None:
    """Jobs of two tenants with 16 GPUs each, in the order of their submission."""
    columns = np.array(submit), np.array(tenant), np.array(demand), np.array(duration)
    assert look_before_submitting(*columns, np.array([16.0, 16.0])).tolist() == order


def test_the_seed_decides_everything() -> None:
    for name in ("venus", "philly"):
        assert len({synthetic(name, seed).digest for seed in SEEDS}) == len(SEEDS)
    code = "from astraea.traces.synthetic import synthesize; print(synthesize('venus').digest)"
    other = run(sys.executable, "-c", code, env={"PYTHONHASHSEED": "4711", "PYTHONPATH": str(ROOT)})
    assert other.stdout.strip() == synthetic("venus", 0).digest  # and Python's seed of hashes nothing


def test_bad_names_and_seeds() -> None:
    for ask in (synthesize, Recipe.load):
        with pytest.raises(InputError, match="unknown name 'Venus'; expected one of philly, venus"):
            ask("Venus")
    for seed in (-1, 1.5, "1", True, None):
        with pytest.raises(InputError, match="whole number of at least 0, got"):
            synthesize("venus", seed)  # type: ignore[arg-type]
