"""Under ``python -OO`` Python drops docstrings and assertions: what is shown and decided stays the same."""

from __future__ import annotations

import sys

import processes
import pytest

from astraea.core.text import docstring

COMMANDS = (
    "--help", "policies", "policies --json", "simulate --help", "live --help", "live status --help", "data --help",
)  # fmt: skip
SHOW = f"""
from astraea.cli.main import main
for line in {COMMANDS!r}:
    try:
        main(line.split())
    except SystemExit:
        pass
"""


@pytest.mark.exhaustive
def test_help_and_policies_are_the_same() -> None:
    bare, whole = (processes.run(sys.executable, *options, "-c", SHOW) for options in (["-OO"], []))
    assert "s, length of a lease" in bare.stdout
    assert "Download workloads, or list what can be downloaded." in bare.stdout
    assert (bare.stdout, bare.stderr) == (whole.stdout, "")


def test_what_has_no_source_has_no_docstring() -> None:
    made: dict[str, type] = {}
    exec("class Made: pass", made)
    assert docstring(made["Made"]) == ""
