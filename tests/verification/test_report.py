"""`python -m verification` as a user sees it: what it prints and writes, its exit code, and how it refuses."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from released_twin import NODES, write_runs

from astraea.cli.main import run
from verification import report
from verification.__main__ import verify
from verification.gavel_runs import COLUMNS
from verification.report import COMPARISONS


def test_it_prints_the_table_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, table = write_runs(tmp_path), tmp_path / "table.csv"
    code = run(verify, [str(folder), "--jobs", "1", "--table", str(table), "--figures", str(tmp_path / "figures")])
    assert code == 0
    assert "3 of 3 runs agree" in capsys.readouterr().out
    assert list(pd.read_csv(table)["same_end_time"]) == [40, 40, 40]
    assert {p.name for p in (tmp_path / "figures").iterdir()} == {f"verification_w.{e}" for e in ("csv", "png")}


def test_a_difference_is_named_and_is_an_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_runs(tmp_path, ("tiresias",)) / f"w_n{NODES}_tiresias.csv.gz"
    table = pd.read_csv(path)
    end = table.loc[7, "end_time"]
    table.loc[7, "end_time"] = end + 1
    table.to_csv(path, index=False)
    assert run(verify, [str(tmp_path), "--jobs", "1"]) == 1
    sentence = f"parts before {end:g} s, the first end that differs: job '7' ends at {end:g} s here"
    assert sentence in capsys.readouterr().out


def test_the_list_names_every_comparison_as_one_versus_another(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(verify, ["--list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == [*COMPARISONS, "old-versus-new-figures"]
    assert all(len(name.split("-versus-")) == 2 for name in names)


def test_gavel_is_compared_where_there_are_results_and_its_tables_lie_beside_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = pd.DataFrame({"trace": ["t"], "agrees": [False]})
    averages = pd.DataFrame({"system": ["LAS"], "agrees": [False]})
    monkeypatch.setattr(report, "verify_gavel", lambda folder: runs)
    monkeypatch.setattr(report, "shown_gavel", lambda table: "0 of 1 runs")
    monkeypatch.setattr(report, "verify_published", lambda throughputs: averages)
    monkeypatch.setattr(report, "shown_published", lambda table: "0 of 1 averages")
    argv = [str(write_runs(tmp_path, ("tiresias",))), "--jobs", "1", "--table", str(tmp_path / "made" / "v.csv")]
    (tmp_path / "made").mkdir()
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
