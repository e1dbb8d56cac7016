"""What the coordinator makes of faults, told without a Slurm: a clock set back, a file that is behind, a late end."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from live_cluster import EPOCH, Clock, job, no_history
from live_rounds import ToldSlurm, running

from astraea.cluster.engine.state import RUNNING
from astraea.cluster.policies import get_policy
from astraea.core.errors import InputError
from astraea.live.answers import Job, Node, Run, SlurmError
from astraea.live.config import Config
from astraea.live.coordinator import LATE_ENDS, Coordinator
from astraea.live.ledger import Ledger, all_leases
from astraea.live.rounds import Rounds, Snapshot
from astraea.live.state import State

NODES = [Node("n1", 8, True)]
POLICY = get_policy("astraea")(lease_term=100)
WEIGHTS = {"a": 1.0, "b": 1.0}


def coordinator(tmp_path: Path) -> tuple[Coordinator, ToldSlurm, Ledger]:
    slurm = ToldSlurm(nodes=NODES)
    config = Config("gpu", tmp_path / "state.sqlite", POLICY, weights={"a": 1.0}, history=0, patience=20)
    return Coordinator(config, slurm), slurm, Ledger(config.state)


def played(r: Rounds, second: float, jobs: Sequence[Job] = ()) -> float:
    r.play(Snapshot(EPOCH + second, jobs, NODES))
    return float(r.accounts.view.tenant[0].attained)


def test_a_run_before_the_first_round_is_counted_once() -> None:
    config = Config("gpu", Path("unused"), POLICY, weights=WEIGHTS, history=1)
    run = Run("7", "a", "u", "normal", "COMPLETED", EPOCH - 120, EPOCH - 100, EPOCH - 50, 4)
    ended = job("7", state="COMPLETED", held=False, start=EPOCH - 100, end=EPOCH - 50, submit=EPOCH - 120, demand=4)
    for shown in ([], [ended]):  # gone from squeue, or there still
        assert played(Rounds(config, 8, EPOCH, None, lambda _: [run]), 0, shown) == 200


def test_a_job_that_is_cancelled_as_it_waits_has_not_run() -> None:
    config = Config("gpu", Path("unused"), POLICY, weights={"a": 1.0}, history=0)
    r = Rounds(config, 8, EPOCH, None, no_history)
    waits = job("2", demand=8)
    played(r, 0, [job("1", demand=8), waits])
    gone = waits._replace(state="CANCELLED", start=EPOCH + 5, end=EPOCH + 5)  # as Slurm shows it
    for second in (10, 20):
        played(r, second, [running("1", 0), gone])
    assert set(r.leases) == {"1"}
    assert r.accounts.ids(RUNNING) == ["1"]


def test_a_clock_that_was_set_back_waits() -> None:
    config = Config("gpu", Path("unused"), POLICY, weights=WEIGHTS, history=0)
    r = Rounds(config, 8, EPOCH, None, no_history)
    played(r, 0, [job("1", demand=4)])
    ends = r.leases["1"].ends
    attained = played(r, 50, [running("1", 0, 4)])
    assert played(r, 20, [running("1", 0, 4)]) == attained
    assert r.accounts.now == 50
    assert r.leases["1"].ends == ends
    played(r, 100, [running("1", 0, 4)])
    assert r.leases["1"].is_renewal


def test_what_was_not_written_is_not_forgotten(tmp_path: Path, clock: Clock) -> None:
    one, slurm, ledger = coordinator(tmp_path)
    with closing(ledger):
        slurm.shown = [job("1", demand=8)]
        one.round(ledger)
        slurm.shown = [running("1", 0), job("2", demand=8)]
        one.round(ledger)
        clock.now += 100
        write, ledger.write = ledger.write, full  # type: ignore[method-assign]
        one.round(ledger)  # 1 loses its lease, 2 gets one
        assert slurm.done[-2:] == [("requeuehold", "1"), ("release", "2")]
        clock.now += 10
        slurm.past = SlurmError("sacct did not answer")
        slurm.shown = [job("2", demand=8, held=False)]  # 1 is gone, so sacct is asked
        one.round(ledger)
        slurm.past, ledger.write = [], write  # type: ignore[method-assign]
        slurm.shown = [job("1", demand=8, restarts=1), running("2", 101)]
        one.round(ledger)
        assert set(one.rounds.leases if one.rounds else ()) == {"2"}
        with closing(sqlite3.connect(tmp_path / "state.sqlite")) as db:
            assert [(lease.job, lease.outcome) for lease in all_leases(db)] == [("1", "not renewed"), ("2", "running")]


def full(state: State, over: object = ()) -> None:
    """Write to a disk that is full."""
    raise sqlite3.OperationalError("database or disk is full")


def test_a_round_without_an_answer_changes_nothing(tmp_path: Path, clock: Clock) -> None:
    one, slurm, ledger = coordinator(tmp_path)
    with closing(ledger):
        slurm.shown = [job("1", demand=8)]
        one.round(ledger)
        leases = dict(one.rounds.leases) if one.rounds else {}
        slurm.shown = SlurmError("squeue did not answer")
        clock.now += 200
        one.round(ledger)
        assert one.rounds
        assert one.rounds.leases == leases  # so that jobs are told of the end of their lease
        assert one.rounds.looks_back  # in the accounting, for what came and went


def test_a_damaged_file_is_named(tmp_path: Path, clock: Clock) -> None:
    one, slurm, ledger = coordinator(tmp_path)
    with closing(ledger):
        slurm.shown = [job(str(k)) for k in range(1, 60)]
        one.round(ledger)
    file = tmp_path / "state.sqlite"
    file.write_bytes(file.read_bytes()[:4096] + bytes(file.stat().st_size - 4096))
    with closing(Ledger(file)) as ledger, pytest.raises(InputError, match=r"state\.sqlite: cannot be read"):
        ledger.read()


def test_nobody_is_stopped_while_ends_may_be_unknown(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    one, slurm, ledger = coordinator(tmp_path)
    with closing(ledger), caplog.at_level(logging.INFO, "astraea.live"):
        slurm.shown = [job("1", demand=8)]
        one.round(ledger)
        slurm.shown = [running("1", 0), job("2", demand=8)]
        clock.now += 100
        slurm.booted = clock.now - 3
        one.round(ledger)
        assert slurm.done == [("release", "1"), ("release", "2")]
        assert "slurmctld runs for 3 s" in caplog.text
        clock.now = slurm.booted + LATE_ENDS + 1
        slurm.shown = [running("1", 0), job("2", demand=8, held=False)]
        one.round(ledger)
        assert slurm.done[2:] == [("requeuehold", "1")]


def test_what_a_slow_slurm_does_not_come_to_is_mended(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, slurm, ledger = coordinator(tmp_path)
    run = slurm._run

    def slow(*command: str, **environment: str) -> str:
        clock.steady += 15
        return run(*command, **environment)

    waits = [job(str(k), demand=1) for k in range(1, 4)]
    with closing(ledger):
        slurm.shown = waits
        with monkeypatch.context() as during:
            during.setattr(slurm, "_run", slow)
            one.round(ledger)
        assert slurm.done == [("release", "1")]
        slurm.shown = [running("1", 0, 1), *waits[1:]]
        clock.now += 10
        one.round(ledger)
        assert slurm.done[1:] == [("release", "2"), ("release", "3")]
