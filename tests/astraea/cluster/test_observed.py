"""Starts and ends of a log, measured like a simulation."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from recorded_logs import recorded
from slurm_logs import in_seconds
from workloads import Case, few, venus

from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import observed
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.core.metrics import sharing_loss, tenant_windows
from astraea.core.result import Result
from astraea.traces.trace import Trace


def as_log(trace: Trace, result: Result) -> Trace:
    """The jobs that a result has, with their starts; none was interrupted."""
    trace = trace._take(np.flatnonzero(np.isin(trace.job_id, result.jobs["job_id"])))
    wait = result.jobs.set_index("job_id")["first_start_time"].loc[trace.job_id].to_numpy() - trace.submit_time
    return dataclasses.replace(trace, queueing_delay=wait)


@pytest.mark.parametrize("make, policy", [(few, "fifo"), (venus, "yarn-cs")])
def test_a_simulation_seen_as_a_log(make: Callable[[], Case], policy: str) -> None:
    w = make()
    trace = in_seconds(w.trace)
    result = simulate(trace, w.cluster, policy, settings=Settings(interval=1), keep_log=True)
    seen = observed(as_log(trace, result), w.cluster)
    pd.testing.assert_frame_equal(seen.jobs, result.jobs, rtol=1e-12)
    pd.testing.assert_frame_equal(seen.timeline, result.timeline, rtol=1e-12)
    pd.testing.assert_frame_equal(tenant_windows(seen), tenant_windows(result), rtol=1e-9)
    assert sharing_loss(seen) == sharing_loss(result)
    assert seen.grants is not None and result.grants is not None
    columns, order = ["job_id", "start", "end", "demand"], ["start", "job_id"]
    pd.testing.assert_frame_equal(
        seen.grants[columns].sort_values(order, ignore_index=True),
        result.grants[columns].sort_values(order, ignore_index=True),
    )


def test_a_job_that_was_requeued() -> None:
    """It holds 4 of 8 GPUs for 20 s and again for 100 s: two runs, one interruption, 20 s lost.

        a1 (4)  ==....==========    a step is 10 s
    """
    trace = recorded("a1 4 0 60 160", "b1 1 0 0 160")
    runs = pd.DataFrame({"job_id": ["a1", "b1", "a1"], "start": [0.0, 0, 60], "end": [20.0, 160, 160]})
    result = observed(dataclasses.replace(trace, recorded=runs), Cluster(1, 8))
    job = result.jobs.set_index("job_id").loc["a1"]
    assert (job["first_start_time"], job["end_time"], job["jct"]) == (0, 160, 160)
    assert (job["leases"], job["preemptions"], job["overhead"]) == (2, 1, 20)
    assert (job["attained_service"], job["fair_service"]) == (4 * 120, 4 * 160)
    assert result.grants is not None and len(result.grants) == 3


def test_two_runs_of_a_job_overlap() -> None:
    runs = pd.DataFrame({"job_id": ["a1", "a1"], "start": [0.0, 10], "end": [20.0, 160]})
    trace = dataclasses.replace(recorded("a1 4 0 0 160"), recorded=runs)
    with pytest.raises(InputError, match=r"^log: two runs of job 'a1' overlap$"):
        observed(trace, Cluster(1, 8))


@pytest.mark.parametrize(
    "run, what",
    [
        ({"job_id": "x9"}, "is of a job that the trace does not have"),
        ({"start": np.nan}, "has no start"),
        ({"end": np.nan}, "has no end"),
        ({"end": np.inf}, "has no end"),
        ({"end": 50.0}, "ends before it starts"),
        ({"start": -5.0}, "starts before its job is submitted"),
        ({"job_id": "a1", "start": 0.0, "end": 20.0}, "is in the log twice"),
    ],
)
def test_a_recorded_run_that_cannot_be(run: dict[str, float | str], what: str) -> None:
    rows = [{"job_id": "a1", "start": 0.0, "end": 20.0}, {"job_id": "b1", "start": 60.0, "end": 160.0} | run]
    trace = dataclasses.replace(recorded("a1 4 0 0 20", "b1 4 0 60 160"), recorded=pd.DataFrame(rows))
    with pytest.raises(InputError, match=rf"^log: recorded run 1 \(job '\w+', start .* s, end .* s\) {what}$"):
        observed(trace, Cluster(1, 8))


def test_more_gpus_than_there_are() -> None:
    with pytest.raises(InputError, match=r"^log: at 5 s 12 GPUs were in use, more than the cluster of 1 x 8 has; give"):
        observed(recorded("a1 4 0 0 10", "b1 8 0 5 9"), Cluster(1, 8))


def test_a_log_without_starts() -> None:
    trace = recorded("a1 4 0 0 10", "b1 4 0 0 10")
    lacking = dataclasses.replace(trace, queueing_delay=np.array([0.0, np.nan]))
    with pytest.raises(InputError, match=r"the log has no start of job 'b1' \(1 such job\), so what happened"):
        observed(lacking, Cluster(1, 8))
