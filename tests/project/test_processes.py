"""Starting processes in tests: all in one way, which depends neither on the shell nor on other tests."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest
from places import ROOT
from processes import run, started, wait_until

SIGNALS = "import signal, sys; print(*[int(signal.getsignal(int(n)) is signal.SIG_IGN) for n in sys.argv[1:]])"
BLOCKED = "import signal; print(len(signal.pthread_sigmask(signal.SIG_BLOCK, [])))"
PARENT = "from subprocess import Popen; Popen(['sleep', '1000']); print('there', flush=True); open(0).read()"

STARTING = re.compile(
    r"\b((?:subprocess|multiprocessing|os|pty|asyncio)\.(?:Popen|Pool|Process|call|run|system|popen|get_context"
    r"|check_call|check_output|getoutput|getstatusoutput|fork|forkpty|\w*spawn\w*|create_subprocess_\w+))\("
)


def test_a_process_hears_what_the_tests_ignore_and_block() -> None:
    """Start it as in the background of a shell without job control, and under nohup."""
    numbers = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGTERM)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGUSR2])
    try:
        assert run(sys.executable, "-c", SIGNALS, *(f"{number:d}" for number in numbers)).stdout.split() == ["0"] * 5
        assert run(sys.executable, "-c", BLOCKED).stdout == "0\n"
        assert [signal.getsignal(number) for number in numbers] == [signal.SIG_IGN] * 5  # here all is as before
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) >= {signal.SIGINT, signal.SIGUSR2}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize("has_ended", [False, True])
def test_what_a_process_started_ends_with_it(has_ended: bool) -> None:
    command = (sys.executable, "-W", "ignore", "-c", PARENT)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with pytest.raises(LookupError, match="of a test"), started(*command, **pipes) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "there\n"
        if has_ended:
            process.stdin.close()
            assert process.wait() == 0
        os.killpg(process.pid, 0)  # somebody of the group is there
        raise LookupError("of a test")
    assert process.poll() is not None and process.stdout.closed

    def nobody() -> bool:
        try:
            os.killpg(process.pid, 0)
        except (ProcessLookupError, PermissionError):
            return True
        return False

    wait_until(nobody)


def test_a_process_has_an_empty_input_and_says_why_it_fails() -> None:
    assert run(sys.executable, "-c", "import sys; print(repr(sys.stdin.read()))").stdout == "''\n"
    assert run(sys.executable, "-c", "raise SystemExit(3)", check=False).returncode == 3
    with pytest.raises(AssertionError, match="ended with 1: because"):
        run(sys.executable, "-c", "raise SystemExit('because')")
    with started(sys.executable, "-c", "") as process, pytest.raises(AssertionError, match="ended before"):
        wait_until(lambda: False, process)


def test_no_test_starts_a_process_in_another_way() -> None:
    """Exempt are the helper itself, one that forks coordinators, and a program that runs tests and is none."""
    paths = [path for tests in ("tests", "ops/tests") for path in (ROOT / tests).rglob("*.py")]
    files = [path for path in paths if path.parent.name != "slurm"]
    assert len(files) > 100
    found = {path.name: set(STARTING.findall(path.read_text(encoding="utf-8"))) for path in files}
    starting = {name: calls for name, calls in found.items() if calls}
    assert starting == {
        "processes.py": {"subprocess.Popen"}, "live_process.py": {"os.fork"}, "one_token_changes.py": {"subprocess.run"}
    }  # fmt: skip
