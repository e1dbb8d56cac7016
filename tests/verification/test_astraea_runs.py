"""The comparison with the released simulator, on folders that the naive twin wrote."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest
from released_runs import NODES, write_runs

from astraea.core.errors import InputError
from verification.astraea_runs import agrees, compare, references, summarize, verify


def test_every_run_agrees(tmp_path: Path) -> None:
    for jobs in verify(write_runs(tmp_path)):
        row = summarize(jobs)
        assert agrees(row), row
        assert row["average_jct"] == row["their_average_jct"]
        assert row["lease_ends"] == row["their_lease_ends"] > 40


@pytest.mark.parametrize("column, by", [("lease_expiry_cnt", 1), ("preempt_cnt", 1), ("fairness", 0.001)])
def test_other_differences_count_too(tmp_path: Path, column: str, by: float) -> None:
    path = write_runs(tmp_path, ("tiresias",)) / f"w_n{NODES}_tiresias.csv.gz"
    table = pd.read_csv(path)
    table[column] = table[column].astype(float)
    table.loc[3, column] += by
    table.to_csv(path, index=False)
    (reference,) = references(tmp_path)
    assert not agrees(summarize(compare(reference)))


def damage(folder: Path, how: str) -> None:
    """Do to a good folder what the parameter says."""
    output = folder / f"w_n{NODES}_tiresias.csv.gz"
    if how == "no input":
        (folder / "w.input.csv.gz").unlink()
    elif how == "no output":
        output.unlink()
    elif how == "unknown run":
        output.rename(folder / f"w_n{NODES}_slurm.csv.gz")
    elif how == "cut":
        output.write_bytes(output.read_bytes()[:-200])
    elif how == "no gzip":
        output.write_text("job_id\n")
    elif how == "no column":
        pd.read_csv(output).drop(columns="end_time").to_csv(output, index=False)
    elif how == "short":
        pd.read_csv(output).head(30).to_csv(output, index=False)
    elif how == "more":
        with gzip.open(output, "at") as file:
            file.write("99,0,1,1,1,0,0\n")
    elif how == "twice":
        table = pd.read_csv(output)
        pd.concat([table, table.head(1)]).to_csv(output, index=False)
    elif how == "hole":
        pd.read_csv(output).assign(end_time=lambda t: t["end_time"].where(t["job_id"] != 5)).to_csv(output, index=False)


@pytest.mark.parametrize(
    "how, sentence",
    [
        ("no input", "w.input.csv.gz: missing, it is the input of w_n2_tiresias.csv.gz"),
        ("no output", "holds no reference result WORKLOAD_nNODES_RUN.csv.gz"),
        ("unknown run", "unknown run 'slurm'; known are astraea-repaired, astraea, tiresias"),
        ("cut", "w_n2_tiresias.csv.gz: expected a whole table with job_id"),
        ("no gzip", "w_n2_tiresias.csv.gz: expected a whole table with job_id"),
        ("no column", "w_n2_tiresias.csv.gz: expected a whole table with job_id"),
        ("short", "30 jobs where w.input.csv.gz gives 40; the first that differs is '30'"),
        ("more", "41 jobs where w.input.csv.gz gives 40; the first that differs is '99'"),
        ("twice", "job '0' stands there twice"),
        ("hole", "job '5' lacks a figure"),
    ],
)
def test_bad_reference_files_get_a_sentence(tmp_path: Path, how: str, sentence: str) -> None:
    damage(write_runs(tmp_path, ("tiresias",)), how)
    with pytest.raises(InputError) as error:
        verify(tmp_path)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workload", "runs"),
    [
        ("w2", {"astraea-repaired", "astraea", "tiresias", "themis", "yarn"}),
        pytest.param("chrSLO", {"astraea"}, marks=pytest.mark.exhaustive),
    ],
)
def test_every_job_of_the_authors_runs_ends_in_the_same_second(shared: Path, workload: str, runs: set[str]) -> None:
    """Every scheduler on their smaller workload, and ASTRAEA itself on the larger one."""
    chosen = [r for r in references(shared / "reference") if r.workload == workload and r.run in runs]
    rows = [summarize(compare(reference)) for reference in chosen]
    assert {r["run"] for r in rows} == runs
    assert all(agrees(r) for r in rows)
