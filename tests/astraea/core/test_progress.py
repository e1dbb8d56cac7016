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
progress.PAUSE = float("inf")  # another line only for what is done, however slow the machine is
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
    assert lines[0] == "simulating: 0 of 2,255 runs, 0 %" and 10 <= len(lines) <= 13
    form = r"simulating: [\d,]+ of 2,255 runs, \d+ %, done in about \d+ s \(at \d\d:\d\d\)"
    assert all(re.fullmatch(form, line) for line in lines[1:-1])
    assert re.fullmatch(r"simulating: 2,255 of 2,255 runs, 100 %, took \d+ s", lines[-1])


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
    assert b"\r" in said and "█".encode() in said and b"of 2,255 runs" in said and b"took" in said


def test_what_ends_early_says_how_far_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="enough"), progress.progress("simulating", "runs", 1000) as bar:
        bar.update(3)
        raise ValueError("enough")
    assert capsys.readouterr().err.splitlines()[1].startswith("simulating: 3 of 1,000 runs, 0 %, done in about")
    with progress.progress("", "runs", 3, disable=True) as bar:
        bar.update()
    assert capsys.readouterr().err == ""


def test_a_line_comes_after_a_pause_and_tells_the_day(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    with progress.progress("reading", "MB", 100_000_000_000, scale=1e-6) as bar:
        bar.start_t -= 3600
        bar.update(1_000_000_000)
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"reading: 1,000 of 100,000 MB, 1 %, done in about 4.1\d d \(at \w{3} \d\d:\d\d\)", lines[1])
    with progress.progress("reading", "MB", scale=1e-6) as bar:  # nobody said how much it is
        bar.update(2_000_000)
    assert capsys.readouterr().err.splitlines()[-1] == "reading: 2 MB"
    with progress.progress("timing", "cases", over=[1, 2]) as bar:
        assert list(bar) == [1, 2]
