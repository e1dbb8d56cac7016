"""The comparison with the released simulator, on folders that the naive twin wrote."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from released_twin import NODES, write_runs

from astraea.core.errors import InputError
from verification.astraea_runs import agrees, compare, references, summarize, verify


@pytest.mark.parametrize("column, by", [("lease_expiry_cnt", 1), ("preempt_cnt", 1), ("fairness", 0.001)])
def test_other_differences_count_too(tmp_path: Path, good: Path, column: str, by: float) -> None:
    path = shutil.copytree(good, tmp_path, dirs_exist_ok=True) / OUTPUT
    table = pd.read_csv(path)
    table[column] = table[column].astype(float)
    table.loc[3, column] += by
    table.to_csv(path, index=False)
    (reference,) = references(tmp_path)
    assert not agrees(summarize(compare(reference)))


OUTPUT = f"w_n{NODES}_tiresias.csv.gz"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_runs(tmp_path_factory.mktemp("good"), ("tiresias",))


def changed(path: Path, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    change(pd.read_csv(path)).to_csv(path, index=False)


@pytest.mark.parametrize(
    "damage, sentence",
    [
        (lambda path: path.with_name("w.input.csv.gz").unlink(), f"missing, it is the input of {OUTPUT}"),
        (lambda path: path.unlink(), "holds no reference result WORKLOAD_nNODES_RUN.csv.gz"),
        (
            lambda path: path.rename(path.with_name(f"w_n{NODES}_slurm.csv.gz")),
            "unknown run 'slurm'; known are astraea-repaired, astraea, tiresias",
        ),
        (lambda path: path.write_bytes(path.read_bytes()[:-200]), f"{OUTPUT}: expected a whole table with job_id"),
        (lambda path: path.write_text("job_id\n"), f"{OUTPUT}: expected a whole table with job_id"),
        (
            lambda path: changed(path, lambda t: t.head(30)),
            "30 jobs where w.input.csv.gz gives 40; the first that differs is '30'",
        ),
        (
            lambda path: changed(path, lambda t: pd.concat([t, t.head(1).assign(job_id=99)])),
            "41 jobs where w.input.csv.gz gives 40; the first that differs is '99'",
        ),
        (lambda path: changed(path, lambda t: pd.concat([t, t.head(1)])), "job '0' stands there twice"),
        (
            lambda path: changed(path, lambda t: t.assign(end_time=t["end_time"].where(t["job_id"] != 5))),
            "job '5' lacks a figure",
        ),
    ],
)
def test_bad_reference_files_get_a_sentence(
    tmp_path: Path, good: Path, damage: Callable[[Path], object], sentence: str
) -> None:
    shutil.copytree(good, tmp_path, dirs_exist_ok=True)
    damage(tmp_path / OUTPUT)
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
