"""Nothing that a user does, and no error that nobody expected, ends the coordinator."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from live_cluster import EPOCH, Clock, job
from live_rounds import ToldSlurm, running

from astraea.cluster.policies import get_policy
from astraea.core.errors import InputError
from astraea.live import coordinator as module
from astraea.live.config import Config
from astraea.live.coordinator import Coordinator, OneLine
from astraea.live.ledger import Ledger, all_leases, open_to_read, read_state
from astraea.live.rounds import Rounds
from astraea.live.slurm import Slurm
from astraea.live.status import as_records, as_text, status

POLICY = get_policy("astraea")(lease_term=100)
WEIGHTS = {"a": 1.0, "b": 1.0}


def coordinator(path: Path, slurm: Slurm) -> Coordinator:
    return Coordinator(Config("gpu", path / "state.sqlite", POLICY, weights=WEIGHTS, history=0), slurm)


def test_an_error_costs_one_round_and_the_next_does_the_right_thing(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = [job("1", demand=8), job("2", account="b", demand=8)]
    slurm = ToldSlurm(waits, RuntimeError("a bug"), waits, waits)
    one = coordinator(tmp_path, slurm)
    with closing(Ledger(one.config.state)) as ledger, caplog.at_level(logging.INFO, "astraea.live"):
        one.round(ledger)
        assert slurm.done == [("release", "1"), ("release", "2")]
        clock.now += 10
        one.round(ledger)
        assert "this round has failed" in caplog.text and "RuntimeError: a bug" in caplog.text
        assert "Traceback (most recent call last)" in caplog.text
        clock.now += 10
        half = Rounds.state
        monkeypatch.setattr(Rounds, "state", lambda self: 1 / 0)  # after the leases were given in the accounts
        one.round(ledger)
        monkeypatch.setattr(Rounds, "state", half)
        clock.now += 10
        slurm.done.clear()
        one.round(ledger)
        assert slurm.done == [("release", "1"), ("release", "2")]  # Slurm had not started them
        assert one.rounds is not None and set(one.rounds.leases) == {"1", "2"}
        assert [lease.number for lease in one.rounds.leases.values()] == [1, 1]
    found = status(one.config, clock.now)
    assert (found.failed, found.failed_at, found.failure) == (2, EPOCH + 20, "ZeroDivisionError: division by zero")
    assert "WARNING: 2 rounds failed, the last at " in as_text(found)
    assert as_records(found)["failed"] == 2


def test_leases_that_a_failed_round_gave_are_given_once(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = ToldSlurm([], [job("1", demand=8)], [job("1", demand=8)])
    one = coordinator(tmp_path, slurm)
    with closing(Ledger(one.config.state)) as ledger:
        one.round(ledger)
        with monkeypatch.context() as during:
            during.setattr(Rounds, "state", lambda self: 1 / 0)
            one.round(ledger)
        assert slurm.done == []
        one.round(ledger)
        assert slurm.done == [("release", "1")]
        assert [(lease.job, lease.number, lease.serial) for lease in all_leases(ledger._db)] == [("1", 1, 1)]


def test_jobs_are_warned_after_a_failed_round_too(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    saves = job("1", demand=8, saves=True)
    slurm = ToldSlurm([saves], [running("1", 0, saves=True)], RuntimeError("a bug"))
    one = coordinator(tmp_path, slurm)
    monkeypatch.setattr(one.stopping, "wait", lambda seconds: setattr(clock, "now", clock.now + seconds))
    with closing(Ledger(one.config.state)) as ledger:
        one.round(ledger)
        clock.now += 80
        one.round(ledger)
        clock.now += 10
        one.round(ledger)
        one._wait()
        assert clock.now == EPOCH + 100
        assert slurm.done[-1] == ("--partition=gpu", "1")
        slurm.steps = iter([[running("1", 0, saves=True)]])
        monkeypatch.setattr(slurm, "warn", lambda id: 1 / 0)
        one.told.clear()
        clock.now -= 10
        one._wait()  # an error costs one warning
    assert "job 1 could not be told that its lease ends" in caplog.text


def test_a_clock_that_is_set_back_meanwhile_delays_no_round(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [job("1", demand=4, saves=True), job("2", account="b", demand=4, saves=True)]
    first = running("1", 0, demand=4, saves=True)
    shown = [first, running("2", 0, demand=4, account="b", on_nodes={"n2": 4}, saves=True)]
    one = coordinator(tmp_path, ToldSlurm(jobs, shown))
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        clock.now += seconds - 86_400 * (len(waits) == 1)
        return False

    monkeypatch.setattr(one.stopping, "wait", wait)
    with closing(Ledger(one.config.state)) as ledger:
        one.round(ledger)
        clock.now += 10
        one.round(ledger)
    assert one.state
    clock.now = min(lease.ends for lease in one.state.leases.values()) - one.config.warning - 5
    for _ in range(3):
        one._wait()
    assert max(waits) <= one.config.interval


def test_a_short_job_on_a_slurm_whose_clock_is_ahead(tmp_path: Path, clock: Clock) -> None:
    at = EPOCH + 10
    short = job("1", state="COMPLETED", held=False, demand=2, submit=at, eligible=at, start=at + 1, end=at + 2)
    waits = job("2", account="b", demand=8)
    slurm = ToldSlurm([], *[[short, waits]] * 3, [waits])
    one = coordinator(tmp_path, slurm)
    with closing(Ledger(one.config.state)) as ledger:
        for _ in range(5):
            one.round(ledger)
            clock.now += 10
    assert status(one.config, clock.now).failed == 0
    assert one.state
    assert list(one.state.leases) == ["2"]


@pytest.mark.parametrize("name", ["(nobody)", " a", "", " "])
def test_an_account_with_an_odd_name_costs_no_round(tmp_path: Path, clock: Clock, name: str) -> None:
    config = Config("gpu", tmp_path / "state", POLICY, history=0)
    one = Coordinator(config, ToldSlurm(*[[job("1", account=name, demand=2), job("2", account="a", demand=2)]] * 3))
    with closing(Ledger(config.state)) as ledger:
        for _ in range(2):
            one.round(ledger)
            clock.now += 10
        assert ledger.read()
    assert status(config, clock.now).failed == 0
    assert one.state
    assert {*one.state.leases} == {"1", "2"}


def test_an_action_that_fails_keeps_no_other_back(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = ToldSlurm([job("1", demand=8), job("2", account="b", demand=8)])
    release = slurm.release
    monkeypatch.setattr(slurm, "release", lambda job, rank: 1 / 0 if job.id == "1" else release(job, rank))
    one = coordinator(tmp_path, slurm)
    with closing(Ledger(one.config.state)) as ledger:
        one.round(ledger)
    assert slurm.done == [("release", "2")]
    assert "job 1: an error of the coordinator" in caplog.text


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_who_wants_the_end_gets_it(tmp_path: Path, error: type[BaseException]) -> None:
    one = coordinator(tmp_path, ToldSlurm([]))
    one._look = lambda: (_ for _ in ()).throw(error)  # type: ignore[method-assign]
    with closing(Ledger(one.config.state)) as ledger, pytest.raises(error):
        one.round(ledger)


def test_a_state_that_cannot_be_read_ends_the_service_at_its_start(tmp_path: Path) -> None:
    one = coordinator(tmp_path, ToldSlurm())
    Ledger(one.config.state).close()
    with closing(sqlite3.connect(one.config.state)) as db:
        db.execute("insert into clock (id, epoch) values (0, 'x')")
        db.execute("drop table share")
        db.execute("create view share as select x from clocks")
        db.commit()
    with pytest.raises(InputError, match="cannot be read"):
        one.run()


def test_leases_are_kept_until_there_is_room(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_UNWRITTEN", 3)
    shown = [[running("1", 0)] for _ in range(6)]
    one = coordinator(tmp_path, ToldSlurm([job("1", demand=8)], *shown))
    with closing(Ledger(one.config.state)) as ledger:
        one.round(ledger)
        write = ledger.write

        def full(*_: object) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        ledger.write = full  # type: ignore[method-assign]
        for _ in range(5):
            clock.now += 100
            one.round(ledger)
        assert len(one.unwritten) == 3
        assert "1 leases that are over are forgotten" in caplog.text
        ledger.write = write  # type: ignore[method-assign]
        clock.now += 100
        one.round(ledger)
        assert one.unwritten == []
    with closing(open_to_read(one.config.state)) as db:
        assert read_state(db) is not None
        assert [lease.number for lease in all_leases(db)] == [1, 4, 5, 6, 7]


def test_a_traceback_cannot_pretend_to_be_a_message() -> None:
    try:
        raise ValueError("x\x1b[2J\n2026-11-24 00:00:00,000 ERROR all is lost")
    except ValueError as err:
        record = logging.LogRecord("x", logging.ERROR, "x", 1, "failed", (), (type(err), err, err.__traceback__))
    first, *others = OneLine("%(levelname)s %(message)s").format(record).splitlines()
    assert first == "ERROR failed"
    assert all(line.startswith("  ") for line in others)
    assert "\x1b" not in "".join(others)
