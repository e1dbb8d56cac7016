"""The life of a coordinator for a search: rounds, failures and restarts, and checks after every round."""

from __future__ import annotations

import logging
import sqlite3
import tempfile
from collections import Counter
from contextlib import suppress
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import ClassVar

import hypothesis.strategies as st
import pytest
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from live_cluster import EPOCH, Clock
from live_unsteady import Killed, Unforeseen, UnsteadySlurm, check_accounts, check_charges, check_slurm

from astraea.cluster.policies import get_policy
from astraea_ops.live import coordinator as module
from astraea_ops.live.answers import FINISHED
from astraea_ops.live.config import Config
from astraea_ops.live.coordinator import Coordinator
from astraea_ops.live.ledger import Ledger
from astraea_ops.live.rounds import Rounds, Snapshot
from astraea_ops.live.state import State

GPUS, INTERVAL = 8, 10
POLICY = get_policy("astraea").with_parameters(lease_term=30)
NAMES = st.sampled_from(["a", "b", "a", "b", "c"])  # c has no weight
DEMANDS = st.sampled_from([1, 2, 1, 2, 3, 4, 6])


class Life(RuleBasedStateMachine):
    """The life of a coordinator."""

    seen: ClassVar[Counter[str]] = Counter()
    """Result of the search: lives, leases, checked rounds, and rounds compared without slack"""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = Clock()
        self.slurm = UnsteadySlurm(self.clock)
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(module, "time", self.clock)
        self.heard = BufferingHandler(10**6)
        self.heard.setLevel(logging.WARNING)
        module.log.addHandler(self.heard)
        self.ledger: Ledger | None = None
        self.is_full = False
        self.is_behind = False  #: whether the last round was not whole
        self.charged: dict[str, float] = {}  #: GPU-time of the tenants at the last check [GPU s]
        self.leases = 0

    def teardown(self) -> None:
        self.seen["lives"] += 1
        self.seen["leases"] += self.leases
        if self.ledger is not None:
            self.ledger.close()
        module.log.removeHandler(self.heard)
        self.patch.undo()
        self.folder.cleanup()

    @initialize(
        weights=st.sampled_from([{}, {"a": 1.0, "b": 1.0}, {"a": 3.0, "b": 1.0}]),
        jobs=st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 2)), min_size=2, max_size=3),
    )
    def begin(self, weights: dict[str, float], jobs: list[tuple[str, int]]) -> None:
        state = Path(self.folder.name) / "state.sqlite"
        self.config = Config("gpu", state, POLICY, weights=weights, history=0, interval=INTERVAL)
        self.start()
        self.have_round()  # the accounts begin
        for name, demand in jobs:
            self.take(account=name, demand=demand)

    def start(self) -> None:
        """Start a coordinator, over the file of the one before."""
        if self.ledger is not None:
            self.ledger.close()
        self.ledger = Ledger(self.config.state)
        self.coordinator = Coordinator(self.config, self.ledger, self.slurm)
        written = self.known()
        for id, one in self.slurm.all.items():
            if id not in written:  # what was not written is forgotten: it comes anew, under the name that it has now
                self.slurm.belongs_to(id, one.account)
        write = self.ledger.write

        def unsteady(state: State, over: object = ()) -> None:
            self.slurm.moment()
            if self.is_full:
                raise sqlite3.OperationalError("database or disk is full")
            write(state, over)  # type: ignore[arg-type]
            self.slurm.moment()

        self.patch.setattr(self.ledger, "write", unsteady)

    # jobs

    def known(self) -> dict[str, int]:
        """Return the jobs that the accounts have, with their sizes."""
        if (rounds := self.coordinator.rounds) is not None:
            return {m.id: m.demand for m in rounds.accounts.admitted if rounds.accounts.is_active(m.id)}
        assert self.ledger
        state = self.coordinator.state or self.ledger.read()
        return {m.id: m.demand for m in state.accounts.admitted} if state else {}

    def free(self) -> str:
        """Return an id that no job has; empty if there are enough jobs."""
        taken = {*self.slurm.all, *self.known()}
        return next((id for id in map(str, range(1, 9)) if id not in taken), "")

    def take(self, **fields: object) -> None:
        """Let a user submit a job."""
        id = self.free()
        self.slurm.submit(id, **fields)
        self.slurm.left_to_slurm.discard(id)
        one = self.slurm.all[id]
        is_unknown = bool(self.config.weights) and one.account not in self.config.weights
        if one.demand == 0 or one.is_part or is_unknown:
            self.slurm.left_to_slurm.add(id)
        self.slurm.start_all()

    # time and rounds

    @rule(seconds=st.integers(1, 9))
    def time_passes(self, seconds: int) -> None:
        """Let time pass; no round is late."""
        if seconds < self.until_round():
            self.slurm.pass_on(seconds)
        else:
            self.round()

    def until_round(self) -> int:
        return int(-(self.clock.now - EPOCH) % INTERVAL) or INTERVAL

    def round(self) -> None:
        """Run a round and the checks after it."""
        self.slurm.pass_on(self.until_round())
        self.have_round()

    def have_round(self) -> None:
        assert self.ledger
        self.slurm.failures, self.heard.buffer = 0, []
        known, before = self.known(), self.coordinator.state or self.ledger.read()
        with suppress(Killed):
            self.coordinator.round()
            self.check(known, before.serial if before else 0)
            return
        self.slurm.fuse = -1
        self.fall_behind()
        self.start()

    @rule(times=st.integers(1, 4))
    def rounds(self, times: int) -> None:
        """Run some rounds, because most events take more than one."""
        for _ in range(times):
            self.round()

    @rule(moments=st.integers(0, 12), is_error=st.booleans())
    def round_that_fails(self, moments: int, is_error: bool) -> None:
        """The coordinator is killed before or after any of its commands, or meets an error there."""
        self.slurm.fuse, self.slurm.blow = moments, Unforeseen("test") if is_error else Killed()
        self.round()
        self.slurm.fuse = -1

    @rule(what=st.sampled_from(["is_away", "refuses"]), times=st.integers(1, 4))
    def slurm_fails(self, what: str, times: int) -> None:
        setattr(self.slurm, what, True)
        for _ in range(times):
            self.round()
        setattr(self.slurm, what, False)

    @rule(times=st.integers(1, 3))
    def disk_is_full(self, times: int) -> None:
        self.is_full = True
        for _ in range(times):
            self.round()
        self.is_full = False

    @rule()
    def slurm_starts_again(self) -> None:
        self.slurm.booted = self.clock.now

    @rule()
    def kill(self) -> None:
        """Kill the coordinator between two rounds."""
        self.start()

    def comes_anew(self) -> bool:
        """Return true if a job was resized at the last round; a new coordinator does not know of the change."""
        rounds = self.coordinator.rounds
        ended = [] if rounds is None else [id for id in rounds.accounts.place if not rounds.accounts.is_active(id)]
        return any(id in self.slurm.all and self.slurm.all[id].state not in FINISHED for id in ended)

    @precondition(lambda self: not self.is_behind and self.coordinator.rounds is not None and not self.comes_anew())
    @rule()
    def restart_changes_nothing(self) -> None:
        """A new coordinator decides as the old one does."""
        assert self.ledger
        assert self.coordinator.rounds
        self.slurm.pass_on(self.until_round())
        snapshot = Snapshot(self.clock.now, self.slurm.jobs(), self.slurm.nodes())
        state = self.ledger.read()
        new = Rounds(self.config, sum(n.gpus for n in snapshot.nodes), snapshot.now, state, self.slurm.runs)
        old, anew = (
            (sorted((a.what, a.job.id, a.why) for a in result.actions), result.over, result.state.leases)
            for result in (self.coordinator.rounds.play(snapshot), new.play(snapshot))
        )
        assert old == anew
        self.start()
        self.have_round()

    # what must hold

    def fall_behind(self) -> None:
        """This round was incomplete: the next one finishes it, and charges the time between."""
        self.is_behind = True
        self.slurm.doubt[""] += 2 * GPUS * INTERVAL

    def check(self, known: dict[str, int], serial: int) -> None:
        """Check the state after a round; `serial` is the number of the last lease before it."""
        said = [record.getMessage() for record in self.heard.buffer]
        for record in self.heard.buffer:
            if record.exc_info and not isinstance(record.exc_info[1], Unforeseen):
                raise AssertionError("an unexpected error") from record.exc_info[1]
            assert "left out: policy" not in record.getMessage(), record.getMessage()
        rounds = self.coordinator.rounds
        self.is_behind = False
        is_whole = not (self.slurm.failures or self.is_full or any("slurmctld started" in text for text in said))
        if not is_whole or rounds is None or rounds.now > self.clock.now:  # accounts wait for a clock that was set back
            self.fall_behind()
        else:
            assert said == []
            check_accounts(rounds)
            self.charged, is_exact = check_charges(rounds, self.slurm, self.charged)
            check_slurm(rounds, self.slurm, known, serial)
            self.seen["rounds"] += 1
            self.seen["exact"] += is_exact
            self.leases = rounds.serial
        self.slurm.start_all()
