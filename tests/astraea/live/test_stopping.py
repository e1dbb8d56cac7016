"""The flag that signals set."""

from __future__ import annotations

import os
import signal
import sys
import threading

import pytest

from astraea.live.stopping import Stopping


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


@pytest.mark.parametrize("later", [0.0, 0.1])
def test_a_signal_ends_the_wait_also_one_that_comes_just_before_it(later: float) -> None:
    stopping = Stopping()
    before = signal.getsignal(signal.SIGALRM)
    with stopping.on(signal.SIGALRM):
        if later:
            signal.setitimer(signal.ITIMER_REAL, later)
        else:
            os.kill(os.getpid(), signal.SIGALRM)
        assert stopping.wait(60)
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.set_wakeup_fd(-1) == -1
