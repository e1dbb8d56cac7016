"""Worked examples of [Ye2022] by hand: the six GPUs of Fig 6, what tenants and jobs are owed, and parts of leases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from astraea.cluster.cluster import Cluster
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.core.result import Result
from astraea.core.units import HOUR, MINUTE
from papers.ye2022.examples import (
    NO_OVERHEADS,
    ROUND,
    SIX_GPUS,
    divided,
    fair_service,
    gpu_rows,
    lease_parts,
    mechanisms,
    rejoined,
    six_gpu_trace,
    two_tenants,
    window_shares,
)


def run(mechanism: str) -> tuple[Result, pd.DataFrame]:
    """The example under a mechanism, and its leases."""
    trace = divided(six_gpu_trace()) if mechanism == "max-min" else six_gpu_trace()
    result = simulate(trace, SIX_GPUS, mechanisms()[mechanism], settings=NO_OVERHEADS, keep_log=True)
    return result, rejoined(result.log) if mechanism == "max-min" else result.log


@pytest.mark.parametrize(
    ("mechanism", "minutes", "until", "shares"),
    [
        # at every moment
        ("max-min", 10, 40 * MINUTE, (1 / 3, 1 / 3, 1 / 3)),
        # minutes   0      10      20      30 ...       80
        # GPUs 1-3  | Job1 | Job2 | Job1 | Job2 | ...
        # GPUs 4-6  | Job1 | Job3 | Job1 | Job3 | ...
        ("finish-time-fairness", 20, 80 * MINUTE, (1 / 2, 1 / 4, 1 / 4)),
        # one round for Job1, two for Job2 with Job3: in any half hour while all have work
        ("astraea", 30, HOUR, (1 / 3, 1 / 3, 1 / 3)),
    ],
)
def test_shares_in_any_window(mechanism: str, minutes: float, until: float, shares: tuple[float, ...]) -> None:
    result, grants = run(mechanism)
    table = window_shares(grants, SIX_GPUS.gpus, minutes * MINUTE, until)
    found = {str(name): set(part["share"].round(12)) for name, part in table.groupby("job_id")}
    assert found == {f"Job{k}": {round(share, 12)} for k, share in enumerate(shares, 1)}
    if mechanism == "astraea":
        assert result.jobs["rho_job"].to_list() == [1.0, 1.0, 1.0]
    if mechanism == "finish-time-fairness":
        turns = grants.sort_values(["start", "job_id"]).groupby("start")["job_id"].agg(list).to_list()
        assert turns == [["Job1"], ["Job2", "Job3"]] * 4


def test_shares_count_the_part_of_a_lease_inside_the_window() -> None:
    grants = pd.DataFrame({"job_id": ["A", "B"], "demand": [2, 1], "start": [0.0, 600.0], "end": [1200.0, 2400.0]})
    assert window_shares(grants, gpus=4, window=1200, until=1800).to_numpy().tolist() == [
        [0, 1200, "A", 0.5], [0, 1200, "B", 0.125], [600, 1800, "A", 0.25], [600, 1800, "B", 0.25],
    ]  # fmt: skip
    with pytest.raises(InputError, match="at most 900 s long, got 1200 s"):
        window_shares(grants, gpus=4, window=1200, until=900)


@pytest.mark.parametrize(
    ("mechanism", "honest", "greedy"), [("finish-time-fairness", 1 / 4, 1 / 3), ("astraea", 1 / 3, 1 / 4)]
)
def test_asking_for_more_pays_under_finish_time_fairness_only(mechanism: str, honest: float, greedy: float) -> None:
    for gpus, share in ((3, honest), (6, greedy)):
        trace = six_gpu_trace((6, gpus, 3), 600)
        result = simulate(trace, SIX_GPUS, mechanisms()[mechanism], settings=NO_OVERHEADS, keep_log=True)
        shares = window_shares(result.log, 6, 2 * HOUR, 2 * HOUR).set_index("job_id")["share"]
        assert shares["Job2"] == pytest.approx(share)


def test_no_gpu_is_drawn_twice() -> None:
    for mechanism in mechanisms():
        _, grants = run(mechanism)
        blocks = gpu_rows(grants, 6)
        drawn = blocks.groupby(["start", "job_id"])["gpus"].sum()
        assert drawn.to_dict() == grants.set_index(["start", "job_id"])["demand"].to_dict()
        for _, at in blocks.groupby("start"):
            lines = np.concatenate(
                [np.arange(first, first + n) for first, n in zip(at.first_gpu, at.gpus, strict=True)]
            )
            assert len(set(lines)) == len(lines) and lines.max() < 6


def test_what_jobs_and_tenants_are_owed() -> None:
    result = simulate(two_tenants(), SIX_GPUS, "astraea", settings=NO_OVERHEADS, lease_term=ROUND, keep_log=True)
    quota = {"vision": 3.0, "speech": 3.0}
    # vision: thirds of 3 GPUs for 40 minutes, of which A3 can use only one; speech is idle until minute 10, then owed
    # B1's 3 GPUs for 30 minutes: B1 alone, half of 3 beside B2, and then B2's 2 once B1 is done
    jobs, tenants = fair_service(result.jobs, quota, 40 * MINUTE)
    assert (jobs / MINUTE).to_dict() == pytest.approx({"A1": 40, "A2": 40, "A3": 40, "B1": 45, "B2": 35})
    assert (tenants / MINUTE).to_dict() == pytest.approx({"vision": 120, "speech": 80})
    to_the_end, _ = fair_service(result.jobs, quota, result.makespan)
    assert to_the_end.to_numpy() == pytest.approx(result.jobs["fair_service"].to_numpy())


def test_parts_of_leases_add_up_to_what_the_simulation_says() -> None:
    visible = Settings(interval=30, checkpoint_overhead=60, restart_overhead=120)
    result = simulate(two_tenants(), Cluster(1, 6), "astraea", settings=visible, lease_term=ROUND, keep_log=True)
    jobs, parts = result.jobs.set_index("job_id"), lease_parts(result, visible)
    parts["seconds"] = parts["end"] - parts["start"]
    spent = parts.pivot_table(index="job_id", columns="part", values="seconds", aggfunc="sum", fill_value=0.0)
    assert spent["training"].to_dict() == jobs["duration"].to_dict()
    assert (spent["restart"] + spent["checkpoint"]).to_dict() == jobs["overhead"].to_dict()
    assert parts.groupby("job_id")["end"].max().to_dict() == jobs["end_time"].to_dict()
    # every lease ends in one way: a checkpoint unless the job is done, a cold start after a preemption
    ends = parts[parts["then"] != ""]
    assert len(ends) == jobs["leases"].sum()
    assert (ends["then"] == "preempted").groupby(ends["job_id"]).sum().to_dict() == jobs["preemptions"].to_dict()
    assert (parts["part"] == "checkpoint").sum() == (ends["then"] != "completed").sum()
    assert (parts["part"] == "restart").sum() == jobs["preemptions"].sum() > 0
