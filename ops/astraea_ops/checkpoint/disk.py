"""Saves of one job in a folder: each is written atomically, checked when it is read, and removed when it is old."""

from __future__ import annotations

import hashlib
import logging
import math
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from .ranks import Ranks, is_first_rank
from .states import State, functions_of

log = logging.getLogger(__package__)
_NAME: Final = re.compile(r"step-(\d+)-([0-9a-f]{16})\.checkpoint")
_UNFINISHED: Final = "unfinished-"
_KEPT: Final = 2


class Disk:
    """The saves of a state in `folder`; if `sharded`, all `ranks` write parts of each."""

    def __init__(self, folder: Path, state: State, ranks: Ranks, sharded: bool) -> None:
        self.folder = folder
        self.saved_at = -math.inf  #: end of the last save, or of the restore, on the clock of `time.monotonic`
        self.slowest = 0.0  #: time that the slowest save took [s]
        self._save, self._load = functions_of(state)
        self._errors: tuple[type[BaseException], ...] = (OSError,)
        if isinstance(state, tuple):  # when the disk is full, torch.save raises RuntimeError, and its dcp.save this:
            raised = getattr(sys.modules.get("torch.distributed.checkpoint"), "CheckpointException", OSError)
            self._errors = (OSError, RuntimeError, raised)
        self._ranks = ranks
        self._sharded = sharded
        self._stored = 0
        self._whole: list[Path] = []
        self._lock = threading.Lock()

    def store(self, step: int, content: bytes | None = None) -> None:
        """Write a save of this step, of the state or of a pickle of it; an error of the disk is a warning."""
        if not (self._sharded or is_first_rank()):
            return
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
                if is_first_rank():
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
            elif is_first_rank():
                _remove(temporary)
            self.saved_at = time.monotonic()
            self.slowest = max(self.slowest, self.saved_at - began)

    def _is_done(self, part: Callable[[], object], step: int) -> bool:
        """Do a part of a save on all ranks; return whether no disk failed on any of them."""
        failed = False
        try:
            part()
        except self._errors as err:
            failed = True
            log.warning("%s: step %d could not be saved; earlier saves are kept (%s)", self.folder, step, err)
        return not (self._ranks.agreed(step, failed)[0] if self._sharded else failed)

    def restore(self) -> int:
        """Load the newest complete save, and return its steps; if it is damaged, warn and try the one before."""
        if is_first_rank():
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
            self._stored = step
            self._whole = [path]
            if is_first_rank():
                for *_, old in found[index + _KEPT :]:  # left by a kill after a save got its name
                    _remove(old)
            self.saved_at = time.monotonic()
            log.info("%s: restored, %d steps are done", path, step)
            return step
        log.info("%s: no save to restore, starting at the beginning", self.folder)
        return 0


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
