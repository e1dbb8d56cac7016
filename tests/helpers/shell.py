"""Commands that must fail, and a good file that they are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from astraea.cli.main import main

GOOD = "job_id,user,num_gpu,submit_time,duration\n1,a,1,0,100\n2,a,2,5,200\n3,b,1,9,50\n"


def refused(argv: list[str], capsys: pytest.CaptureFixture[str], *says: str, code: int = 2) -> str:
    """Run a command that must fail with one sentence containing this text."""
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
    """Assert that the folder has no new file, not even a hidden one."""
    assert not (folder / "out").exists()
    assert not list(folder.glob(".astraea-*"))
    assert not list(folder.rglob(".*.zip.*"))
