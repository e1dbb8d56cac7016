"""Lease terms beside the best of each case, by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from papers.ye2022.lease_terms import above_best


def test_the_excess_is_that_of_means_over_seeds_within_a_case() -> None:
    rows = [("a", 300, 0, 90.0), ("a", 300, 1, 130.0), ("a", 600, 0, 100.0), ("a", 600, 1, 100.0), ("b", 300, 0, 7.0)]
    found = above_best(pd.DataFrame(rows, columns=["case", "lease_term", "seed", "average_jct"]))
    assert found["case"].tolist() == ["a", "a", "b"]
    assert found["lease_term"].tolist() == [300, 600, 300]
    assert found["excess"].tolist() == pytest.approx([0.1, 0.0, 0.0])
