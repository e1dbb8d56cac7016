"""Slowdown and completion times of runs, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from papers.ye2022.efficiency import efficiency, slowest


def test_the_slowest_hundredth_is_whole_jobs() -> None:
    assert slowest(pd.Series([1.0] * 99 + [101.0])) == (1.0, pytest.approx(101 / 200))
    other, share = slowest(pd.Series([1.0] * 100 + [50.0, 50.0]))  # two of 102
    assert (other, share) == (1.0, pytest.approx(0.5))
    assert np.isnan(slowest(pd.Series([3.0]))[0]) and slowest(pd.Series([3.0]))[1] == 1


def test_one_row_per_run() -> None:
    jobs = pd.DataFrame(
        [("a", 0, 8, 2.0, 10.0), ("a", 0, 16, 4.0, 40.0), ("a", 0, 1, 1.0, 1.0), ("b", 1, 1, 5.0, 7.0)],
        columns=["scheduler", "seed", "demand", "slowdown", "jct"],
    )
    table = efficiency(jobs).set_index(["scheduler", "seed"])
    assert table.loc[("a", 0), ["one_node", "more_nodes", "average_jct", "median_jct"]].tolist() == [1.5, 4, 17, 10]
    assert table.loc[("a", 0), "average_slowdown"] == pytest.approx(7 / 3)
    assert np.isnan(table.loc[("b", 1), "more_nodes"]) and table.loc[("b", 1), "slowdown_99"] == 5
