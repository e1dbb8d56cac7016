"""No action of a user, no fault and no unexpected error ends the coordinator, or costs a job its lease.

There is no real Slurm: a test decides what it shows.
"""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from live_cluster import EPOCH, Clock, ToldSlurm, job, running
from live_leases import all_leases

from astraea.cluster.policies import get_policy
from astraea.core.errors import InputError
from astraea_ops.live import coordinator as module
from astraea_ops.live.answers import Job, SlurmError
from astraea_ops.live.config import Config
from astraea_ops.live.coordinator import Coordinator, OneLine, Stopping
from astraea_ops.live.ledger import Ledger
from astraea_ops.live.partition import LATE_ENDS
from astraea_ops.live.rounds import Rounds
from astraea_ops.live.state import Lease
from astraea_ops.live.status import as_record, as_text, status


class Told(Coordinator):
    """A coordinator whose Slurm shows what the test says."""

    slurm: ToldSlurm

    def __init__(self, folder: Path, clock: Clock, **options: object) -> None:
        given = {"weights": {"a": 1.0, "b": 1.0}, "history": 0, **options}
        policy = get_policy("astraea").with_parameters(lease_term=100)
        config = Config("gpu", folder / "state.sqlite", policy, **given)  # type: ignore[arg-type]
        super().__init__(config, Ledger(config.state), ToldSlurm())
        self.clock = clock

    def at(self, second: float, shown: list[Job] | Exception) -> None:
        """Run a round this long after `EPOCH`."""
        self.clock.now, self.slurm.shown = EPOCH + second, shown
        self.round()

    def leases(self) -> dict[str, Lease]:
        return {} if self.state is None else self.state.leases


@pytest.fixture
def one(tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture) -> Iterator[Told]:
    """A coordinator of two tenants, on two nodes of eight GPUs."""
    caplog.set_level(logging.INFO, "astraea_ops.live")
    made = Told(tmp_path, clock)
    with closing(made.ledger):
        yield made


EIGHT = [job("1", demand=8), job("2", account="b", demand=8)]


def test_an_error_costs_one_round_and_the_next_does_the_right_thing(
    one: Told, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.at(0, EIGHT[:1])
    one.at(10, RuntimeError("a bug"))
    assert "this round failed" in caplog.text and "RuntimeError: a bug" in caplog.text
    assert "Traceback (most recent call last)" in caplog.text
    one.slurm.done.clear()
    with monkeypatch.context() as during:  # after the leases were given in the accounts
        during.setattr(Rounds, "state", lambda self: 1 / 0)
        one.at(20, EIGHT)
    assert one.slurm.done == []
    one.at(30, EIGHT)
    assert one.slurm.done == [("release", "2"), ("release", "1")]  # Slurm had not started 1
    assert "release job 2 of b, 8 GPUs: granted lease 1" in caplog.text  # what the failed round gave is not kept
    assert [(lease.job, lease.number, lease.serial) for lease in all_leases(one.ledger._db)] == [
        ("1", 1, 1), ("2", 1, 2),
    ]  # fmt: skip
    found = status(one.config, one.clock.now)
    assert (found.failed, found.failed_at, found.failure) == (2, EPOCH + 20, "ZeroDivisionError: division by zero")
    assert "WARNING: 2 rounds failed, the last at " in as_text(found)
    assert as_record(found)["failed"] == 2


@pytest.mark.parametrize("error", [RuntimeError("a bug"), SlurmError("squeue did not answer")])
def test_jobs_are_warned_after_a_failed_round_too(
    one: Told, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    monkeypatch.setattr(one.stopping, "wait", lambda seconds: setattr(one.clock, "now", one.clock.now + seconds))
    one.at(0, [job("1", demand=8, saves=True)])
    one.at(80, [running("1", 0, saves=True)])
    one.at(90, error)
    one._wait()
    assert one.clock.now == EPOCH + 100
    assert one.slurm.done[-1] == ("--partition=gpu", "1")
    monkeypatch.setattr(one.slurm, "warn", lambda id: 1 / 0)
    one.told.clear()
    one.clock.now -= 10
    one._wait()  # an error costs one warning
    assert "job 1 could not be told that its lease ends" in caplog.text


def test_a_clock_that_is_set_back_meanwhile_delays_no_round(one: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        one.clock.now += seconds - 86_400 * (len(waits) == 1)
        return False

    monkeypatch.setattr(one.stopping, "wait", wait)
    one.at(0, [job("1", demand=4, saves=True)])
    one.at(10, [running("1", 0, demand=4, saves=True)])
    one.clock.now = one.leases()["1"].ends - one.config.warning - 5
    one._wait()
    assert one.slurm.done == [("release", "1")]  # it is not told a day before
    one._wait()
    one._wait()
    assert len(waits) > 2
    assert max(waits) <= one.config.interval


@pytest.mark.parametrize("name", ["(nobody)", " a", "", " "])
def test_an_account_with_an_odd_name_costs_no_round(tmp_path: Path, clock: Clock, name: str) -> None:
    one = Told(tmp_path, clock, weights={})
    with closing(one.ledger):
        for second in (0, 10):
            one.at(second, [job("1", account=name, demand=2), job("2", account="a", demand=2)])
        assert one.ledger.read()
    assert status(one.config, clock.now).failed == 0
    assert {*one.leases()} == {"1", "2"}


def test_an_action_that_fails_keeps_no_other_back(
    one: Told, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = one.slurm.release
    monkeypatch.setattr(one.slurm, "release", lambda job, rank: 1 / 0 if job.id == "1" else release(job, rank))
    one.at(0, EIGHT)
    assert one.slurm.done == [("release", "2")]
    assert "job 1: an error in the coordinator" in caplog.text


def full(*_: object) -> None:
    """Write to a disk that is full."""
    raise sqlite3.OperationalError("database or disk is full")


def test_leases_are_kept_until_there_is_room(
    one: Told, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_UNWRITTEN", 3)
    one.at(0, EIGHT[:1])
    with monkeypatch.context() as during:
        during.setattr(one.ledger, "write", full)
        for second in range(100, 600, 100):
            one.at(second, [running("1", 0)])
    assert len(one.unwritten) == 3
    assert "1 finished leases are lost" in caplog.text
    one.at(600, [running("1", 0)])
    assert one.unwritten == []
    assert one.ledger.read() is not None
    assert [lease.number for lease in all_leases(one.ledger._db)] == [1, 4, 5, 6, 7]


def test_what_was_not_written_is_not_forgotten(one: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    one.slurm.here = one.slurm.here[:1]
    waits = job("2", account="b", demand=4)
    one.at(0, [job("1", demand=4), job("3", account="b", demand=4)])
    one.at(10, [running("1", 0, 4), running("3", 0, 4, account="b"), waits])
    with monkeypatch.context() as during:
        during.setattr(one.ledger, "write", full)
        one.at(110, [running("1", 0, 4), running("3", 0, 4, account="b"), waits])  # 3 loses its lease, 2 gets one
        assert one.slurm.done[-2:] == [("requeuehold", "3"), ("release", "2")]
        during.setattr(one.slurm, "boot", lambda: 1 / 0)
        one.at(120, [waits])  # this round fails
    one.at(130, [running("1", 0, 4), running("2", 111, 4, account="b"), job("3", account="b", demand=4, restarts=1)])
    assert set(one.leases()) == {"1", "2"}
    found = [(lease.job, lease.outcome) for lease in all_leases(one.ledger._db)]
    assert found == [("1", "renewed"), ("3", "not renewed"), ("1", "running"), ("2", "running")]


def test_a_damaged_file_ends_the_service_at_its_start(one: Told) -> None:
    one.at(0, [job(str(k)) for k in range(1, 60)])
    one.ledger.close()
    file = one.config.state
    file.write_bytes(file.read_bytes()[:4096] + bytes(file.stat().st_size - 4096))
    with pytest.raises(InputError, match=r"state\.sqlite: cannot be read"):
        module.serve(one.config)


def test_nobody_is_stopped_while_ends_may_be_unknown(one: Told, caplog: pytest.LogCaptureFixture) -> None:
    one.slurm.here = one.slurm.here[:1]
    one.at(0, [job("1", demand=4), job("3", demand=4, account="b")])
    shown = [running("1", 0, 4), running("3", 0, 4, account="b"), job("2", demand=4, account="b")]
    one.slurm.booted = EPOCH + 97
    one.slurm.done.clear()
    one.at(100, shown)
    assert one.slurm.done == [("release", "2")]
    assert "slurmctld started 3 s ago" in caplog.text
    one.at(97 + LATE_ENDS + 1, [*shown[:2], shown[2]._replace(held=False)])
    assert one.slurm.done[1:] == [("requeuehold", "3")]


def test_nobody_is_released_once_more_while_starts_may_be_forgotten(one: Told) -> None:
    waits = [job("1", demand=4)]
    one.at(0, waits)
    one.slurm.booted = EPOCH + 5
    one.at(10, waits)
    assert one.slurm.done == [("release", "1")]
    one.at(5 + LATE_ENDS + 1, waits)
    assert one.slurm.done == [("release", "1")] * 2


def test_what_a_slow_slurm_does_not_come_to_is_mended(one: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    run, waits = one.slurm._run, [job(str(k)) for k in range(1, 4)]

    def slow(*command: str, **environment: str) -> str:
        one.clock.steady += 15
        return run(*command, **environment)

    with monkeypatch.context() as during:
        during.setattr(one.slurm, "_run", slow)
        one.at(0, waits)
    assert one.slurm.done == [("release", "1")]
    one.at(10, [running("1", 0, 1), *waits[1:]])
    assert one.slurm.done[1:] == [("release", "2"), ("release", "3")]


def test_no_text_in_a_log_line_looks_like_another_line() -> None:
    evil = "x\x1b[2J\n2026-11-24 00:00:00,000 ERROR all is lost"
    try:
        raise ValueError(evil)
    except ValueError as err:
        record = logging.LogRecord("x", logging.ERROR, "x", 1, "%s", (evil,), (type(err), err, err.__traceback__))
    first, *others = OneLine("%(levelname)s %(message)s").format(record).splitlines()
    assert first == r"ERROR x\x1b[2J\n2026-11-24 00:00:00,000 ERROR all is lost"
    assert all(line.startswith("  ") for line in others)
    assert "\x1b" not in "".join(others)


@pytest.mark.parametrize("later", [0.0, 0.1])
def test_a_signal_ends_the_wait_also_one_that_comes_just_before_it(later: float) -> None:
    stopping = Stopping()
    assert not stopping.wait(0)
    before = signal.getsignal(signal.SIGALRM)
    with stopping.on(signal.SIGALRM):
        if later:
            signal.setitimer(signal.ITIMER_REAL, later)
        else:
            os.kill(os.getpid(), signal.SIGALRM)
        assert stopping.wait(60)
        assert stopping.wait(3600)  # and it stays so
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.set_wakeup_fd(-1) == -1


def test_a_handler_takes_no_lock_that_the_main_thread_may_hold() -> None:
    stopping = Stopping()

    def held(frame: object, event: str, arg: object) -> None:
        if event == "line":  # between any two lines of a wait
            signal.raise_signal(signal.SIGALRM)

    with stopping.on(signal.SIGALRM):
        sys.settrace(lambda frame, event, arg: held if frame.f_code.co_name == "wait" else None)
        try:
            assert stopping.wait(3600)
        finally:
            sys.settrace(None)
