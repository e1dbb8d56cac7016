"""The flag that signals set."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import processes

from astraea.live.stopping import Stopping

WAITS = """
import signal, sys
from astraea.live.stopping import Stopping

stopping = Stopping()
with stopping.on(signal.SIGTERM):
    print("ready", flush=True)
    sys.exit(0 if stopping.wait(3600) else 1)
"""


def test_a_wait_ends_by_itself_or_when_somebody_asks() -> None:
    stopping = Stopping()
    assert not stopping.wait(0)
    asker = threading.Thread(target=stopping.ask)
    asker.start()
    assert stopping.wait(3600)
    asker.join()
    assert stopping.wait(3600)  # and stays so


def test_a_handler_takes_no_lock_that_the_main_thread_may_hold() -> None:
    stopping = Stopping()

    def held(frame: object, event: str, arg: object) -> None:
        if event == "line":  # between any two lines of a wait
            stopping.ask()

    sys.settrace(lambda frame, event, arg: held if frame.f_globals.get("__name__") == Stopping.__module__ else None)
    try:
        assert stopping.wait(3600)
    finally:
        sys.settrace(None)
    locks = [value for value in vars(stopping).values() if isinstance(value, (threading.Event, threading.Condition))]
    assert locks == []


def test_a_pipe_that_is_full_stops_nobody() -> None:
    stopping = Stopping()
    for _ in range(200_000):
        stopping.ask()
    assert stopping.wait(3600)


def test_a_signal_ends_the_wait_also_one_that_comes_just_before_it() -> None:
    stopping = Stopping()
    before = signal.getsignal(signal.SIGUSR2)
    with stopping.on(signal.SIGUSR2):
        os.kill(os.getpid(), signal.SIGUSR2)
        assert stopping.wait(3600)
    assert signal.getsignal(signal.SIGUSR2) == before
    assert signal.set_wakeup_fd(-1) == -1


def test_a_process_that_waits_ends_at_a_signal() -> None:
    with processes.started(sys.executable, "-c", WAITS, stdout=subprocess.PIPE) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
        one.send_signal(signal.SIGTERM)
        assert one.wait() == 0
