"""Commands that must fail, and the files that they are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from astraea.cli.main import main

HEADER = "job_id,user,num_gpu,submit_time,duration\n"


GOOD = HEADER + "1,a,1,0,100\n2,a,2,5,200\n3,b,1,9,50\n"


def write_files(folder: Path) -> None:
    """Write one good trace, and bad ones."""
    for name, text in {
        "good.csv": GOOD,
        "row.csv": GOOD.replace("2,a,2,5,200", "2,a,2x,5,200"),
        "huge.csv": HEADER + "1,a,64,0,100\n",
        "shares.csv": "name,share\na,1\n",
        "file": "x",
    }.items():
        (folder / name).write_text(text)
    (folder / "folder").mkdir()


def refused(argv: list[str], capsys: pytest.CaptureFixture[str], *says: str, code: int = 2) -> str:
    """Run a command that must fail with one sentence that says this."""
    assert main(argv) == code
    out, err = capsys.readouterr()
    err = "".join(line for line in err.splitlines(keepends=True) if not line.startswith("simulating: "))
    assert err.startswith("astraea: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1, err
    assert "Traceback" not in err
    assert out == ""
    for words in says:
        assert words in err, err
    return err


def clean(folder: Path) -> None:
    """Nothing new stands there, not even something hidden."""
    assert not (folder / "out").exists()
    assert not list(folder.glob(".astraea-*"))
    assert not list(folder.rglob(".*.zip.*"))


RUN = ["--nodes", "1", "--gpus-per-node", "8"]


S = ["--time-unit", "s"]
