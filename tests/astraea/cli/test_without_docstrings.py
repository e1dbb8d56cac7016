"""Under ``python -OO`` Python drops docstrings and assertions: what is shown and decided stays the same."""

from __future__ import annotations

import sys
from functools import cache

import processes
import pytest

from astraea.core.docstrings import docstring

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


@cache
def shown(*options: str) -> str:
    """Return what the commands print, in one process."""
    done = processes.run(sys.executable, *options, "-c", SHOW)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.exhaustive
def test_help_and_policies_are_the_same() -> None:
    assert "s, length of a lease" in shown("-OO")
    assert "Download workloads, or list what can be downloaded." in shown("-OO")
    assert shown("-OO") == shown()


def test_what_has_no_source_has_no_docstring() -> None:
    made: dict[str, type] = {}
    exec("class Made: pass", made)
    assert docstring(made["Made"]) == ""
