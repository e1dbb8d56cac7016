"""Tables that are drawn: exact shares, intervals of Student, paired seeds, five numbers, corners."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from astraea.plots import charts
from astraea.plots.statistics import compared


def test_ecdf_points_are_exact() -> None:
    values = np.random.default_rng(1).lognormal(0, 0.5, 400)
    points = charts.ecdf(pd.DataFrame({"s": "a", "x": values}), "x", "s", at=[0.95], points=50)
    assert list(points) == ["s", "x", "share"] and len(points) <= 51
    assert points["share"].to_numpy() == pytest.approx([(values <= x).mean() for x in points["x"]])
    assert 0.95 in points["x"].to_numpy() and points["share"].iloc[-1] == 1
    frame = pd.DataFrame({"scheduler": ["a", "a", "a", "b"], "x": [2.0, 1.0, np.nan, np.nan]})
    assert charts.ecdf(frame, "x", "scheduler").to_numpy().tolist() == [["a", 1.0, 0.5], ["a", 2.0, 1.0]]
    assert list(charts.ecdf(frame.iloc[3:], "x", "scheduler")) == ["scheduler", "x", "share"]


def test_mean_interval_is_student_t() -> None:
    frame = pd.DataFrame({"s": ["a"] * 5 + ["b"], "y": [1.0, 2.0, 3.0, 4.0, 5.0, 7.0]})
    a, b = charts.mean_interval(frame, "s", "y").itertuples()
    assert (a.mean, a.n) == (3.0, 5)
    assert a.high - a.mean == pytest.approx(2.7764 * np.sqrt(2.5 / 5), rel=1e-4)  # t table: 4 degrees of freedom
    assert b.mean == 7.0 and np.isnan(b.low) and np.isnan(b.high)


def test_compared_pairs_seeds() -> None:
    logs = {"astraea": [0.0, 1.0, 2.0], "fifo": [0.1, 1.2, 2.3], "hived": [-0.1, 1.2, 2.0], "allox": [-0.1, 0.8, 1.7]}
    rows = [{"scheduler": s, "seed": k, "y": np.exp(v)} for s, values in logs.items() for k, v in enumerate(values)]
    frame = pd.DataFrame(rows)
    table = compared(frame, "y")
    assert list(table.index) == ["fifo", "hived", "allox"]
    # differences of logarithms 0.1, 0.2, 0.3: standard error 0.1 / sqrt(3), t table: 2 degrees of freedom
    half = 4.3027 * 0.1 / np.sqrt(3)
    assert np.log(table.loc["fifo", ["ratio", "low", "high"]].astype(float)).tolist() == pytest.approx(
        [0.2, 0.2 - half, 0.2 + half], rel=1e-4
    )
    assert table["lower"].tolist() == [0, 1, 3]
    assert table["finding"].tolist() == ["not shown to differ"] * 3
    narrow = frame.assign(y=np.exp(10 * np.log(frame["y"]))).query("scheduler != 'hived'")
    shifted = narrow.assign(y=narrow["y"] * narrow["scheduler"].map({"astraea": 1.0, "fifo": 99.0, "allox": 1 / 99}))
    assert compared(shifted, "y")["finding"].tolist() == ["higher", "lower"]
    few = compared(frame[frame["seed"] < 2], "y")
    assert few["finding"].tolist() == ["too few to tell"] * 3
    assert few["low"].isna().all()


def test_box_stats() -> None:
    frame = pd.DataFrame({"t": "x", "v": [*range(101), np.nan]})
    assert charts.box_stats(frame, "v", "t").to_numpy().tolist() == [["x", 5.0, 25.0, 50.0, 75.0, 95.0, 101]]


def test_corners_are_the_same_curve() -> None:
    frame = pd.DataFrame({"s": [*"aaaaaabb"], "hour": [1, 2, 3, 4, 5, 6, 1, 2], "use": [0, 0, 0, 1, 2, 2, 2, 2]})
    thin = charts.corners(frame, "use", ["s"])
    assert thin["hour"].tolist() == [1, 3, 4, 5, 6, 1, 2]
    filled = frame[["s", "hour"]].merge(thin, how="left").groupby("s")["use"].ffill()
    assert filled.tolist() == frame["use"].tolist()
