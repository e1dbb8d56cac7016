"""Processes that tests start: they receive every signal, read nothing, and end with the test, with their children.

A test that starts a process in another way would depend on its shell. In the background of a shell without job control,
everything ignores Ctrl-C.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest

HANG: Final = 1800.0
"""Longest wait, so that a test that hangs fails; far above the need of a busy machine [s]."""

ASTRAEA: Final = (sys.executable, "-c", "import sys; from astraea.cli.main import main; sys.exit(main())")
"""The command `astraea` of this Python."""


@contextmanager
def started(
    *command: str | Path, env: Mapping[str, str] | None = None, **options: Any
) -> Iterator[subprocess.Popen[str]]:
    """Start a command in a group of its own, and kill the group at the end of the `with` block.

    `env` is added to the environment of the tests; `options` are those of `subprocess.Popen`.
    """
    given = {"stdin": subprocess.DEVNULL, "text": True, "encoding": "utf-8", **options}
    with _heard():
        process = subprocess.Popen(
            [str(word) for word in command], env={**os.environ, **(env or {})}, start_new_session=True, **given
        )
    watch = threading.Timer(HANG, _kill, [process])
    watch.daemon = True
    watch.start()
    with process:  # closes the pipes, and waits
        try:
            yield process
        finally:
            watch.cancel()
            _kill(process)


def run(
    *command: str | Path, env: Mapping[str, str] | None = None, check: bool = True, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; `AssertionError` with what it said if `check` and it fails. Arguments of `started`."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    with started(*command, env=env, **pipes) as process:
        out, err = process.communicate()
    assert process.returncode == 0 or not check, f"{command[0]} ended with {process.returncode}: {err}{out}"
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def python(version: str) -> str:
    """Find a Python such as 3.12, on the path or of pyenv; skip the test if there is none that works."""
    wanted = (shutil.which(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for path in filter(None, wanted):
        if run(path, "-c", "", check=False).returncode == 0:
            return str(path)
    pytest.skip(f"there is no Python {version} here")


def wait_until(holds: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    """Wait until something holds; `AssertionError` if `process` ends before, or nothing happens."""
    end = time.monotonic() + HANG
    while not holds():
        has_ended = process is not None and process.poll() is not None
        assert holds() or not has_ended, "the process ended before"
        assert time.monotonic() < end, f"not within {HANG:g} s"
        time.sleep(0.02)


@contextmanager
def _heard() -> Iterator[None]:
    """Let children receive signals that this process ignores or blocks: a handled signal has its default in a child."""
    ignored = [number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, lambda *_: None)
    blocked = signal.pthread_sigmask(signal.SIG_SETMASK, [])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


def _kill(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError, PermissionError):  # nobody of the group is left; macOS says the other
        os.killpg(process.pid, signal.SIGKILL)
