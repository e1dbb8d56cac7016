"""Progress of long work: lines in a log, a bar in a terminal."""

from __future__ import annotations

import os
import re
import sys
import termios
from contextlib import suppress

import pytest

from astraea.core import progress


def test_a_log_has_complete_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PAUSE", 0)
    assert list(progress.progress("simulating", "runs", over=range(2255))) == list(range(2255))
    content = capsys.readouterr().err
    assert "\r" not in content and "\x1b" not in content and content.endswith("\n")
    lines = content.splitlines()
    assert lines[0] == "simulating: 0 of 2255 runs, 0 %, ? left"
    assert all(re.fullmatch(r"simulating: \d+ of 2255 runs, \d+ %, \d\d:\d\d left", line) for line in lines[1:])
    assert lines[-1] == "simulating: 2255 of 2255 runs, 100 %, 00:00 left"


def test_a_log_gets_few_lines_and_the_last_says_how_far_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="enough"), progress.progress("simulating", "runs", 1000) as bar:
        bar.update(3)
        raise ValueError("enough")
    lines = capsys.readouterr().err.splitlines()
    assert 2 <= len(lines) <= 3 and lines[-1].startswith("simulating: 3 of 1000 runs, 0 %")
    with progress.progress("", "runs", 3, disable=True) as bar:
        bar.update()
    assert capsys.readouterr().err == ""
    with progress.progress("reading", "lines") as bar:  # of which nobody knows how many there are
        bar.update(2)
    assert capsys.readouterr().err.splitlines()[-1] == "reading: 2 of ? lines"


def test_a_terminal_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 120))
    with open(ours, "rb", buffering=0) as read, open(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        assert len(list(progress.progress("simulating", "runs", over=range(2255)))) == 2255
        terminal.close()
        said = b""
        with suppress(OSError):  # closed at the other end, which others than Linux tell by an empty answer
            while part := read.read(4096):
                said += part
    assert b"\r" in said and "█".encode() in said and b"2255/2255" in said
