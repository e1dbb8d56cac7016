"""The engine against queueing theory, and against what the ASTRAEA authors' simulator makes of real workloads."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats

from astraea.cluster.cluster import Cluster
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core import metrics
from astraea.traces.readers import read_trace
from astraea.traces.trace import Trace

SERVICE = 1000.0
"""Mean service time [s], 8000 times the scheduling interval, so that waiting for rounds is lost in the noise."""
JOBS, WARM = 12_000, 2_000


def waiting_times(load: float, servers: int, batches: int, *, exponential: bool) -> npt.NDArray[np.float64]:
    """Mean wait of FIFO in units of service, one value per independent run, without the warm-up."""
    means = []
    for seed in range(batches):
        rng = np.random.default_rng([seed, servers, exponential])
        jobs = pd.DataFrame(
            {
                "job_id": range(JOBS),
                "tenant": "t",
                "demand": 1,
                "submit_time": np.cumsum(rng.exponential(SERVICE / (load * servers), JOBS)),
                "duration": rng.exponential(SERVICE, JOBS) if exponential else SERVICE,
            }
        )
        result = simulate(Trace.from_frame(jobs), Cluster(1, servers), "fifo", settings=Settings(interval=0.125))
        means.append(result.jobs["queueing_delay"].to_numpy()[WARM:].mean() / SERVICE)
    return np.array(means)


def erlang_c(load: float, servers: int) -> float:
    """Probability that an arrival has to wait in M/M/c."""
    a = load * servers
    waiting = a**servers / math.factorial(servers) / (1 - load)
    return waiting / (sum(a**k / math.factorial(k) for k in range(servers)) + waiting)


@pytest.mark.slow
@pytest.mark.parametrize(
    "load, servers, batches, exponential, expected",
    [
        pytest.param(0.7, 1, 12, True, 0.7 / 0.3, id="M/M/1"),
        pytest.param(0.7, 1, 12, False, 0.7 / (2 * 0.3), id="M/D/1"),
        pytest.param(0.8, 8, 22, True, erlang_c(0.8, 8) / (8 * (1 - 0.8)), id="M/M/8"),
    ],
)
def test_fifo_waits_as_theory_says(
    load: float, servers: int, batches: int, exponential: bool, expected: float
) -> None:
    means = waiting_times(load, servers, batches, exponential=exponential)
    half_width = stats.t.ppf(0.995, batches - 1) * means.std(ddof=1) / math.sqrt(batches)
    assert half_width < 0.1 * expected, "too wide an interval to tell anything"
    assert abs(means.mean() - expected) < half_width


NODES = {"w2": 64, "chrSLO": 140}


@pytest.mark.parametrize("workload", NODES)
def test_yarn_cs_is_as_in_the_reference(shared: Path, workload: str) -> None:
    folder = shared / "reference"
    expected = pd.read_csv(folder / "summary.csv", index_col="run").loc[f"{workload}_n{NODES[workload]}_yarn"]
    trace = read_trace(folder / f"{workload}.input.csv.gz", format="tiresias-csv", time_unit="s")
    result = simulate(trace, Cluster(NODES[workload]), "yarn-cs")
    assert len(result.jobs) == expected["jobs"]
    assert metrics.average_jct(result) == pytest.approx(expected["avg_jct_s"], rel=0.01)
    assert result.jobs["jct"].median() == pytest.approx(expected["median_jct_s"], rel=0.01)
    assert metrics.sharing_loss(result) == pytest.approx(expected["sharing_loss_share"], abs=0.01)
