"""Measures of the fairness figures, on tables small enough to count by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd

from papers.ye2022.fairness import boxes, short, short_cases


def test_shares_count_those_that_are_owed_something() -> None:
    jobs = pd.DataFrame({
        "scheduler": ["b"] * 4 + ["a"], "seed": [0, 0, 0, 1, 0], "rho_job": [0.949, 0.95, np.nan, 2.0, 0.1],
    })  # fmt: skip
    assert short(jobs).to_numpy().tolist() == [["b", 0, 0.5], ["b", 1, 0.0], ["a", 0, 1.0]]
    assert short(jobs, 3.0)["sharing_loss"].tolist() == [1.0, 1.0, 1.0]


def test_cases_below_one_are_below_it_by_more_than_rounding() -> None:
    rho = [1 - 1e-12, 0.995, 0.97, 0.5, np.nan]
    cases = short_cases(pd.DataFrame({"scheduler": "a", "seed": 0, "rho_tenant": rho}))
    assert cases.to_numpy().tolist() == [["a", 0, 0.75, 0.5, 0.25]]


def test_a_box_has_five_quantiles() -> None:
    frame = pd.DataFrame({"scheduler": "a", "tenant": ["y"] * 101 + ["x"], "rho": [*range(101), np.nan]})
    assert boxes(frame, "rho", ["scheduler", "tenant"]).to_numpy().tolist() == [["a", "y", 5, 25, 50, 75, 95, 101]]
