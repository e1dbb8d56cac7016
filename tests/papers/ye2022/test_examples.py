"""The six-GPU example of [Ye2022] Fig 6, by the package's policies."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib import pyplot as plt

from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.core.result import Result
from astraea.core.units import HOUR, MINUTE
from astraea.plots.style import panels
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


def run(mechanism: str) -> tuple[Result, pd.DataFrame]:
    """The example under a mechanism, and its leases."""
    trace = divided(six_gpu_trace()) if mechanism == "max-min" else six_gpu_trace()
    result = simulate(trace, SIX_GPUS, mechanisms()[mechanism], settings=NO_OVERHEADS, keep_log=True)
    assert result.grants is not None
    return result, rejoined(result.grants) if mechanism == "max-min" else result.grants


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
