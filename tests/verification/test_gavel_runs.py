"""The comparison with the results of Gavel's own simulator."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from astraea.core.errors import InputError
from verification.gavel_runs import CLOSE, COLUMNS, read_summary, shown_gavel, verify_gavel
from verification.interior_point import middle

GOOD = ("medium_test", "fifo", "8:16:24", "all", 1.0, 1.0)


def test_small_traces_agree(shared: Path) -> None:
    table = verify_gavel(shared / "reference", traces=("medium_test", "max_min_fairness", "minimize_makespan"))
    assert len(table) == 34
    assert table["agrees"].all(), shown_gavel(table)
    assert (table[["jct_difference", "makespan_difference"]].abs() <= CLOSE).all(axis=None)
    exact = table["policy"].isin(["fifo", "fifo_perf", "isolated", "allox"])
    assert (table.loc[exact, "jct_difference"].abs() < 1e-6).all()
    assert (table.loc[exact, "makespan_difference"].abs() < 1e-6).all()
    assert "34 of 34 runs" in shown_gavel(table)


@pytest.mark.exhaustive
def test_long_traces_agree(shared: Path, tmp_path: Path) -> None:
    # every policy once, on one of the two
    runs = (
        ("single", "allox"), ("single", "fifo"), ("single", "finish_time_fairness"),
        ("single", "max_min_fairness_perf"), ("multi", "fifo_perf"), ("multi", "finish_time_fairness_perf"),
        ("multi", "max_min_fairness"),
    )  # fmt: skip
    summary = read_summary(shared / "reference").set_index(["trace", "policy"]).loc[[*runs]].reset_index()
    (tmp_path / "gavel").mkdir()
    summary.to_csv(tmp_path / "gavel" / "summary.csv", index=False)
    for trace in ("single", "multi"):
        shutil.copy(shared / "reference" / "gavel" / f"{trace}.trace", tmp_path / "gavel")
    table = verify_gavel(tmp_path, shared / "data" / "gavel")
    assert list(zip(table["trace"], table["policy"], strict=True)) == [*runs]
    assert table["agrees"].all(), shown_gavel(table)
    assert (table.loc[table["policy"].str.startswith("fifo"), "jct_difference"].abs() < 1e-6).all()


@pytest.mark.parametrize(
    "row, sentence",
    [
        (("t", "drf", *GOOD[2:]), "line 2: unknown policy 'drf'; known are allox, fifo"),
        ((*GOOD[:2], "8:16", *GOOD[3:]), "line 2: cluster must be like 8:16:24, got '8:16'"),
        ((*GOOD[:3], "some", *GOOD[4:]), "line 2: jobs must be all or like 400-699, got 'some'"),
    ],
)
def test_bad_summaries_get_a_sentence(tmp_path: Path, row: tuple[object, ...], sentence: str) -> None:
    (tmp_path / "gavel").mkdir()
    pd.DataFrame([row], columns=COLUMNS).to_csv(tmp_path / "gavel" / "summary.csv", index=False)
    with pytest.raises(InputError) as error:
        read_summary(tmp_path)
    assert sentence in str(error.value)


def test_missing_files_get_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"summary.csv: no such file"):
        read_summary(tmp_path)
    (tmp_path / "gavel").mkdir()
    path = tmp_path / "gavel" / "summary.csv"
    pd.DataFrame([GOOD], columns=COLUMNS).drop(columns="jobs").to_csv(path, index=False)
    with pytest.raises(InputError, match="column 'jobs' is missing"):
        read_summary(tmp_path)


def test_the_middle_is_where_the_product_of_the_slacks_is_largest() -> None:
    speed = np.array([[4.0, 1.0], [2.0, 2.0], [1.0, 3.0]])
    scale, workers = np.array([1, 1, 1]), np.array([1, 1])
    start = np.full((3, 2), 0.2)
    need = np.array([0.8, 0.7, 0.5])
    x = middle(speed, need, scale, workers, start)

    def logs(y: np.ndarray) -> float:
        above = (speed * y).sum(axis=1) - need * (1 - 1e-4)
        slack = np.concatenate([y.ravel(), 1 - y.sum(axis=1), workers - y.sum(axis=0), above / speed.max(axis=1)])
        return float(np.log(slack).sum()) if (slack > 0).all() else -np.inf

    best = logs(x)
    assert np.isfinite(best)
    rng = np.random.default_rng(0)
    assert all(logs(x + rng.normal(0, s, x.shape)) < best for s in (0.1, 0.01, 0.001) for _ in range(200))
