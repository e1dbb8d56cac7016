"""What notebooks show of the market's tables: theta and lambda, readings, and who is compared with Astraea."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from astraea.plots import charts
from papers.market.study import choices
from papers.market.study.pictures import makespans, relative_revenue, running_time
from papers.market.study.settings import fig4_readings, last_use, table2
from papers.market.study.tables import TABLE2, USUAL


def test_choices_of_theta_and_lambda() -> None:
    """Waiting costs revenue, as written nothing is earned, and a choice is a row of the table."""
    table = choices.table("philly", "small")
    means = table[table["theta"] == 2.0].groupby("rounds")["revenue"].mean()
    assert len(means) == len(choices.TRIED_ROUNDS) and (means.diff().dropna() < 0).all()
    written = table[table["rounds"] == choices.AS_WRITTEN]
    assert len(written) == choices.TRIALS and (written["revenue"] < 0).all() and written["variance"].isna().all()
    made = choices.choose(choices.market("philly", "small"), *choices.HERE)
    theta, rounds = choices.HERE
    row = table[(table["theta"] == theta) & (table["rounds"] == rounds) & (table["trial"] == 0)].iloc[0]
    assert (made.revenue, np.var(made.alpha)) == (row["revenue"], row["variance"])
    assert 0 < made.admitted <= choices.JOBS and made.used.max() <= 1


def test_table_2_beside_the_papers() -> None:
    found = pd.DataFrame({"tenants": [5, 5, 14], "revenue_per_job": [100.0, 300, 400], "variance": [1.0, 1, 4]})
    shown = table2(found)
    assert shown["revenue per job", "ours"].tolist() == [200, 400, 2]
    assert shown["revenue per job", "paper / ours"].iloc[0] == TABLE2[5][0] / 200
    assert shown["variance of alpha", "paper"].iloc[1] == TABLE2[14][1]


def test_readings_of_figure_4() -> None:
    rows = [("linear", "jobs", s, r, i, f) for s, r, i, f in (("astraea-market", 30.0, 60.0, 40.0),
            ("hived", 20.0, 30.0, 40.0), ("batch-sche", -5.0, 10.0, 1.0))]  # fmt: skip
    columns = ["utility", "varied", "scheduler", "revenue", "ideal_revenue", "floored_revenue"]
    found = fig4_readings(pd.DataFrame(rows, columns=columns), {"jobs": {"hived": 1.35, "batch-sche": 1.58}})["jobs"]
    assert found.loc["hived"].tolist() == [1.5, 1.5, 2.0, 1.35]
    assert np.isnan(found.loc["batch-sche", "real"]) and found.loc["batch-sche", "ideal over floored real"] == 60


def test_last_use() -> None:
    used = pd.DataFrame({"scheduler": ["hived"] * 3 + ["batch-sche"] * 3, "hour": [1, 2, 3] * 2, "trial": 0,
                         "utilization": [0.5, 0.25, 0.0, 0.1, 0.1, 0.1], "setting": USUAL})  # fmt: skip
    found = last_use(used)
    assert found.loc["hived"].tolist() == [2, 50] and np.isnan(found.loc["batch-sche", "last use [h]"])


REVENUE = pd.DataFrame(
    [(n, k, name, value * (k + 1)) for n in (5, 15) for k in (0, 1)
     for name, value in (("astraea-market", 100.0), ("hived", 80.0), ("batch-sche", -150.0))],
    columns=["value", "trial", "scheduler", "revenue"],
)  # fmt: skip


def test_losses_are_written_where_they_have_no_place() -> None:
    _, ax = charts.panels()
    relative_revenue(REVENUE, ax, {"hived": 1.35})
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["5", "15", "all"]
    assert [text.get_text() for text in ax.texts if text.get_text()] == ["−1.5 ↓"] * 3
    papers = [list(line.get_ydata()) for line in ax.get_lines() if line.get_marker() == "D"]
    assert papers == [[], [pytest.approx(1 / 1.35)]]


def test_makespans_are_last_hours_of_use_and_published_ones_stand_in_our_row() -> None:
    used = pd.DataFrame({"scheduler": "hived", "trial": [0, 0, 1, 1], "hour": [1, 9, 1, 9],
                         "utilization": [0.5, 0.2, 0.5, 0.0]})  # fmt: skip
    _, ax = charts.panels()
    makespans(used, ax, {})
    assert [list(line.get_xdata()) for line in ax.get_lines()] == [[9, 1], [5.0]]
    assert [text.get_text() for text in ax.texts] == ["5 h"]
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
