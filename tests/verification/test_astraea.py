"""The comparison with the released simulator, on folders that the naive twin wrote, and `python -m verification`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from released_twin import NODES, write_runs

from astraea.cli.main import run
from astraea.core.errors import InputError
from verification import report
from verification.__main__ import verify
from verification.astraea_runs import agrees, compare, references, summarize
from verification.astraea_runs import verify as verify_astraea
from verification.gavel_runs import COLUMNS
from verification.report import COMPARISONS

OUTPUT = f"w_n{NODES}_tiresias.csv.gz"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_runs(tmp_path_factory.mktemp("good"), ("tiresias",))


def changed(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[Path], None]:
    """Change the table in a file."""
    return lambda path: change(pd.read_csv(path)).to_csv(path, index=False)


def plus(column: str, by: float) -> Callable[[Path], None]:
    """Add something to one value of a column."""
    return changed(lambda t: t.assign(**{column: t[column] + by * (t.index == 7)}))


def test_every_run_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, figures = write_runs(tmp_path), tmp_path / "figures"
    options = ("--jobs", "1", "--table", str(tmp_path / "table.csv"), "--figures", str(figures))
    assert run(verify, [str(folder), *options]) == 0
    assert "3 of 3 runs agree" in capsys.readouterr().out
    table = pd.read_csv(tmp_path / "table.csv")
    assert table["same_end_time"].tolist() == [40, 40, 40]
    assert (table["average_jct"] == table["their_average_jct"]).all()
    assert (table["lease_ends"] == table["their_lease_ends"]).all() and (table["lease_ends"] > 40).all()
    assert {path.name for path in figures.iterdir()} == {"verification_w.csv", "verification_w.png"}


@pytest.mark.parametrize(("column", "by"), [("lease_expiry_cnt", 1), ("preempt_cnt", 1), ("fairness", 0.001)])
def test_other_differences_count_too(tmp_path: Path, good: Path, column: str, by: float) -> None:
    plus(column, by)(shutil.copytree(good, tmp_path, dirs_exist_ok=True) / OUTPUT)
    (reference,) = references(tmp_path)
    assert not agrees(summarize(compare(reference)))


def test_a_difference_is_named_and_is_an_exit_code(
    tmp_path: Path, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shutil.copytree(good, tmp_path, dirs_exist_ok=True) / OUTPUT
    end = pd.read_csv(path).loc[7, "end_time"]
    plus("end_time", 1)(path)
    assert run(verify, [str(tmp_path), "--jobs", "1"]) == 1
    sentence = f"parts before {end:g} s, the first end that differs: job '7' ends at {end:g} s here"
    assert sentence in capsys.readouterr().out


@pytest.mark.parametrize(
    "damage, sentence",
    [
        (lambda path: path.with_name("w.input.csv.gz").unlink(), f"missing, it is the input of {OUTPUT}"),
        (lambda path: path.rename(path.with_name("w_n2_slurm.csv.gz")), "unknown run 'slurm'; known are"),
        (lambda path: path.write_bytes(path.read_bytes()[:-200]), f"{OUTPUT}: expected a whole table with job_id"),
        (lambda path: path.write_text("job_id\n"), f"{OUTPUT}: expected a whole table with job_id"),
        (changed(lambda t: t.drop(columns="end_time")), f"{OUTPUT}: expected a whole table with job_id"),
        (changed(lambda t: t.head(30)), "30 jobs where w.input.csv.gz gives 40; the first that differs is '30'"),
        (
            changed(lambda t: pd.concat([t, t.head(1).assign(job_id=99)])),
            "41 jobs where w.input.csv.gz gives 40; the first that differs is '99'",
        ),
        (changed(lambda t: pd.concat([t, t.head(1)])), "job '0' is listed twice"),
        (changed(lambda t: t.assign(end_time=t["end_time"].where(t["job_id"] != 5))), "job '5' lacks a figure"),
    ],
)
def test_bad_reference_files_get_a_sentence(
    tmp_path: Path, good: Path, damage: Callable[[Path], object], sentence: str
) -> None:
    shutil.copytree(good, tmp_path, dirs_exist_ok=True)
    damage(tmp_path / OUTPUT)
    with pytest.raises(InputError) as error:
        verify_astraea(tmp_path)
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


def test_the_list_names_every_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(verify, ["--list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == [*COMPARISONS, "old-versus-new-figures"]


def test_gavel_is_compared_where_there_are_results_and_its_tables_lie_beside_the_first(
    tmp_path: Path, good: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = pd.DataFrame({"trace": ["t"], "agrees": [False]})
    averages = pd.DataFrame({"system": ["LAS"], "agrees": [False]})
    monkeypatch.setattr(report, "verify_gavel", lambda folder: runs)
    monkeypatch.setattr(report, "shown_gavel", lambda table: "0 of 1 runs")
    monkeypatch.setattr(report, "verify_published", lambda throughputs: averages)
    monkeypatch.setattr(report, "shown_published", lambda table: "0 of 1 averages")
    shutil.copytree(good, tmp_path, dirs_exist_ok=True)
    (tmp_path / "made").mkdir()
    argv = [str(tmp_path), "--jobs", "1", "--table", str(tmp_path / "made" / "v.csv")]
    assert run(verify, argv) == 0
    assert "0 of 1" not in capsys.readouterr().out
    (tmp_path / "gavel").mkdir()
    pd.DataFrame(columns=COLUMNS).to_csv(tmp_path / "gavel" / "summary.csv", index=False)
    assert run(verify, argv) == 0  # what is not close is named, and is no failure
    assert capsys.readouterr().out.endswith("to four decimals.\n\n0 of 1 runs\n\n0 of 1 averages\n")
    assert sorted(p.name for p in (tmp_path / "made").iterdir()) == ["v.csv", "v_gavel.csv", "v_published.csv"]
    assert run(verify, [str(tmp_path), "ours-versus-published-gavel"]) == 0
    assert capsys.readouterr().out == "\n0 of 1 averages\n"


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["none"], "none: holds no reference result WORKLOAD_nNODES_RUN.csv.gz"),
        ([".", "ours-versus-theirs"], "unknown comparison 'ours-versus-theirs'; known are ours-versus-"),
        ([".", "ours-versus-released-gavel"], "summary.csv: no such file"),
        ([], "Missing argument 'DIR'"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    argv: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(verify, argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert err.count("\n") == 1
