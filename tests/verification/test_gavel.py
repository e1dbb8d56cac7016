"""The comparison with Gavel: results of its simulator, its job generator, and averages that its authors published."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from astraea.core.errors import InputError
from papers.gavel.throughputs.table import Throughputs
from verification.gavel_generator import released_continuous
from verification.gavel_published import shown_published, verify_published
from verification.gavel_runs import CLOSE, COLUMNS, read_summary, shown_gavel, verify_gavel

COMPACT = Throughputs.compact()
HEAD = ",".join(COLUMNS)


def test_small_traces_agree(shared: Path) -> None:
    table = verify_gavel(shared / "reference", traces=("medium_test", "max_min_fairness", "minimize_makespan"))
    assert len(table) == 34
    assert table["agrees"].all(), shown_gavel(table)
    off = table.set_index("policy")[["jct_difference", "makespan_difference"]].abs()
    assert (off <= CLOSE).all(axis=None)
    assert (off.loc[["fifo", "fifo_perf", "isolated", "allox"]] < 1e-6).all(axis=None)
    assert "34 of 34 runs" in shown_gavel(table)


@pytest.mark.exhaustive
def test_long_traces_agree(shared: Path, tmp_path: Path) -> None:
    # every policy once, on one of the two
    single = ("allox", "fifo", "finish_time_fairness", "max_min_fairness_perf")
    runs = [("single", name) for name in single]
    runs += [("multi", name) for name in ("fifo_perf", "finish_time_fairness_perf", "max_min_fairness")]
    summary = read_summary(shared / "reference").set_index(["trace", "policy"]).loc[runs].reset_index()
    (tmp_path / "gavel").mkdir()
    summary.to_csv(tmp_path / "gavel" / "summary.csv", index=False)
    for trace in ("single", "multi"):
        shutil.copy(shared / "reference" / "gavel" / f"{trace}.trace", tmp_path / "gavel")
    table = verify_gavel(tmp_path, shared / "data" / "gavel")
    assert list(zip(table["trace"], table["policy"], strict=True)) == runs
    assert table["agrees"].all(), shown_gavel(table)
    assert (table.loc[table["policy"].str.startswith("fifo"), "jct_difference"].abs() < 1e-6).all()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "expected a table with trace, policy"),
        (HEAD.replace(",jobs", ""), "column 'jobs' is missing"),
        (f"{HEAD}\nt,drf,8:16:24,all,1,1", "line 2: unknown policy 'drf'; known are allox, fifo"),
        (f"{HEAD}\nt,fifo,8:16,all,1,1", "line 2: cluster must be like 8:16:24, got '8:16'"),
        (f"{HEAD}\nt,fifo,8:16:24,some,1,1", "line 2: jobs must be all or like 400-699, got 'some'"),
    ],
)
def test_bad_summaries_get_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "gavel").mkdir()
    (tmp_path / "gavel" / "summary.csv").write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_summary(tmp_path)


def test_jobs_are_those_of_the_authors_and_gangs_and_rates_leave_the_rest_as_it_was() -> None:
    w = released_continuous(5000, 4.0, COMPACT, multiple=False, seed=0)
    speed = [COMPACT.alone(kind, int(size))[0] for kind, size in zip(w.job_type, w.scale_factor, strict=True)]
    # 17.58 h is what all of them take on idle V100s in the notebooks, of which 0.17 h are waits for a round
    assert (w.total_steps / np.array(speed) / 3600)[4000:].mean() == pytest.approx(17.4146, abs=1e-3)
    assert w.job_type[1:3] == ("Transformer (batch size 16)", "Recommendation (batch size 2048)")
    assert w.arrival_time[:2].tolist() == pytest.approx([0, 244.586], abs=1e-3)
    assert (w.scale_factor == 1).all()
    faster = released_continuous(5000, 8.0, COMPACT, multiple=False, seed=0)
    assert faster.job_type == w.job_type
    np.testing.assert_allclose(faster.arrival_time, w.arrival_time / 2)
    gangs = released_continuous(5000, 2.0, COMPACT, multiple=True, seed=1)
    shares = [(gangs.scale_factor == size).mean() for size in (1, 2, 4, 8)]
    assert shares == pytest.approx([0.70, 0.10, 0.15, 0.05], abs=0.02)


def test_throughputs_without_a_released_type_get_a_sentence() -> None:
    slow = COMPACT.solo.copy()
    slow[0, :, 0] = 0.0
    with pytest.raises(InputError, match=r"on 1 V100s must be measured for the released workloads"):
        released_continuous(5, 4.0, replace(COMPACT, solo=slow), multiple=False, seed=0)


@pytest.mark.exhaustive
def test_published_averages_that_take_seconds(shared: Path) -> None:
    cells = (("single", 4.0, "AlloX"), ("multiple", 2.0, "FIFO"))
    table = verify_published(shared / "data" / "gavel" / "simulation_throughputs.json", only=cells)
    assert table["difference"].abs().tolist() == pytest.approx([0.04, 0.0], abs=0.005)
    assert table["agrees"].all()
    assert "2 of 2 published averages are met within 10 %" in shown_published(table)


def test_what_is_off_does_not_agree() -> None:
    rows = [("single", 4.0, "FIFO", 11.5, 10.0, 0.15, False), ("single", 4.0, "LAS", 10.5, 10.0, 0.05, True)]
    columns = "workload jobs_per_hour system average_jct published_jct difference agrees".split()
    shown = shown_published(pd.DataFrame(rows, columns=columns))
    assert "1 of 2 published averages" in shown and "11.50 (10.00) +15.0 %" in shown
