"""A flag that a signal handler may set, and a wait that the flag ends at once.

A `threading.Event` takes a lock, which the main thread may hold when the signal comes. Here the handler sets an
attribute, and the interpreter itself writes into a pipe (`signal.set_wakeup_fd`), also for a signal that comes just
before the main thread begins to wait.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Stopping:
    """Whether somebody asked for the end."""

    def __init__(self) -> None:
        self.is_asked = False
        self._reads, self._writes = os.pipe()
        os.set_blocking(self._reads, False)
        os.set_blocking(self._writes, False)

    def __del__(self) -> None:
        os.close(self._reads)
        os.close(self._writes)

    def ask(self, *_: object) -> None:
        """Ask for the end; takes no lock."""
        self.is_asked = True
        with suppress(BlockingIOError):  # a pipe that is full wakes too
            os.write(self._writes, b"\0")

    def wait(self, seconds: float) -> bool:
        """Wait for so many seconds, or until somebody asks; return whether somebody did."""
        if not self.is_asked:
            select.select([self._reads], [], [], seconds)
            with suppress(BlockingIOError):
                os.read(self._reads, select.PIPE_BUF)
        return self.is_asked

    @contextmanager
    def on(self, *signals: signal.Signals) -> Iterator[None]:
        """Let signals ask for the end meanwhile; only in the main thread."""
        before = {one: signal.signal(one, self.ask) for one in signals}
        descriptor = signal.set_wakeup_fd(self._writes, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(descriptor)
            for one, handler in before.items():
                signal.signal(one, handler)
