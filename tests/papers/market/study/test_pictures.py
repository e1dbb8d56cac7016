"""Pictures of the market: who is compared with Astraea, and what stands where there is no ratio."""

from __future__ import annotations

import pandas as pd
import pytest

from astraea.plots import charts
from papers.market.study.pictures import makespans, over_ours, relative_revenue, running_time

REVENUE = pd.DataFrame(
    [(n, k, name, value * (k + 1)) for n in (5, 15) for k in (0, 1)
     for name, value in (("astraea-market", 100.0), ("hived", 80.0), ("batch-sche", -150.0))],
    columns=["value", "trial", "scheduler", "revenue"],
)  # fmt: skip


def test_others_over_ours_in_the_same_market() -> None:
    found = over_ours(REVENUE, "revenue", ["value", "trial"])
    assert found.groupby("scheduler")["relative"].unique().map(list).to_dict() == {"hived": [0.8], "batch-sche": [-1.5]}


def test_losses_are_written_where_they_have_no_place() -> None:
    _, ax = charts.panels()
    relative_revenue(REVENUE, ax, {"hived": 1.35})
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["5", "15", "all"]
    assert [text.get_text() for text in ax.texts if text.get_text()] == ["−1.5 ↓"] * 3
    papers = [list(line.get_ydata()) for line in ax.get_lines() if line.get_marker() == "D"]
    assert papers == [[], [pytest.approx(1 / 1.35)]]


def test_makespans_are_last_hours_of_use() -> None:
    used = pd.DataFrame({"scheduler": "hived", "trial": [0, 0, 1, 1], "hour": [1, 9, 1, 9],
                         "utilization": [0.5, 0.2, 0.5, 0.0]})  # fmt: skip
    _, ax = charts.panels()
    makespans(used, ax, {})
    assert [list(line.get_xdata()) for line in ax.get_lines()] == [[9, 1], [5.0]]
    assert [text.get_text() for text in ax.texts] == ["5 h"]


def test_published_makespans_stand_in_our_row() -> None:
    used = pd.DataFrame({"scheduler": ["hived", "astraea-market"], "trial": 0, "hour": [10, 20], "utilization": 0.5})
    _, ax = charts.panels()
    makespans(used, ax, {"hived": 0.67})
    marks = [line for line in ax.get_lines() if line.get_marker() == "D" and len(line.get_xdata())]
    assert [list(line.get_xdata()) for line in marks] == [[pytest.approx(6.7)]]
    assert [list(line.get_ydata()) for line in marks] == [[-17]]


def test_running_time_of_all_jobs_and_of_one() -> None:
    times = pd.DataFrame({"jobs": [100, 200], "servers": 10, "trial": 0, "seconds_per_job": [1e-4, 2e-4]})
    whole, one = running_time(times, "jobs", 1.56).axes
    assert list(whole.get_lines()[0].get_ydata()) == pytest.approx([0.01, 0.04])
    assert list(one.get_lines()[0].get_ydata()) == [1e-4, 2e-4]
    assert [text.get_text() for text in one.texts] == ["paper: about 1.56 s, on a laptop"]
