"""A killed slurmctld forgets ends, starts and orders to requeue; a take-over counts as a start."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from live_cluster import CONFIG, EPOCH, NEW, NODES, actions, job, rounds, running, step

from astraea.cluster.engine.state import PENDING, RUNNING
from astraea_ops.live.answers import Job, Run
from astraea_ops.live.ledger import Ledger
from astraea_ops.live.partition import LATE_ENDS, Snapshot
from astraea_ops.live.rounds import HOLD, RELEASE, REQUEUE, RoundResult, Rounds
from astraea_ops.live.slurm import Slurm

FRESH = replace(CONFIG, history=0)


def at(r: Rounds, second: float, *jobs: Job, booted: float = -1e9) -> RoundResult:
    """Run a round after slurmctld was started at this second."""
    return r.play(Snapshot(EPOCH + second, jobs, NODES, EPOCH + booted))


DONE = job("1", demand=8, state="COMPLETED", start=EPOCH + 1, end=EPOCH + 33, held=False)
ENDS = [Run("1", "a", "u", "normal", "COMPLETED", EPOCH, EPOCH + 1, EPOCH + 33, 8)]


@pytest.mark.parametrize("knows", ["Slurm said so", "the state says so", "the accounting says so"])
def test_what_has_ended_is_never_released_again_whatever_slurmctld_has_forgotten(tmp_path: Path, knows: str) -> None:
    r = rounds(FRESH, history=lambda _: ENDS)
    with closing(Ledger(tmp_path / "state.sqlite")) as ledger:
        for second, one in ((0, job("1", demand=8)), (10, running("1", 1)), (40, DONE)):
            if one is not DONE or knows != "the accounting says so":
                result = step(r, second, one)
                ledger.write(result.state, result.over)
        if knows == "the state says so":
            r = rounds(FRESH, ledger.read(), lambda _: ENDS)
    other = job("2", account="b", demand=8, per_node=8)
    ghost = [(REQUEUE, "1")] * (knows != "the accounting says so")  # or from the next round on
    assert actions(at(r, 60, running("1", 1), other, booted=55)) == [(RELEASE, "2"), *ghost]
    lost = job("1", demand=8, held=False, restarts=1, submit=EPOCH + 65)
    result = at(r, 70, lost, booted=55)
    assert actions(result) == [(HOLD, "1")]
    assert actions(at(r, 80, lost._replace(held=True), booted=55)) == []
    assert actions(at(r, 90, running("1", 85, restarts=1), booted=55)) == [(REQUEUE, "1")]  # Slurm was faster
    assert "1" not in r.leases
    assert r.accounts.view.tenant.attained[0] == 8 * 32
    another = job("1", demand=8, submit=EPOCH + 95)  # ids come again
    assert actions(at(r, 100, another, booted=55)) == [(RELEASE, "1")]


def test_the_end_of_a_job_that_had_lost_its_lease_is_not_forgotten_either(tmp_path: Path) -> None:
    r = rounds(FRESH)
    with closing(Ledger(tmp_path / "state.sqlite")) as ledger:
        ended = DONE._replace(end=EPOCH + 104)
        for second, one in ((0, job("1", demand=8)), (10, running("1", 1)), (100, running("1", 1)), (110, ended)):
            result = step(r, second, one, *NEW * (second >= 100))
            ledger.write(result.state, result.over)
        r = rounds(FRESH, ledger.read())
    assert r.accounts.row("2").status == RUNNING
    ghost = running("1", 1)
    waits = NEW[0]._replace(held=False), NEW[1]._replace(held=False)
    assert actions(at(r, 120, ghost, *waits, booted=115)) == [(REQUEUE, "1")]
    assert actions(at(r, 130, ghost._replace(state="COMPLETING"), *waits, booted=115)) == []
    lost = job("1", demand=8, held=False, restarts=1, submit=EPOCH + 135)
    assert actions(at(r, 140, lost, *waits, booted=115)) == [(HOLD, "1")]


@pytest.mark.parametrize("was_waiting", [False, True])
@pytest.mark.parametrize("is_known", [False, True])
def test_a_stopped_job_that_slurmctld_takes_to_have_failed_is_requeued(
    tmp_path: Path, was_waiting: bool, is_known: bool
) -> None:
    fails = [Run("1", "a", "u", "normal", "FAILED", EPOCH, EPOCH, EPOCH + 101, 8)] * is_known
    r = rounds(FRESH, history=lambda _: fails)
    for second in (0, 10):
        step(r, second, job("1", demand=8) if second == 0 else running("1", 0))
    result = step(r, 100, running("1", 0), *NEW)
    assert (REQUEUE, "1") in actions(result)
    if was_waiting:
        step(r, 110, job("1", demand=8, restarts=1), *NEW)
    failed = running("1", 0)._replace(state="FAILED", end=EPOCH + 101, on_nodes={})
    waits = NEW[0]._replace(held=False), NEW[1]._replace(held=False)
    for second in (120, 130):  # the first may be withheld
        assert actions(at(r, second, failed, *waits, booted=115)) == [(REQUEUE, "1")]
    assert "1" in r.accounts.ids(PENDING)
    again = job("1", demand=8, restarts=1, submit=EPOCH + 131)
    assert actions(at(r, 140, again, *waits, booted=115)) == []
    assert "1" in r.accounts.ids(PENDING)
    with closing(Ledger(tmp_path / "state.sqlite")) as ledger:  # all has been killed again and again meanwhile
        for one in (result, at(r, 190, failed, *waits, booted=175)):
            ledger.write(one.state, one.over)
        r = rounds(FRESH, ledger.read(), lambda _: fails)
    assert (REQUEUE, "1") in actions(at(r, 250, failed, *waits, booted=225))


def test_a_start_that_slurmctld_has_forgotten_is_charged_until_slurmctld_was_started() -> None:
    """Its job may still run on its node: it gets no other lease until Slurm has had time to look."""
    r = rounds(FRESH)
    step(r, 0, job("1", demand=8))
    step(r, 10, running("1", 1))
    waits, other = job("1", demand=8), job("2", account="b", demand=8)
    result = at(r, 30, waits, other, booted=25)
    assert actions(result) == [(RELEASE, "2")]
    assert result.notes == ("job 1 lost its lease: slurmctld was restarted and has forgotten it",)
    assert [(lease.over, lease.outcome) for lease in result.over] == [(EPOCH + 25, "lost")]
    assert r.accounts.view.tenant.attained[0] == 8 * 24
    assert r.kept == {"1": "slurmctld was restarted and may not know yet that it has ended or runs"}
    again = at(r, 25 + LATE_ENDS + 5, waits, running("2", 31, account="b", on_nodes={"n2": 8}), booted=25)
    assert actions(again) == [(RELEASE, "1")]
    assert r.leases["1"].number == 2


@pytest.mark.parametrize("is_known", [True, False])
def test_a_stop_that_slurmctld_has_forgotten_is_charged_as_the_accounting_says(is_known: bool) -> None:
    stop = Run("1", "a", "u", "normal", "REQUEUED", EPOCH, EPOCH, EPOCH + 102, 8)
    r = rounds(FRESH, history=lambda _: [stop] * is_known)
    for second, one in ((0, job("1", demand=8)), (10, running("1", 0))):
        step(r, second, one)
    ghost = running("1", 0)
    assert (REQUEUE, "1") in actions(step(r, 100, ghost, *NEW))
    waits = [one._replace(held=False) for one in NEW]
    for second in (110, 120):
        assert actions(at(r, second, ghost, *waits, booted=105)) == [(REQUEUE, "1")]
    assert r.accounts.view.tenant.attained[0] == 8 * (102 if is_known else 120)


def test_a_take_over_counts_as_a_start(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "BOOT_TIME = 1000\n\nSlurmctld(primary) at one is {}\nSlurmctld(backup) at two is UP\n"
    slurm, clock = Slurm("gpu"), iter((2000.0, 3000.0))
    monkeypatch.setattr("astraea_ops.live.slurm.time.time", lambda: next(clock))
    found = []
    for state in ("UP", "UP", "DOWN", "DOWN", "UP"):
        said = lines.format(state)
        monkeypatch.setattr(slurm, "_run", lambda *_, said=said, **__: said)
        found.append(slurm.boot())
    assert found == [1000, 1000, 2000, 2000, 3000]
