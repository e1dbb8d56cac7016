"""Training that resumes where it was stopped: the job's side of a lease.

A job that runs under leases gets a signal when its lease is about to end, and is stopped by SIGTERM. When it gets the
next lease, its script starts again from the beginning. Three lines prepare a training script for that::

    from astraea.checkpoint import checkpointed

    with checkpointed({"model": model, "optimizer": optimizer}, every=300) as saves:
        for epoch in saves.steps(100):
            train(model, optimizer)

At the start the state is restored from the newest complete save. It is saved at the end of a step, where it is
consistent. The first save comes after the first step, so that a state that cannot be saved shows at once. Later saves
come every 300 seconds, after a step during which the signal came, and at the end. If SIGTERM came during a step, the
state is saved and the program ends.

The signal is SIGUSR1 unless you choose another. It kills a process that does not expect it. Importing this module does
not change that; only the ``with`` does, and it restores the previous handlers when it ends. Before the ``with`` there
is nothing to save, so the batch script ignores the signal: ``trap '' USR1`` and then ``exec python train.py``. An
ignored signal stays ignored across ``exec``, and ``exec`` puts Python where Slurm sends the batch script's signals.

This file needs only the standard library and nothing else from the package, so you can copy it next to a training
script.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import math
import os
import pickle
import re
import shutil
import signal as signals
import subprocess
import sys
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
_SIGNALS: Final = ("USR1", "USR2", "HUP", "URG")  # that Slurm sends by name, and that neither stop nor end a job
_LEFT: Final = 128 + signals.SIGTERM  # exit status of a program that SIGTERM ended
_SAME: Final = 5.0  # a second SIGTERM within this time is the same one, also passed on by srun or torchrun [s]
_RESERVE: Final = 15.0  # time left of an allocation when a job requeues itself: Slurm needs time to answer [s]
_at_sigterm: list[Any] = []  # the handlers that a `with` replaced


def _in_a_forked_helper() -> None:
    """Let SIGTERM end a forked helper as if there were no `with`, and do not wake a thread of its parent."""
    if _at_sigterm:
        signals.signal(signals.SIGTERM, _at_sigterm[0])
        signals.set_wakeup_fd(-1)


os.register_at_fork(after_in_child=_in_a_forked_helper)


@runtime_checkable
class Stateful(Protocol):
    """An object that returns and loads its state, like modules, optimizers and schedulers of PyTorch."""

    def state_dict(self) -> Any:
        """Return a state that can be pickled."""

    def load_state_dict(self, state_dict: Any, /) -> Any:
        """Load a state that `state_dict` returned."""


State: TypeAlias = Stateful | dict[str, Any] | tuple[Callable[[Path], object], Callable[[Path], object]]
"""A state that `checkpointed` can save."""


@contextmanager
def checkpointed(
    state: State,
    every: float = 300.0,
    folder: str | os.PathLike[str] | None = None,
    last_store: bool = False,
    signal: str = "USR1",
    sharded: bool = False,
    requeues: int = 0,
) -> Iterator[Saves]:
    """Restore a state from its newest complete save, and save it while the ``with`` runs.

    Parameters
    ----------
    state
        One of three forms. An object with ``state_dict()`` and ``load_state_dict()``. Or a dictionary: such objects in
        it are restored in place, and other values, which must be picklable, are replaced. Or a pair of functions
        ``save(path)`` and ``load(path)`` that write and read one file with exactly this name, for `torch.save` and the
        like.
    every
        Seconds from the end of a save to the next one, 0 or more.
    folder
        Folder of this job's saves, on a file system that all nodes share. If not given, ``checkpoints/`` and the job's
        id (``SLURM_JOB_ID``, or the array's and the task's) in the working folder, so a requeued job finds its own.
        Outside Slurm, ``checkpoints/local``.
    last_store
        Keep a copy of the state in memory after every step, and write it as soon as the signal or SIGTERM arrives,
        without waiting for the step to end. Use it if a step may take longer than the notice before a lease ends.
    signal
        Name of the signal that announces the end of a lease: "USR1", "USR2", "HUP" or "URG". The coordinator
        (``signal`` in live.toml) and the batch script (``trap '' USR1``) must name the same one.
    sharded
        Call the pair of functions on every rank of `torch.distributed`, with the path of one folder that all ranks
        share; each rank writes its part into it. For `torch.distributed.checkpoint` and the like.
    requeues
        Number of times that the job may requeue itself before its ``--time`` ends. When too little time is left for
        another step, the state is saved, ``scontrol requeue`` is called, and the program ends. No effect outside Slurm.

    Yields
    ------
    Saves
        Steps to loop over.

    Raises
    ------
    ValueError
        If an argument is invalid, or if the newest complete save lacks a part of `state`.
    OSError
        If the folder cannot be made. If a later save fails, for example on a full disk, the log has a warning, training
        continues, and the earlier saves stay.
    SystemExit
        With status 143, after the save, if SIGTERM came or the job requeued itself.
    RuntimeError
        If the ranks of `torch.distributed` have done different numbers of steps.

    Notes
    -----
    A save appears atomically: it is written to a temporary file, flushed to the disk, and then renamed; its name
    contains a checksum. The last two saves are kept, plus a third while the next one is written. If a job is killed
    while it saves, its unfinished file is removed at the next start.

    Without `last_store`, the state is saved when the step during which the signal came ends. If the step does not end
    in time, the work since the last save is lost: at most `every` seconds and a step. `last_store` is the technique of
    that name in [Ye2022] Section 5.1.1. A snapshot is taken at every iteration, and at the signal a daemon (here a
    thread) writes the latest one. If the iteration ends before the job is stopped, its snapshot is written too. At most
    the unfinished step and the work after the save are lost. The cost is one pickle of the state per step and memory
    for a second copy, so `state` cannot be a pair of functions.

    SIGTERM also lets the step end; a second SIGTERM, 5 seconds later or more, ends the program at once.

    Slurm signals every process of a step. Helpers that are started inside the ``with``, by fork, spawn, forkserver or
    as other programs, survive the notice: the main thread blocks it except at the end of a step, and helpers inherit
    the block. SIGTERM ends them as before.

    Python receives signals in the main thread only. In another thread everything but the signals works, and a warning
    says so; in that case, give `Saves.save_soon` to `signal.signal` in the main thread.

    In a distributed job, all processes restore and rank 0 saves, so rank 0 must hold the whole state, unless it is
    `sharded`. With `torch.distributed`, the ranks agree at the end of every step, by a small exchange between
    CPUs: a signal to one rank is enough, and all leave together after the save. Without it, the rank is ``RANK``
    or ``SLURM_PROCID``, and each process receives its own signals.

    Saves are pickles, unless `state` is a pair of functions. Anyone who can write a pickle can run code where it is
    read, so the folder must belong to the user alone.
    """
    place = _folder_of_job() if folder is None else Path(folder)
    saves = Saves(state, every, place, last_store, signal, sharded, requeues)
    with saves._listening():
        saves._restore()
        yield saves
        if not saves._is_inside:
            saves._store()
        saves._leave_if(saves._agreed(saves._told_to_leave is not None)[0])


class Saves:
    """Training steps to loop over; the state may be saved at the end of each. Made by `checkpointed`.

    Attributes
    ----------
    done : int
        Number of finished steps, including those of earlier leases.
    folder : Path
        Folder of the saves.
    """

    def __init__(
        self, state: State, every: float, folder: Path, last_store: bool, signal: str, sharded: bool, requeues: int
    ) -> None:
        if not every >= 0:
            raise ValueError(f"every: expected a number of seconds of at least 0, got {every!r}")
        if last_store and isinstance(state, tuple):
            raise ValueError("last_store: needs a state that can be pickled; got a pair of functions")
        if signal not in _SIGNALS:
            raise ValueError(f"signal: expected one of {', '.join(_SIGNALS)}, got {signal!r}")
        if sharded and not (isinstance(state, tuple) and _distributed()):
            raise ValueError("sharded: needs a pair of functions; call torch.distributed.init_process_group first")
        if not (isinstance(requeues, int) and requeues >= 0):
            raise ValueError(f"requeues: expected a whole number of at least 0, got {requeues!r}")
        self.done = 0
        self.folder = folder
        self._state = state
        self._save, self._load = _functions(state)
        self._disk_errors: tuple[type[BaseException], ...] = (OSError,)
        if isinstance(state, tuple):  # when the disk is full, torch.save raises RuntimeError, and its dcp.save this:
            raised = getattr(sys.modules.get("torch.distributed.checkpoint"), "CheckpointException", OSError)
            self._disk_errors = (OSError, RuntimeError, raised)
        self._every = every
        self._last_store = last_store
        self._signal = signals.Signals[f"SIG{signal}"]
        self._sharded = sharded
        self._group: Any = None
        self._blocks = False
        self._is_asked = False
        self._told_to_leave: float | None = None
        self._is_inside = False
        self._due = -math.inf
        self._stored = 0
        self._whole: list[Path] = []
        self._snapshot: tuple[int, bytes] | None = None
        self._wake: int | None = None
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._slowest_step = self._slowest_save = 0.0
        self._job = os.environ.get("SLURM_JOB_ID", "")
        self._requeued = folder / f"requeued-{self._job}"  # one byte per requeue; Slurm's count includes leases
        was = self._requeued.stat().st_size if self._requeued.exists() else 0
        asks = self._job and was < requeues and self._is_first_rank
        self._end = _end_of_job(self._job) if asks else math.inf

    @property
    def _is_first_rank(self) -> bool:
        if (distributed := _distributed()) is not None:
            return bool(distributed.get_rank() == 0)
        return int(os.environ.get("RANK") or os.environ.get("SLURM_PROCID") or 0) == 0

    def steps(self, total: int) -> Iterator[int]:
        """Yield the number of each remaining step, and call `step` after each.

        A step left by ``break`` counts as unfinished, and nothing is saved; if it is finished, call `step` first.

        Parameters
        ----------
        total
            Number of steps of the whole training, including those of earlier leases.
        """
        while self.done < total:
            self._is_inside = True
            yield self.done
            self.step()

    def step(self) -> None:
        """Report the end of a step in a loop that does not use `steps`; save, and end the program, if it is time to."""
        self.done += 1
        self._is_inside = False
        self._slowest_step = max(self._slowest_step, time.monotonic() - self._began)
        is_first = self._is_first_rank
        if is_first and self._last_store:
            self._snapshot = self.done, pickle.dumps(_state_of(self._state), pickle.HIGHEST_PROTOCOL)
        if self._blocks:  # a notice that came during the step is heard now
            signals.pthread_sigmask(signals.SIG_UNBLOCK, [self._signal])
            signals.pthread_sigmask(signals.SIG_BLOCK, [self._signal])
        is_due = is_first and time.monotonic() >= self._due
        is_last = is_first and time.time() + self._slowest_step + self._slowest_save + _RESERVE > self._end
        saves, leaves, requeues = self._agreed(
            self._is_asked or is_due or is_last, self._told_to_leave is not None, is_last
        )
        if saves or leaves:
            self._is_asked = False  # before the save: a request during it asks for the next one
            self._store()
        if is_last and (not leaves or time.time() >= self._end):  # SIGTERM because of the end, or of something else
            self._requeue()
        self._leave_if(leaves or requeues)
        self._began = time.monotonic()

    def save_soon(self, *_: object) -> None:
        """React like the signal: save at the end of this step; with `last_store`, write the last snapshot at once."""
        self._is_asked = True
        if (wake := self._wake) is not None:
            os.write(wake, bytes([self._signal]))

    def _leave_soon(self, *_: object) -> None:
        """React like SIGTERM: save and end the program at the end of this step, or at once if called before."""
        if self._told_to_leave is None:
            self._told_to_leave = time.monotonic()
        elif time.monotonic() >= self._told_to_leave + _SAME:
            signals.signal(signals.SIGTERM, signals.SIG_DFL)
            signals.raise_signal(signals.SIGTERM)

    def _agreed(self, *flags: bool) -> list[bool]:
        """Return each flag as true if any rank of `torch.distributed` has it; without it, return the flags."""
        if (distributed := _distributed()) is None:
            return list(flags)
        if self._group is None:  # of CPUs, so that no GPU has to finish its queue first
            self._group = distributed.new_group(backend="gloo")
        told = sys.modules["torch"].tensor([*flags, self.done, -self.done])
        distributed.all_reduce(told, distributed.ReduceOp.MAX, group=self._group)
        *agreed, most, least = told.tolist()
        if most != -least:
            raise RuntimeError(f"ranks have done {-least} to {most} steps; expected the same number on all")
        return [bool(flag) for flag in agreed]

    def _leave_if(self, leaves: bool) -> None:
        """End the program, together with the other ranks and after all of them have saved."""
        if leaves:
            self._agreed()
            atexit.register(_leave_groups)
            log.info("%s: leaving after step %d", self.folder, self.done)
            raise SystemExit(_LEFT)

    def _requeue(self) -> None:
        """Have Slurm start this job again, and count it."""
        try:
            with open(self._requeued, "ab") as count:
                count.write(b".")
            _slurm("scontrol", "requeue", self._job)
        except (OSError, subprocess.SubprocessError) as err:
            log.error("%s: job %s could not be requeued (%s)", self.folder, self._job, err)

    def _store(self) -> None:
        """Write one save atomically and remove the oldest ones; an error of the disk is a warning."""
        if not (self._sharded or self._is_first_rank):
            return
        step, content = self._snapshot or (self.done, None)
        with self._lock:
            if step <= self._stored:
                return
            # the same on all ranks if they share the save, otherwise this process's own
            temporary = self.folder / f"{_UNFINISHED}{step if self._sharded else os.getpid()}"
            began = time.monotonic()

            def write() -> None:
                if self._sharded:
                    temporary.mkdir(exist_ok=True)
                if content is None:
                    self._save(temporary)
                else:
                    temporary.write_bytes(content)

            def give_name() -> None:
                if self._is_first_rank:
                    for part in (*temporary.rglob("*"), temporary):
                        _flush(part)
                    path = self.folder / f"step-{step:010d}-{_checksum(temporary)}.checkpoint"
                    temporary.replace(path)
                    _flush(self.folder)
                    self._whole = [path, *self._whole][:_KEPT]
                    for *_, old in _found(self.folder):
                        if old not in self._whole:
                            _remove(old)
                    log.info("%s: saved in %.1f s", path, time.monotonic() - began)

            if self._is_done(write, step) and self._is_done(give_name, step):
                self._stored = step
            elif self._is_first_rank:
                _remove(temporary)
            self._slowest_save = max(self._slowest_save, time.monotonic() - began)
            self._due = time.monotonic() + self._every

    def _is_done(self, part: Callable[[], object], step: int) -> bool:
        """Do a part of a save on all ranks; return whether no disk failed on any of them."""
        failed = False
        try:
            part()
        except self._disk_errors as err:
            failed = True
            log.warning("%s: step %d could not be saved; earlier saves are kept (%s)", self.folder, step, err)
        return not (self._agreed(failed)[0] if self._sharded else failed)

    def _restore(self) -> None:
        """Load the newest complete save; if it is damaged, warn and try the one before."""
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
                log.warning("%s: damaged, its checksum does not match; trying the save before", path)
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
        """Handle the signals, and keep a thread for the last store, while the ``with`` runs.

        The main thread blocks the notice, so helpers inherit the block, and unblocks it at the end of a step. For the
        last store, the thread unblocks it at once; the number of the signal is written to a pipe that the thread reads.
        """
        is_main = threading.current_thread() is threading.main_thread()
        with ExitStack() as end:
            if is_main:
                for number, handler in ((self._signal, self.save_soon), (signals.SIGTERM, self._leave_soon)):
                    before = signals.signal(number, handler) or signals.SIG_DFL
                    end.callback(signals.signal, number, before)
                _at_sigterm.append(before)
                end.callback(_at_sigterm.pop)
                if self._signal not in signals.pthread_sigmask(signals.SIG_BLOCK, [self._signal]):
                    end.callback(signals.pthread_sigmask, signals.SIG_UNBLOCK, [self._signal])
                self._blocks = True
            else:
                log.warning("signals reach the main thread only: here, the state is saved on schedule only")
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
                    end.callback(signals.set_wakeup_fd, signals.set_wakeup_fd(wake, warn_on_full_buffer=False))
            yield

    def _flush_at(self, heard: int) -> None:
        """Unblock the notice, and store the last snapshot whenever the notice or SIGTERM arrives."""
        signals.pthread_sigmask(signals.SIG_UNBLOCK, [self._signal])
        while _STOP not in (said := os.read(heard, 512)):
            if {self._signal, signals.SIGTERM} & {*said} and self._snapshot is not None:
                self._store()


def _functions(state: State) -> tuple[Callable[[Path], object], Callable[[Path], object]]:
    """Return a state of any kind as a pair of functions that save to a path and load from it."""
    if isinstance(state, tuple) and len(state) == 2 and all(callable(function) for function in state):
        return state
    if not isinstance(state, dict | Stateful):
        expected = "an object with state_dict() and load_state_dict(), a dictionary or a pair of functions"
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
            raise ValueError(f"{path}: has no {', '.join(sorted(missing))}; expected the same parts as in the state")
        for name, part in parts.items():
            part.load_state_dict(saved.pop(name))
        state.update(saved)

    return save, load


def _state_of(state: State) -> Any:
    if isinstance(state, Stateful):
        return state.state_dict()
    assert isinstance(state, dict)
    return {name: part.state_dict() if isinstance(part, Stateful) else part for name, part in state.items()}


def _distributed() -> Any:
    """Return `torch.distributed` if the script uses it, otherwise None."""
    distributed = sys.modules.get("torch.distributed")
    uses = distributed is not None and distributed.is_available() and distributed.is_initialized()
    return distributed if uses else None


def _leave_groups() -> None:
    """Destroy the groups of `torch.distributed`, ours and the script's, whose threads must not outlive Python."""
    if (distributed := _distributed()) is not None:
        distributed.destroy_process_group()


def _end_of_job(job: str) -> float:
    """Return the time at which Slurm ends a job, in seconds since 1970."""
    try:
        return float(os.environ.get("SLURM_JOB_END_TIME") or _slurm("squeue", "-h", "-j", job, "-o", "%e"))
    except (OSError, subprocess.SubprocessError, ValueError) as err:
        log.warning("job %s: its end is unknown, so it does not requeue itself (%s)", job, err)
        return math.inf


def _slurm(*command: str) -> str:
    """Call a program of Slurm; `SubprocessError` if it fails."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_RESERVE, env={**os.environ, "SLURM_TIME_FORMAT": "%s"}
    )
    if done.returncode != 0:
        raise subprocess.SubprocessError(done.stderr.strip())
    return done.stdout


def _folder_of_job() -> Path:
    job = os.environ.get("SLURM_JOB_ID", "local")
    if array := os.environ.get("SLURM_ARRAY_JOB_ID"):
        job = f"{array}_{os.environ['SLURM_ARRAY_TASK_ID']}"
    return Path("checkpoints", job)


def _found(folder: Path) -> list[tuple[int, str, Path]]:
    """List (steps done, checksum, path) of the saves in a folder, newest first, complete or not."""
    names = ((path, _NAME.fullmatch(path.name)) for path in folder.glob("step-*"))
    return sorted(((int(name[1]), name[2], path) for path, name in names if name), reverse=True)


def _checksum(path: Path) -> str:
    """Return a checksum of a file's content, or of the names and sizes of the files in a folder."""
    if path.is_dir():
        sizes = sorted((str(part.relative_to(path)), part.stat().st_size) for part in path.rglob("*") if part.is_file())
        return hashlib.sha256(repr(sizes).encode()).hexdigest()[:16]
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
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as err:
        log.warning("%s: cannot be removed (%s)", path, err)
