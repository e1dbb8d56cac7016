"""The six-GPU example of [Ye2022] Fig 6, by the package's policies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.core.result import Result
from astraea.core.units import MINUTE
from astraea.plots.style import panels
from astraea.traces.trace import Trace
from papers.ye2022.examples import (
    NO_OVERHEADS,
    SIX_GPUS,
    asking,
    divided,
    mechanisms,
    rejoined,
    share_bars,
    six_gpu_trace,
    window_shares,
)

HOUR = 60 * MINUTE


def run(mechanism: str, trace: Trace | None = None) -> Result:
    jobs = six_gpu_trace() if trace is None else trace
    jobs = divided(jobs) if mechanism == "max-min" else jobs
    return simulate(jobs, SIX_GPUS, mechanisms()[mechanism], settings=NO_OVERHEADS, keep_log=True)


def shares(mechanism: str, minutes: float, until: float) -> dict[str, set[float]]:
    grants = run(mechanism).grants
    assert grants is not None
    leases = rejoined(grants) if mechanism == "max-min" else grants
    table = window_shares(leases, SIX_GPUS.gpus, minutes * MINUTE, until)
    return {str(name): set(part["share"].round(12)) for name, part in table.groupby("job_id")}


def test_max_min_gives_thirds_at_every_moment_while_all_have_work() -> None:
    third = {round(1 / 3, 12)}
    assert shares("max-min", 10, 40 * MINUTE) == {"Job1": third, "Job2": third, "Job3": third}


def test_finish_time_fairness_alternates() -> None:
    # minutes   0      10      20      30 ...       80
    # GPUs 1-3  | Job1 | Job2 | Job1 | Job2 | ...
    # GPUs 4-6  | Job1 | Job3 | Job1 | Job3 | ...
    grants = run("finish-time-fairness").grants
    assert grants is not None
    turns = grants.sort_values(["start", "job_id"]).groupby("start")["job_id"].agg(list).to_list()
    assert turns == [["Job1"], ["Job2", "Job3"]] * 4
    assert shares("finish-time-fairness", 20, 80 * MINUTE) == {"Job1": {0.5}, "Job2": {0.25}, "Job3": {0.25}}


def test_astraea_gives_thirds_in_any_half_hour_while_all_have_work() -> None:
    # one round for Job1, two for Job2 with Job3
    third = {round(1 / 3, 12)}
    assert shares("astraea", 30, HOUR) == {"Job1": third, "Job2": third, "Job3": third}
    assert run("astraea").jobs["rho_job"].to_list() == [1.0, 1.0, 1.0]


def test_a_larger_gang_gains_under_finish_time_fairness_only() -> None:
    honest, greedy = six_gpu_trace((6, 3, 3)), six_gpu_trace((6, 6, 3))
    got = {}
    for name in ("finish-time-fairness", "astraea"):
        for asked, trace in (("honest", honest), ("greedy", greedy)):
            grants = run(name, trace).grants
            assert grants is not None
            table = window_shares(grants, 6, HOUR, HOUR)
            got[name, asked] = float(table.loc[table["job_id"] == "Job2", "share"].iloc[0])
    assert got["finish-time-fairness", "honest"] == 0.25
    assert got["finish-time-fairness", "greedy"] == pytest.approx(1 / 3)
    assert got["astraea", "greedy"] <= got["astraea", "honest"] == pytest.approx(1 / 3)


def test_dividing_keeps_the_work() -> None:
    trace = six_gpu_trace((2, 1), minutes=5)
    tasks = divided(trace)
    assert tasks.frame[["job_id", "tenant", "demand", "duration"]].to_numpy().tolist() == [
        ["Job1.1", "Job1", 1, 300.0],
        ["Job1.2", "Job1", 1, 300.0],
        ["Job2.1", "Job2", 1, 300.0],
    ]
    assert tasks.gpu_time.sum() == trace.gpu_time.sum()


def test_rejoining_adds_the_tasks_of_a_round() -> None:
    tasks = pd.DataFrame(
        {
            "job_id": ["A.1", "A.2", "B.1", "A.1", "A.2", "B.1", "B.2"],
            "tenant": ["A", "A", "B", "A", "A", "B", "B"],
            "demand": 1,
            "start": [0.0, 0, 0, 600, 600, 600, 600],
            "end": [600.0, 600, 600, 1200, 1200, 1200, 1200],
            "kind": "start",
        }
    )
    whole = rejoined(tasks)[["job_id", "start", "demand", "kind"]].to_numpy().tolist()
    assert whole == [["A", 0, 2, "start"], ["B", 0, 1, "start"], ["A", 600, 2, "renewal"], ["B", 600, 2, "start"]]


def test_shares_count_the_part_of_a_lease_inside_the_window() -> None:
    grants = pd.DataFrame({"job_id": ["A", "B"], "demand": [2, 1], "start": [0.0, 600.0], "end": [1200.0, 2400.0]})
    table = window_shares(grants, gpus=4, window=1200, until=1800)
    assert table.to_numpy().tolist() == [
        [0, 1200, "A", 0.5],
        [0, 1200, "B", 0.125],
        [600, 1800, "A", 0.25],
        [600, 1800, "B", 0.25],
    ]
    assert np.isclose(window_shares(grants, gpus=4, window=2400, until=2400)["share"].sum(), (2400 + 1800) / 9600)


def test_a_window_longer_than_the_time_is_refused() -> None:
    with pytest.raises(InputError, match="at most 900 s long, got 1200 s"):
        window_shares(pd.DataFrame({"job_id": []}), gpus=4, window=1200, until=900)


def test_asking_for_more_pays_under_finish_time_fairness_only() -> None:
    hours = (10, 10, 10)
    for name, honest, greedy in (("finish-time-fairness", 1 / 4, 1 / 3), ("astraea", 1 / 3, 1 / 4)):
        assert asking(name, (6, 3, 3), hours, 2 * HOUR).shares["Job2"] == pytest.approx(honest)
        got = asking(name, (6, 6, 3), hours, 2 * HOUR)
        assert got.shares["Job2"] == pytest.approx(greedy)
        assert got.shares.sum() == pytest.approx(1) and got.shares["nobody"] > 0
    assert asking("astraea", (6, 3, 3), hours, 2 * HOUR).ends["Job2"] == 15 * HOUR
    assert asking("max-min", (2, 3, 3), hours, 2 * HOUR).shares[["Job1", "Job2", "Job3"]].to_list() == [1 / 3] * 3


def test_bars_of_shares_show_what_is_idle() -> None:
    fig, axes = panels(columns=2)
    full = pd.Series({"Job1": 0.5, "Job2": 0.5, "nobody": 0.0})
    share_bars({"a": full, "b": pd.Series({"Job1": 0.7, "Job2": 0.2, "nobody": 0.1})}, axes)
    texts = [[text.get_text() for text in ax.texts if text.get_text()] for ax in axes]
    assert texts == [["50", "50"], ["70", "20", "10"]]
    assert [len(ax.patches) for ax in axes] == [2, 3]
    plt.close(fig)
