"""The notice that a lease ends, and SIGTERM: both set flags that the loop reads at the end of a step."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

log = logging.getLogger(__package__)
_STOP: Final = b"\0"  # no signal has this number
_SAME: Final = 5.0  # a second SIGTERM within this time is the same one, also passed on by srun or torchrun [s]
_at_sigterm: list[Any] = []  # the handlers that a `with` replaced


def _in_a_forked_helper() -> None:
    """Let SIGTERM end a forked helper as if there were no `with`, and do not wake a thread of its parent."""
    if _at_sigterm:
        signal.signal(signal.SIGTERM, _at_sigterm[0])
        signal.set_wakeup_fd(-1)


os.register_at_fork(after_in_child=_in_a_forked_helper)


class Notice:
    """The notice, a signal with this number, and SIGTERM."""

    def __init__(self, number: signal.Signals) -> None:
        self.saves = False  #: true if the state should be saved at the end of the step
        self.leaves = False  #: true if the program should end then
        self._number = number
        self._told_to_leave = 0.0
        self._blocks = False
        self._wake: int | None = None

    def save_soon(self, *_: object) -> None:
        """React to the notice."""
        self.saves = True
        if (wake := self._wake) is not None:
            os.write(wake, bytes([self._number]))

    def leave_soon(self, *_: object) -> None:
        """React to SIGTERM; a second one ends the program at once."""
        if not self.leaves:
            self._told_to_leave = time.monotonic()
            self.leaves = True
        elif time.monotonic() >= self._told_to_leave + _SAME:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.raise_signal(signal.SIGTERM)

    def hear(self) -> None:
        """Receive a notice that came during the step."""
        if self._blocks:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [self._number])
            signal.pthread_sigmask(signal.SIG_BLOCK, [self._number])

    @contextmanager
    def listening(self, last_store: Callable[[], object] | None) -> Iterator[None]:
        """Handle the signals while the ``with`` runs; at either of them, a thread calls `last_store` if there is one.

        The main thread blocks the notice, so helpers inherit the block, and unblocks it at the end of a step. For the
        last store, the thread unblocks it at once; the number of the signal is written to a pipe that the thread reads.
        """
        is_main = threading.current_thread() is threading.main_thread()
        with ExitStack() as end:
            if is_main:
                for number, handler in ((self._number, self.save_soon), (signal.SIGTERM, self.leave_soon)):
                    before = signal.signal(number, handler) or signal.SIG_DFL
                    end.callback(signal.signal, number, before)
                _at_sigterm.append(before)
                end.callback(_at_sigterm.pop)
                if self._number not in signal.pthread_sigmask(signal.SIG_BLOCK, [self._number]):
                    end.callback(signal.pthread_sigmask, signal.SIG_UNBLOCK, [self._number])
                self._blocks = True
            else:
                log.warning("signals reach the main thread only: here, the state is saved on schedule only")
            if last_store is not None:
                heard, wake = os.pipe()
                os.set_blocking(wake, False)
                thread = threading.Thread(
                    target=self._flush_at, args=(heard, last_store), name="astraea last store", daemon=True
                )
                thread.start()
                for descriptor in (heard, wake):
                    end.callback(os.close, descriptor)
                end.callback(thread.join)
                end.callback(os.write, wake, _STOP)
                end.callback(setattr, self, "_wake", None)
                self._wake = wake
                if is_main:
                    end.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(wake, warn_on_full_buffer=False))
            yield

    def _flush_at(self, heard: int, last_store: Callable[[], object]) -> None:
        """Unblock the notice, and call `last_store` whenever the notice or SIGTERM arrives."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [self._number])
        while _STOP not in (said := os.read(heard, 512)):
            if {self._number, signal.SIGTERM} & {*said}:
                last_store()
