"""The program as a process: what it imports, and a reader that leaves."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from places import ROOT
from processes import ASTRAEA, run, started


@pytest.mark.parametrize(
    ("argv", "heavy"),
    [
        (["--help"], ("numpy", "pandas", "numba", "matplotlib", "sklearn", "scipy", "joblib")),
        (["policies"], ("pandas", "matplotlib", "sklearn", "scipy.linalg", "joblib")),
    ],
)
def test_a_command_imports_no_more_than_it_needs(argv: list[str], heavy: tuple[str, ...]) -> None:
    code = f"import sys; from astraea.cli.main import main; assert main({argv}) == 0; print(*sys.modules, sep='\\n')"
    loaded = run(sys.executable, "-c", code, cwd=ROOT).stdout.split("\n")
    assert "astraea.cli.main" in loaded
    assert [name for name in heavy if name in loaded] == []


@pytest.mark.skipif(os.name != "posix", reason="pipes close quietly only on POSIX systems")
def test_a_reader_that_has_enough_is_no_error() -> None:
    with started(*ASTRAEA, "policies", cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert (process.stderr.read(), process.wait()) == ("", 0)
