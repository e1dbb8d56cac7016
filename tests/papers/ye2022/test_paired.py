"""Comparisons within a seed: intervals by hand, and nobody wins within noise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from papers.ye2022.paired import compared, differences, lowest, winner

LOGS = {"astraea": [0.0, 1.0, 2.0], "fifo": [0.1, 1.2, 2.3], "hived": [-0.1, 1.2, 2.0], "allox": [3.1, 4.0, 4.9]}
T = 4.3027  # Student's t with two degrees of freedom, 97.5 %


def rows(values: dict[str, list[float]], seeds: int = 3) -> pd.DataFrame:
    """One row per run, column y."""
    return pd.DataFrame({"scheduler": s, "seed": k, "y": y[k]} for s, y in values.items() for k in range(seeds))


def test_differences_are_paired() -> None:
    found = differences(rows(LOGS), "y", "astraea", factor=100)
    assert list(found.index) == ["fifo", "hived", "allox"]
    half = T * 10 / np.sqrt(3)  # of 10, 20, 30: standard deviation 10
    assert found.loc["fifo", ["mean", "difference", "low", "high"]].tolist() == pytest.approx(
        [120, 20, 20 - half, 20 + half], rel=1e-4
    )
    assert found["finding"].tolist() == ["within noise", "within noise", "higher"]
    assert differences(rows(LOGS), "y", "allox").loc["astraea", "finding"] == "lower"


def test_ratios_are_geometric_means() -> None:
    values = {name: np.exp(y).tolist() for name, y in LOGS.items()}
    found = compared(rows(values), "y")
    half = T * 0.1 / np.sqrt(3)
    assert np.log(found.loc["fifo", ["ratio", "low", "high"]].astype(float)).tolist() == pytest.approx(
        [0.2, 0.2 - half, 0.2 + half], rel=1e-4
    )
    assert found["lower"].tolist() == [0, 1, 0] and found["n"].tolist() == [3, 3, 3]
    assert found.loc["fifo", "mean"] == pytest.approx(np.mean(values["fifo"]))


def test_a_winner_is_ahead_of_everybody_by_more_than_noise() -> None:
    values = {name: np.exp(y).tolist() for name, y in LOGS.items()}
    assert lowest(rows(values), "y") == ["astraea", "hived", "fifo"]
    assert winner(rows(values), "y") == "nobody wins: ASTRAEA is lowest, but HiveD, FIFO cannot be told from it"
    two = {name: values[name] for name in ("allox", "astraea")}
    assert winner(rows(two), "y") == "ASTRAEA wins"


def test_two_seeds_prove_nothing() -> None:
    few = compared(rows({name: np.exp(y).tolist() for name, y in LOGS.items()}, seeds=2), "y")
    assert few["finding"].eq("too few seeds").all() and few[["low", "high"]].isna().to_numpy().all()
    assert "no winner" in winner(rows({"astraea": [1.0, 1.0], "fifo": [9.0, 9.1]}, seeds=2), "y")
    alone = differences(rows({"astraea": [1.0], "fifo": [9.0]}, seeds=1), "y", "astraea")
    assert alone.loc["fifo", ["difference", "finding"]].tolist() == [8.0, "too few seeds"]
