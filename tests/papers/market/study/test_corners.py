"""Curves of steps without the rows between their corners."""

from __future__ import annotations

import pandas as pd

from papers.market.study import tables


def test_corners_are_the_same_curve() -> None:
    frame = pd.DataFrame({"s": [*"aaaaaabb"], "hour": [1, 2, 3, 4, 5, 6, 1, 2], "use": [0, 0, 0, 1, 2, 2, 2, 2]})
    thin = tables.corners(frame, "use", ["s"])
    assert thin["hour"].tolist() == [1, 3, 4, 5, 6, 1, 2]
    filled = frame[["s", "hour"]].merge(thin, how="left").groupby("s")["use"].ffill()
    assert filled.tolist() == frame["use"].tolist()
