"""The comparison of the tables of two checkouts: what differs is named, and is an exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from verification.tables import MOST_SHOWN, compare_tables, main

GOOD = {"fig01_venus.csv": "policy,jct,seconds\nfifo,1.50,0.1\nastraea,nan,0.2\n", "fig02.csv": "x\n1\n"}


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """A checkout, and a folder of figures with the same tables."""
    for folder in (tmp_path / "old" / "figures", tmp_path / "new"):
        folder.mkdir(parents=True)
        for name, text in GOOD.items():
            (folder / name).write_text(text)
    return tmp_path / "old", tmp_path / "new"


def test_times_may_differ(sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    old, new = sides
    (new / "fig01_venus.csv").write_text(GOOD["fig01_venus.csv"].replace("0.1", "0.7"))
    assert compare_tables(old, new) == ([], 2, 5, 2)
    assert main([str(old), str(new)]) == 0
    assert capsys.readouterr().out == "2 tables, 5 values: 0 differ (2 times left out)\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("policy,jct,seconds\nfifo,1.5,0.1\nastraea,nan,0.2\n", "fig01_venus.csv, row 2: jct 1.50 became 1.5"),
        ("policy,jct,seconds\nfifo,1.50,0.1\nastraea,,0.2\n", "fig01_venus.csv, row 3: jct nan became "),
        ("policy,jct,seconds\nfifo,1.50,0.1\n", "fig01_venus.csv: 2 rows of policy, jct, seconds became 1 rows of"),
        ("policy,mean,seconds\nfifo,1.50,0.1\nastraea,nan,0.2\n", "became 2 rows of policy, mean, seconds"),
        (None, "fig01_venus.csv: only in "),
    ],
)
def test_a_difference_is_named_with_its_place(
    text: str | None, says: str, sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = sides
    if text is None:
        (new / "fig01_venus.csv").unlink()
    else:
        (new / "fig01_venus.csv").write_text(text)
    assert main([str(old), str(new)]) == 1
    first, *_, last = capsys.readouterr().out.splitlines()
    assert says in first and "1 differ" in last


def test_many_differences_of_a_table_are_counted(sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    old, new = sides
    many = MOST_SHOWN + 5
    (old / "figures" / "fig02.csv").write_text("x\n" + "1\n" * many)
    (new / "fig02.csv").write_text("x\n" + "2\n" * many)
    assert main([str(old), str(new)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == MOST_SHOWN + 2
    assert lines[-2] == "fig02.csv: 5 more"
