"""The loop over training steps, which restores the state before the first and saves it at the end of some."""

from __future__ import annotations

import atexit
import logging
import os
import pickle
import signal as signals
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from .disk import Disk
from .notice import Notice
from .ranks import Ranks, distributed, is_first_rank, leave_groups
from .slurm import RESERVE, Requeues, folder_of_job
from .states import State, content_of

log = logging.getLogger(__package__)
SIGNALS: Final = ("USR1", "USR2", "HUP", "URG")  # that Slurm sends by name, and that neither stop nor end a job
_LEFT: Final = 128 + signals.SIGTERM  # exit status of a program that SIGTERM ended


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
    contains a checksum. The last two saves are kept. An unfinished file is removed at the next start.

    Without `last_store`, the work since the last save is lost if a step does not end in time: at most `every` seconds
    and a step. `last_store` is the technique of that name in [Ye2022] Section 5.1.1; at most the unfinished step and
    the work after the save are lost. The cost is one pickle of the state per step and memory for a second copy, so
    `state` cannot be a pair of functions.

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
    place = folder_of_job() if folder is None else Path(folder)
    saves = Saves(state, every, place, last_store, signal, sharded, requeues)
    with saves._notice.listening(saves._store if last_store and is_first_rank() else None):
        saves.done = saves._disk.restore()
        yield saves
        if not saves._is_inside:
            saves._store()
        saves._leave_if(saves._ranks.agreed(saves.done, saves._notice.leaves)[0])


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
        if signal not in SIGNALS:
            raise ValueError(f"signal: expected one of {', '.join(SIGNALS)}, got {signal!r}")
        if sharded and not (isinstance(state, tuple) and distributed()):
            raise ValueError("sharded: needs a pair of functions; call torch.distributed.init_process_group first")
        if not (isinstance(requeues, int) and requeues >= 0):
            raise ValueError(f"requeues: expected a whole number of at least 0, got {requeues!r}")
        self.done = 0
        self.folder = folder
        self._state = state
        self._every = every
        self._last_store = last_store
        self._ranks = Ranks()
        self._disk = Disk(folder, state, self._ranks, sharded)
        self._notice = Notice(signals.Signals[f"SIG{signal}"])
        self._requeues = Requeues(folder, requeues if is_first_rank() else 0)
        self._is_inside = False
        self._snapshot: tuple[int, bytes] | None = None
        self._began = time.monotonic()
        self._slowest_step = 0.0

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
        is_first = is_first_rank()
        if is_first and self._last_store:
            self._snapshot = self.done, pickle.dumps(content_of(self._state), pickle.HIGHEST_PROTOCOL)
        self._notice.hear()
        is_due = is_first and time.monotonic() - self._disk.saved_at >= self._every
        end = self._requeues.end
        is_last = is_first and time.time() + self._slowest_step + self._disk.slowest + RESERVE > end
        is_due = self._notice.saves or is_due or is_last
        saves, leaves, requeues = self._ranks.agreed(self.done, is_due, self._notice.leaves, is_last)
        if saves or leaves:
            self._notice.saves = False  # before the save: a request during it asks for the next one
            self._store()
        if is_last and (not leaves or time.time() >= end):  # SIGTERM because of the end, or of something else
            self._requeues.requeue()
        self._leave_if(leaves or requeues)
        self._began = time.monotonic()

    def save_soon(self, *_: object) -> None:
        """React like the signal: save at the end of this step; with `last_store`, write the last snapshot at once."""
        self._notice.save_soon()

    def _leave_if(self, leaves: bool) -> None:
        """End the program, together with the other ranks and after all of them have saved."""
        if leaves:
            self._ranks.agreed(self.done)
            atexit.register(leave_groups)
            log.info("%s: leaving after step %d", self.folder, self.done)
            raise SystemExit(_LEFT)

    def _store(self) -> None:
        if self._snapshot or not self._last_store:
            self._disk.store(*(self._snapshot or (self.done,)))
