"""A table of many runs."""

from __future__ import annotations

from typing import Any

import pandas as pd

from papers.table_of import table_of


def test_every_combination_is_a_row_and_the_last_axis_changes_fastest() -> None:
    table = table_of(lambda seed, policy: {"name": f"{policy}{seed}", "seed": "mine"}, policy=["a", "b"], seed=range(2))
    assert list(table) == ["policy", "seed", "name"]
    # what is measured has no other value of an axis
    assert table.to_numpy().tolist() == [["a", 0, "a0"], ["a", 1, "a1"], ["b", 0, "b0"], ["b", 1, "b1"]]


def test_a_run_may_have_many_rows_or_columns_of_its_own() -> None:
    def measure(n: int) -> Any:
        return pd.DataFrame({"k": range(n)}, index=[7] * n) if n < 3 else {"more": 1.5}

    table = table_of(measure, n=(2, 1, 3))
    assert list(table) == ["n", "k", "more"]
    assert table["n"].tolist() == [2, 2, 1, 3]
    assert table["k"].dropna().tolist() == [0, 1, 0]
    assert table.index.tolist() == [0, 1, 2, 3]
