"""Theta and lambda of the market: what they make of one that can be planned at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from papers.market.study import choices
from papers.market.study.settings import fig4_readings, last_use, table2
from papers.market.study.tables import TABLE2, USUAL


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return choices.table("philly", "small")


def test_waiting_costs_revenue(table: pd.DataFrame) -> None:
    ours = table[table["scheduler"] == "astraea-market"]
    means = ours.pivot_table(index="rounds", columns="theta", values="revenue")
    assert (means[2.0].diff().dropna() < 0).all()
    assert len(ours) == len(choices.PRICES) * len(choices.TRIED_ROUNDS) * choices.TRIALS


def test_as_written_nothing_is_earned(table: pd.DataFrame) -> None:
    written = table[table["rounds"] == choices.AS_WRITTEN]
    assert len(written) == choices.TRIALS and (written["revenue"] < 0).all() and written["variance"].isna().all()


def test_a_choice_is_a_row_of_the_table(table: pd.DataFrame) -> None:
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
