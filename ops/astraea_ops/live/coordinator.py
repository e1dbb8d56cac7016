"""The service: a round at every interval, notices in between, until it is stopped ([Ye2022] §5.1, Figs 7 and 8).

Failures are logged and tried again at the next round: Slurm does not answer or refuses a command, or a disk is full. An
unexpected error costs one round too: its traceback is logged, the ledger counts it, and the next round starts from the
last complete state. No job loses a lease in a round in which Slurm could not be asked. No job is stopped soon after
slurmctld was started: slurmctld may not know yet that a job has ended, and would run it again.
"""

from __future__ import annotations

import gc
import logging
import math
import os
import select
import signal
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, Final

from astraea.core.errors import InputError, PolicyError
from astraea.core.text import escaped
from astraea_ops.live.answers import FINISHED, Job, Node, SlurmError
from astraea_ops.live.config import Config
from astraea_ops.live.ledger import Ledger, lock, open_to_read, read_state
from astraea_ops.live.partition import Snapshot, tenant_of
from astraea_ops.live.rounds import HOLD, RELEASE, REQUEUE, Action, Rounds
from astraea_ops.live.slurm import Slurm
from astraea_ops.live.state import Lease, State

log: Final = logging.getLogger("astraea_ops.live")

MOST_UNWRITTEN: Final = 100_000
"""Finished leases that are kept while the disk is full; beyond that the oldest are lost."""


class Stopping:
    """A flag that a signal sets to ask for the end, and a wait that the signal ends at once.

    A `threading.Event` takes a lock, which the main thread may hold when the signal comes. Here the handler sets an
    attribute, and the interpreter itself writes into a pipe, also for a signal just before the main thread waits.
    """

    def __init__(self) -> None:
        self.is_asked = False
        self._reads, self._writes = os.pipe()
        os.set_blocking(self._reads, False)
        os.set_blocking(self._writes, False)

    def __del__(self) -> None:
        os.close(self._reads)
        os.close(self._writes)

    def _ask(self, *_: object) -> None:
        self.is_asked = True

    def wait(self, seconds: float) -> bool:
        """Wait for `seconds`, or until a signal asks for the end; return whether one did."""
        if not self.is_asked:
            select.select([self._reads], [], [], seconds)
            with suppress(BlockingIOError):
                os.read(self._reads, select.PIPE_BUF)
        return self.is_asked

    @contextmanager
    def on(self, *signals: signal.Signals) -> Iterator[None]:
        """Let these signals ask for the end during the ``with``; only in the main thread."""
        before = {one: signal.signal(one, self._ask) for one in signals}
        descriptor = signal.set_wakeup_fd(self._writes, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(descriptor)
            for one, handler in before.items():
                signal.signal(one, handler)


class Coordinator:
    """Leases for the partition of one Slurm, by default that of this machine."""

    def __init__(self, config: Config, ledger: Ledger, slurm: Slurm | None = None) -> None:
        self.config, self.ledger = config, ledger
        self.slurm = slurm or Slurm(config.partition, config.patience, config.signal)
        self.rounds: Rounds | None = None
        self.state: State | None = ledger.read()  #: after the last round, which may be newer than the file
        self.jobs: Mapping[str, Job] = {}
        self.told: dict[str, float] = {}
        self.unwritten: list[Lease] = []
        self.stopping = Stopping()

    def run(self) -> None:
        """Hold rounds until a signal asks for the end."""
        parameters = ", ".join(f"{name} {value}" for name, value in self.config.policy.as_text.items())
        log.info("partition %s, policy %s (%s), a round every %g s, state in %s", self.config.partition,
                 self.config.policy.name, parameters, self.config.interval, self.config.state)  # fmt: skip
        nothing = Snapshot(time.time(), (), (Node("-", 1, True, ()),))  # compiles all: round 1 is not late
        Rounds(self.config, 1, nothing.now, None, lambda _: []).play(nothing)
        while not self.stopping.is_asked:
            gc.disable()  # a long queue is a million objects, which it would scan again and again
            self.round()
            gc.enable()
            self._wait()
        log.info("stopped; jobs keep their GPUs until a coordinator runs again")

    def round(self) -> None:
        """Hold one round; an error is logged and counted, costs only this round, and leaves the last state as it is."""
        try:
            self._round()
        except Exception as err:  # otherwise any user could find a way to end the service
            log.error("this round failed because of an error in the coordinator; please report it", exc_info=err)
            self.rounds = None  # it may be half done
            try:
                self.ledger.count_failure(time.time(), f"{type(err).__name__}: {err}"[:200])
            except Exception as other:
                log.error("this failure could not be counted in the state: %s", other)

    def _round(self) -> None:
        began = time.monotonic()
        try:
            snapshot = look(self.slurm)
        except SlurmError as err:
            log.error("this round is skipped: %s", err)
            if (rounds := self.rounds) is not None:  # until the next round jobs may come and go unseen
                rounds.unseen = min(rounds.unseen, rounds.epoch + rounds.accounts.now)
            return
        try:
            if self.rounds is None:
                gpus = sum(node.gpus for node in snapshot.nodes)
                self.rounds = Rounds(self.config, gpus, snapshot.now, self.state, self.slurm.runs)
            result = self.rounds.play(snapshot)
        except (SlurmError, PolicyError) as err:
            log.error("this round is skipped: %s", err)
            self.rounds = None  # it may be half done: the next round starts from the last state
            return
        self.state = result.state
        self.jobs = {job.id: job for job in snapshot.jobs if self.rounds.has(job)}
        self.unwritten += result.over
        if (lost := len(self.unwritten) - MOST_UNWRITTEN) > 0:
            log.error("%d finished leases are lost: the state could not be written for too long", lost)
            del self.unwritten[:lost]
        try:
            self.ledger.write(result.state, self.unwritten)
            self.unwritten = []
        except sqlite3.Error as err:
            log.error("the state cannot be written (%s): it is kept in memory and written when possible", err)
        for note in result.notes:
            log.info("%s", note)
        self._do_all(result.actions, snapshot)
        for lease in result.over:
            if lease.outcome == "ended":
                log.info("job %s of %s has ended, in lease %d", lease.job, lease.tenant, lease.number)
        with suppress(sqlite3.Error):  # a disk that is full
            self.ledger.count_round(time.monotonic() - began)

    def _do_all(self, actions: Sequence[Action], snapshot: Snapshot) -> None:
        """Have Slurm do what was planned; what is not done in time is corrected at the next round."""
        began, age = time.monotonic(), time.time() - snapshot.booted
        kept = [action for action in actions if snapshot.is_young and (action.what == REQUEUE or action.is_again)]
        if kept:
            log.warning("no job is stopped at this round: slurmctld started %.0f s ago, may not know what ended", age)
        for k, action in enumerate(actions):
            if time.monotonic() - began > self.config.patience:
                left = len(actions) - k
                log.warning("Slurm is slow: %d of %d actions are left for the next round", left, len(actions))
                return
            if action not in kept:
                self._do(action)

    def _do(self, action: Action) -> None:
        job = action.job
        log.info("%s", told(action, self.config))
        try:
            if action.what == RELEASE:
                self.slurm.release(job, action.rank)
            elif action.what == HOLD:
                self.slurm.hold(job.id)
            else:
                self.slurm.requeue(job.id, is_over=job.state in FINISHED)
        except SlurmError as err:
            log.warning("job %s: %s; tried again at the next round", job.id, err)
        except Exception:
            log.exception("job %s: an error in the coordinator; tried again at the next round", job.id)

    def _wait(self) -> None:
        """Wait for the next round, and send the notice to jobs whose lease is about to end."""
        epoch = self.state.epoch if self.state else 0.0
        interval = self.config.interval
        now = time.time()
        until = epoch + (int((now - epoch) / interval) + 1) * interval
        leases = self.state.leases if self.state else {}  # of the last complete round, also after a failed one
        self.told = {id: when for id, when in self.told.items() if id in leases}
        warned = [
            (lease.ends - self.config.warning, id) for id, lease in leases.items()
            if lease.started > 0 and lease.ends < math.inf and id in self.jobs and self.jobs[id].saves
        ]  # fmt: skip
        for when, id in sorted(warned):
            if when >= until or self.told.get(id) == when:
                continue
            if self.stopping.wait(self._seconds_to(when)) or time.time() < when - 1:  # the clock was set back
                return
            self.told[id] = when
            self._warn(id, when + self.config.warning)
        self.stopping.wait(self._seconds_to(until))

    def _seconds_to(self, moment: float) -> float:
        """Return the seconds to a moment before the next round, at most a round even if the clock is changed."""
        return min(max(0.0, moment - time.time()), self.config.interval)

    def _warn(self, id: str, end: float) -> None:
        try:
            self.slurm.warn(self.jobs[id])
            log.info("told job %s to save its state: its lease ends in %.1f s", id, end - time.time())
        except SlurmError as err:
            log.warning("job %s: %s", id, err)
        except Exception:
            log.exception("job %s could not be told that its lease ends", id)


def told(action: Action, config: Config) -> str:
    """Return an action as one line: what, which job, whose, and why."""
    job = action.job
    return f"{action.what} job {job.id} of {tenant_of(job, config)}, {job.demand} GPUs: {action.why}"


def look(slurm: Slurm) -> Snapshot:
    """Query Slurm; nodes first, so that no job is seen on GPUs that are counted as free."""
    nodes = slurm.nodes()  # the start of slurmctld comes last, so that no job counts as one of an earlier slurmctld
    return Snapshot(time.time(), slurm.jobs(), nodes, slurm.boot())


class OneLine(logging.Formatter):
    """A log formatter that keeps a message on one line: control characters in Slurm's names are escaped."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return escaped(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        """Return a traceback with every line indented, so that no text in it looks like a message."""
        return "\n".join(f"  {escaped(line)}" for line in super().formatException(ei).splitlines())


def serve(config: Config) -> None:
    """Run as a service, until SIGTERM or Ctrl-C; `InputError` if the state cannot be used, or is in use."""
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.INFO)
    with lock(config.state), closing(Ledger(config.state)) as ledger:
        coordinator = Coordinator(config, ledger)
        with coordinator.stopping.on(signal.SIGTERM, signal.SIGINT):
            coordinator.run()


def dry_run(config: Config) -> list[str]:
    """Return the actions and notes of the next round, one per line; nothing is written, and Slurm is only queried."""
    slurm = Slurm(config.partition, config.patience)
    state: State | None = None
    if config.state.is_file():
        with open_to_read(config.state) as db:
            state = read_state(db)
    try:
        snapshot = look(slurm)
        gpus = sum(node.gpus for node in snapshot.nodes)
        result = Rounds(config, gpus, snapshot.now, state, slurm.runs).play(snapshot)
    except SlurmError as err:
        raise InputError(str(err)) from None
    return [escaped(line) for line in (*result.notes, *(told(action, config) for action in result.actions))]
