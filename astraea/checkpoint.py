"""Training that goes on where it was stopped: a job's side of a lease.

A job that runs under leases is told by SIGUSR1 that its lease ends, is stopped, and starts again from the beginning of
its script when it gets the next lease. Three lines make a training script ready for that::

    from astraea.checkpoint import checkpointed

    with checkpointed({"model": model, "optimizer": optimizer}, every=300) as saves:
        for epoch in saves.steps(100):
            train(model, optimizer)

At the start the state is restored from the newest whole save. It is saved at the end of a step, where it is consistent:
after the first one, so that a state that cannot be saved is known at once; then every 300 seconds; when SIGUSR1 came
during the step; and at the end.

SIGUSR1 kills a process that does not expect it. Importing this module changes nothing about that, only the ``with``
does, and when it ends the handler of before is back. Until then there is nothing to save, and the batch script has the
signal ignored: ``trap '' USR1`` and then ``exec python train.py``. What is ignored stays ignored across ``exec``, and
``exec`` puts Python where Slurm sends the batch script's signals.

This file needs the standard library only, and nothing else of the package: it can be copied next to a training script.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import pickle
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

__all__ = ["Saves", "State", "Stateful", "checkpointed"]

log = logging.getLogger(__name__)
_NAME: Final = re.compile(r"step-(\d+)-([0-9a-f]{16})\.checkpoint")
_UNFINISHED: Final = "unfinished-"
_KEPT: Final = 2
_STOP: Final = b"\0"  # no signal has this number


@runtime_checkable
class Stateful(Protocol):
    """What can say its state and take it back, as modules, optimizers and schedulers of PyTorch can."""

    def state_dict(self) -> Any:
        """Return a state that can be pickled."""

    def load_state_dict(self, state_dict: Any, /) -> Any:
        """Take a state back."""


State: TypeAlias = Stateful | dict[str, Any] | tuple[Callable[[Path], object], Callable[[Path], object]]
"""What `checkpointed` can save."""


@contextmanager
def checkpointed(
    state: State, every: float = 300.0, folder: str | os.PathLike[str] | None = None, last_store: bool = False
) -> Iterator[Saves]:
    """Restore a state from its newest whole save, and save it while the ``with`` runs.

    Parameters
    ----------
    state
        An object with ``state_dict()`` and ``load_state_dict()``; or a dictionary of such objects, which are restored
        in place, and of anything else that can be pickled, which is replaced in the dictionary; or a pair of functions
        ``save(path)`` and ``load(path)`` that write and read one file of this very name, for `torch.save` and the like.
    every
        Seconds from the end of a save to the next one, 0 or more.
    folder
        Where this job's saves are, on a file system that all nodes share. If not given, ``checkpoints/`` and the job's
        id (``SLURM_JOB_ID``, or the array's and the task's) in the working folder: a requeued job finds its own.
        Outside Slurm it is ``checkpoints/local``.
    last_store
        Keep a copy of the state in memory after every step, and write it as soon as SIGUSR1 comes, without waiting for
        the end of the step. For steps that may take longer than the notice before a lease ends.

    Yields
    ------
    Saves
        Steps to loop over.

    Raises
    ------
    ValueError
        If `state` or `every` cannot be used, or if the newest whole save lacks a part of `state`.
    OSError
        If the folder cannot be made. That a later save fails, on a full disk for example, is a warning in the log, and
        training goes on; the saves before it stay.

    Notes
    -----
    A save appears in one step: it is written to a temporary file, which is flushed to the disk and then gets its name,
    with a checksum in it. The last two are kept; while the next one is written there is a third. What a job that was
    killed left unfinished is removed at its next start.

    Without `last_store`, SIGUSR1 sets a flag and the state is saved when the step ends. If it does not end in time, the
    work since the last save is lost: at most `every` seconds and a step. With it, this is the last store technique of
    [Ye2022] Section 5.1.1: a snapshot at every iteration; at the signal, a daemon (here a thread) flushes the latest
    one; an updated one is stored too if the iteration ends before the job is stopped. Then at most the step that was
    not finished is lost, and what was done after the save. It costs a pickle of the state in every step and its memory
    once more, so a pair of functions cannot be used with it.

    Python hears signals in the main thread only. In another thread all works but this, and a warning says so; there,
    give `Saves.save_soon` to `signal.signal` in the main thread.

    Of a distributed job, all processes restore and the one of rank 0 (``RANK`` or ``SLURM_PROCID``) saves, so its state
    must be the whole one. The ``with`` belongs before the first exchange between the processes.

    Saves are pickles, unless `state` is a pair of functions, and whoever can write a pickle can run code where it is
    read. The folder must be the user's own.
    """
    saves = Saves(state, every, _folder_of_job() if folder is None else Path(folder), last_store)
    with saves._listening():
        saves._restore()
        yield saves
        if saves._is_first_rank and not saves._is_inside:
            saves._store()


class Saves:
    """Steps to loop over, at the end of which the state may be saved; `checkpointed` makes it.

    Attributes
    ----------
    done : int
        Steps that have ended, those of earlier leases among them.
    folder : Path
        Where the saves are.
    """

    def __init__(self, state: State, every: float, folder: Path, last_store: bool) -> None:
        if not every >= 0:
            raise ValueError(f"every: {every!r} is not a number of seconds, 0 or more")
        if last_store and isinstance(state, tuple):
            raise ValueError("last_store: needs a state that can be pickled; got a pair of functions")
        self.done = 0
        self.folder = folder
        self._state = state
        self._save, self._load = _functions(state)
        # torch.save raises RuntimeError when the disk is full
        self._disk_errors = (OSError, RuntimeError) if isinstance(state, tuple) else (OSError,)
        self._every = every
        self._last_store = last_store
        self._is_first_rank = int(os.environ.get("RANK") or os.environ.get("SLURM_PROCID") or 0) == 0
        self._is_asked = False
        self._is_inside = False
        self._due = -math.inf
        self._stored = 0
        self._whole: list[Path] = []
        self._snapshot: tuple[int, bytes] | None = None
        self._wake: int | None = None
        self._lock = threading.Lock()

    def steps(self, total: int) -> Iterator[int]:
        """Give the numbers of the steps that are still to do, and end each with `step`.

        A step that is left by ``break`` is not finished, and nothing is saved then; call `step` before, if it is.

        Parameters
        ----------
        total
            Steps of the whole training, those of earlier leases among them.
        """
        while self.done < total:
            self._is_inside = True
            yield self.done
            self.step()

    def step(self) -> None:
        """Tell that a step has ended, in a loop that `steps` does not fit; saves if it is time to."""
        self.done += 1
        self._is_inside = False
        if not self._is_first_rank:
            return
        if self._last_store:
            self._snapshot = self.done, pickle.dumps(_state_of(self._state), pickle.HIGHEST_PROTOCOL)
        if self._is_asked or time.monotonic() >= self._due:
            self._is_asked = False  # before the save: who asks during it wants the next one
            self._store()

    def save_soon(self, *_: object) -> None:
        """Do what SIGUSR1 does: save at the end of this step, and with `last_store` the last snapshot at once."""
        self._is_asked = True
        if (wake := self._wake) is not None:
            os.write(wake, bytes([signal.SIGUSR1]))

    def _store(self) -> None:
        """Write one save in one step, and forget those that are too old; a disk that fails is a warning."""
        step, content = self._snapshot or (self.done, None)
        with self._lock:
            if step <= self._stored:
                return
            temporary, began = self.folder / f"{_UNFINISHED}{os.getpid()}", time.monotonic()
            try:
                if content is None:
                    self._save(temporary)
                else:
                    temporary.write_bytes(content)
                _flush(temporary)
                path = self.folder / f"step-{step:010d}-{_checksum(temporary)}.checkpoint"
                temporary.replace(path)
                _flush(self.folder)
                self._stored, self._whole = step, [path, *self._whole][:_KEPT]
                for *_, old in _found(self.folder):
                    if old not in self._whole:
                        _remove(old)
                log.info("%s: saved in %.1f s", path, time.monotonic() - began)
            except self._disk_errors as err:
                log.warning("%s: step %d could not be saved, earlier saves stay (%s)", self.folder, step, err)
                _remove(temporary)
            finally:
                self._due = time.monotonic() + self._every

    def _restore(self) -> None:
        """Take the newest save that is whole; fall back to the one before with a warning."""
        if self._is_first_rank:
            self.folder.mkdir(parents=True, exist_ok=True)
            for left in self.folder.glob(f"{_UNFINISHED}*"):
                _remove(left)
        found = _found(self.folder)
        for index, (step, checksum, path) in enumerate(found):
            try:
                is_whole = _checksum(path) == checksum
            except OSError as err:
                log.warning("%s: cannot be read (%s); trying the save before", path, err)
                continue
            if not is_whole:
                log.warning("%s: damaged, its checksum is another one; trying the save before", path)
                continue
            try:
                self._load(path)
            except Exception as err:
                err.add_note(f"while restoring {path}; to start from the beginning, remove {self.folder}")
                raise
            self.done = self._stored = step
            self._whole = [path]
            if self._is_first_rank:
                for *_, old in found[index + _KEPT :]:  # left by a kill after a save got its name
                    _remove(old)
            self._due = time.monotonic() + self._every
            log.info("%s: restored, %d steps are done", path, step)
            return
        log.info("%s: no save to restore, starting at the beginning", self.folder)

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Hear SIGUSR1, and keep a thread for the last store, for as long as the ``with`` runs.

        Python runs a handler when the main thread is back from library code, which may be at the end of the step. The
        number of the signal is written to a pipe at once, and another thread can read it.
        """
        is_main = threading.current_thread() is threading.main_thread()
        with ExitStack() as end:
            if is_main:
                before = signal.signal(signal.SIGUSR1, self.save_soon)
                end.callback(signal.signal, signal.SIGUSR1, signal.SIG_DFL if before is None else before)
            else:
                log.warning("SIGUSR1 is heard in the main thread only: here, saves are made at their own pace")
            if self._last_store and self._is_first_rank:
                heard, wake = os.pipe()
                os.set_blocking(wake, False)
                thread = threading.Thread(target=self._flush_at, args=(heard,), name="astraea last store", daemon=True)
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

    def _flush_at(self, heard: int) -> None:
        """Store the last snapshot whenever the signal is heard."""
        while _STOP not in (said := os.read(heard, 512)):
            if signal.SIGUSR1 in said and self._snapshot is not None:
                self._store()


def _functions(state: State) -> tuple[Callable[[Path], object], Callable[[Path], object]]:
    """Give a state of any kind as a pair of functions that save to a path and load from it."""
    if isinstance(state, tuple) and len(state) == 2 and all(callable(function) for function in state):
        return state
    if not isinstance(state, dict | Stateful):
        expected = "an object with state_dict() and load_state_dict(), a dictionary, or a pair of functions"
        raise ValueError(f"state: {state!r} cannot be saved; expected {expected}")

    def save(path: Path) -> None:
        with open(path, "wb") as file:
            pickle.dump(_state_of(state), file, pickle.HIGHEST_PROTOCOL)

    def load(path: Path) -> None:
        with open(path, "rb") as file:
            saved = pickle.load(file)
        if isinstance(state, Stateful):
            state.load_state_dict(saved)
            return
        parts = {name: part for name, part in state.items() if isinstance(part, Stateful)}
        if missing := parts.keys() - saved.keys():
            raise ValueError(f"{path}: has no {', '.join(sorted(missing))}; expected a save of the same parts")
        for name, part in parts.items():
            part.load_state_dict(saved.pop(name))
        state.update(saved)

    return save, load


def _state_of(state: State) -> Any:
    if isinstance(state, Stateful):
        return state.state_dict()
    assert isinstance(state, dict)
    return {name: part.state_dict() if isinstance(part, Stateful) else part for name, part in state.items()}


def _folder_of_job() -> Path:
    job = os.environ.get("SLURM_JOB_ID", "local")
    if array := os.environ.get("SLURM_ARRAY_JOB_ID"):
        job = f"{array}_{os.environ['SLURM_ARRAY_TASK_ID']}"
    return Path("checkpoints", job)


def _found(folder: Path) -> list[tuple[int, str, Path]]:
    """List steps done, checksum and path of the saves in a folder, the newest first, whether whole or not."""
    names = ((path, _NAME.fullmatch(path.name)) for path in folder.glob("step-*"))
    return sorted(((int(name[1]), name[2], path) for path, name in names if name), reverse=True)


def _checksum(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def _flush(path: Path) -> None:
    """Make a file, or the names in a folder, survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as err:
        log.warning("%s: cannot be removed (%s)", path, err)
