"""What long work says while it goes on: lines in a log, a bar in a terminal."""

from __future__ import annotations

import os
import re
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest
from places import ROOT
from processes import run, started

from astraea.core import progress

WORK = """
from astraea.core import progress
progress.PAUSE = 0
with progress.progress("simulating", "runs", 2255) as bar:
    for _ in range(2255):
        bar.update()
"""


def test_a_log_has_complete_lines(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        run(sys.executable, "-c", WORK, cwd=ROOT, stderr=log)
    content = (tmp_path / "log").read_bytes()
    assert b"\r" not in content and b"\x1b" not in content and content.endswith(b"\n")
    lines = content.decode().splitlines()
    assert lines[0] == "simulating: 0 of 2255 runs, 0 %, ? left"
    assert all(re.fullmatch(r"simulating: \d+ of 2255 runs, \d+ %, \d\d:\d\d left", line) for line in lines[1:])
    assert lines[-1] == "simulating: 2255 of 2255 runs, 100 %, 00:00 left"


def test_a_log_gets_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(progress.progress("timing", "cases", over=range(1000))) == list(range(1000))
    assert 2 <= len(capsys.readouterr().err.splitlines()) <= 3


def test_a_terminal_has_a_bar() -> None:
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 120))
    said = b""
    with open(ours, "rb", buffering=0) as terminal:
        with started(sys.executable, "-c", WORK, cwd=ROOT, stderr=theirs) as process:
            os.close(theirs)
            with suppress(OSError):  # closed at the other end, which others than Linux tell by an empty answer
                while part := terminal.read(4096):
                    said += part
            assert process.wait() == 0
    assert b"\r" in said and "█".encode() in said and b"2255/2255" in said


def test_what_ends_early_says_how_far_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="enough"), progress.progress("simulating", "runs", 1000) as bar:
        bar.update(3)
        raise ValueError("enough")
    assert capsys.readouterr().err.splitlines()[-1].startswith("simulating: 3 of 1000 runs, 0 %")
    with progress.progress("", "runs", 3, disable=True) as bar:
        bar.update()
    assert capsys.readouterr().err == ""


def test_how_much_there_is_may_be_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.progress("reading", "lines") as bar:
        bar.update(2)
    assert capsys.readouterr().err.splitlines()[-1] == "reading: 2 of ? lines"
