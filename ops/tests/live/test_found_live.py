"""Cases found on real clusters, each reproduced by what Slurm shows and handled on purpose."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from live_cluster import CONFIG, EPOCH, NEW, actions, job, rounds, running, step

from astraea.cluster.engine.state import PENDING, RUNNING
from astraea.cluster.policies import get_policy
from astraea_ops.live.answers import Node, Run, SlurmError
from astraea_ops.live.partition import Snapshot
from astraea_ops.live.rounds import HOLD, RELEASE, REQUEUE, Rounds

FRESH = replace(CONFIG, history=0)
SRUN = {"is_batch": False, "requeues": False}
"""A job of srun or salloc, as the answers tell of it."""


def test_an_interactive_job_is_charged_and_never_stopped() -> None:
    r = rounds(FRESH)
    result = step(r, 0, job("1", demand=8, **SRUN))
    assert actions(result) == [(RELEASE, "1")]
    assert "granted lease 1 until the job ends" in result.actions[0].why
    assert result.notes == ("job 1 is interactive (srun or salloc): it is never stopped",)
    result = step(r, 500, running("1", 0, **SRUN), *NEW)
    assert actions(result) == [(RELEASE, "2")]  # what it holds is granted to nobody
    assert r.accounts.balance("a").rho == 1
    assert r.leases["1"].ends == math.inf


@pytest.mark.parametrize("start", [3, -5000])
def test_an_interactive_job_that_slurm_started_by_itself_is_charged(start: float) -> None:
    r = rounds(FRESH)
    result = step(r, 10, running("1", start, **SRUN), *NEW)
    assert actions(result) == [(RELEASE, "2")]
    assert result.notes[-1] == "job 1 is interactive (srun or salloc): it is never stopped"
    assert actions(step(r, 200, running("1", start, **SRUN), *NEW)) == [(RELEASE, "2")]
    assert r.leases["1"].ends == math.inf


def test_a_policy_cannot_take_the_gpus_of_an_interactive_job() -> None:
    r = rounds(replace(FRESH, policy=get_policy("kai").with_parameters()))
    held = running("1", 0, 8, **SRUN), running("2", 0, 8, on_nodes={"n2": 8}, **SRUN)
    step(r, 10, *held)
    found = [actions(step(r, second, *held, job("3", account="b", demand=8))) for second in range(20, 100, 10)]
    assert found == [[]] * len(found)
    batch = held[0], held[1]._replace(is_batch=True, requeues=True)
    assert actions(step(r, 100, *batch, job("3", account="b", demand=8))) == [(REQUEUE, "2"), (RELEASE, "3")]


def test_a_job_of_several_partitions_is_held_and_gets_leases_as_long_as_one_is_ours() -> None:
    r = rounds(FRESH)
    both = job("1", demand=8, partition="other,gpu", held=False, account="c")
    assert actions(step(r, 0, both._replace(account="a"), both._replace(id="2", partition="other,more"))) == [
        (RELEASE, "1")
    ]  # fmt: skip
    assert actions(step(r, 10, both._replace(account="a", state="RUNNING", partition="gpu", start=EPOCH + 1,
                                             on_nodes={"n1": 8}))) == []  # fmt: skip
    assert actions(step(r, 20, both._replace(account="a", restarts=1))) == [(RELEASE, "1")]  # it was requeued
    others = both._replace(account="a", state="RUNNING", partition="other", on_nodes={"n1": 8}, start=EPOCH + 25)
    assert actions(step(r, 30, others)) == []  # on nodes of the other partition: Slurm's own
    assert r.accounts.withheld == 8


TWO = [Node("n1", 8, True, ("gpu",)), Node("n2", 8, True, ("h100", "gpu")), Node("n3", 8, True, ("h100",))]


@pytest.mark.parametrize(
    ("partition", "demand", "per_node", "used", "is_released"),
    [
        ("gpu", 8, 8, {"n1": 8, "n2": 1}, False), ("h100", 8, 8, {"n1": 8, "n2": 1}, True),
        ("gpu,h100", 8, 8, {"n1": 8, "n2": 1}, True), ("gpu,h100", 16, 8, {"n2": 8}, False),
        ("gpu,h100", 12, 0, {"n2": 6}, False), ("h100", 10, 0, {"n2": 6}, True), ("h100", 8, 0, {}, True),
    ],
)  # fmt: skip
def test_partitions_are_one_pool_and_a_gang_is_placed_in_one_of_them(
    partition: str, demand: int, per_node: int, used: dict[str, int], is_released: bool
) -> None:
    r = Rounds(replace(FRESH, partition="gpu,h100", weights={}), 24, EPOCH, None, lambda _: [])
    foreign = running("9", 0, partition="other", on_nodes=used)
    result = r.play(Snapshot(EPOCH, [foreign, job("1", partition=partition, demand=demand, per_node=per_node)], TWO))
    assert actions(result) == [(RELEASE, "1")] * is_released
    assert r.accounts.quota("a") == 24


@pytest.mark.parametrize(
    ("asks", "is_released"),
    [
        ({"demand": 8, "per_node": 8, "wanted": ("n1",)}, False),
        ({"demand": 8, "per_node": 8, "wanted": ("n2",)}, True),
        ({"demand": 4, "per_node": 4, "wanted": ("n1",)}, True), ({"demand": 6, "wanted": ("n1",)}, False),
        ({"demand": 8, "per_node": 8, "unwanted": ("n2",)}, False), ({"demand": 10, "unwanted": ("n1",)}, False),
        ({"demand": 8, "per_node": 4, "wanted": ("n1",)}, True), ({"demand": 8, "per_node": 8, "wanted": ("m",)}, True),
    ],
)  # fmt: skip
def test_a_job_that_names_nodes_gets_a_lease_for_those(asks: dict[str, object], is_released: bool) -> None:
    foreign = running("9", 0, partition="other", on_nodes={"n1": 4})
    named = job("1", **asks)
    result = step(rounds(replace(FRESH, weights={})), 10, foreign, named, job("2", demand=4, per_node=4))
    assert ((RELEASE, "1") in actions(result)) is is_released
    assert is_released or (RELEASE, "2") in actions(result)


def test_a_job_that_is_requeued_after_its_end_comes_anew() -> None:
    r = rounds(FRESH, history=lambda _: [Run("1", "a", "u", "normal", "REQUEUED", EPOCH, EPOCH + 1, EPOCH + 54, 8)])
    step(r, 0, job("1", demand=8))
    step(r, 10, running("1", 1))
    done = job("1", demand=8, state="COMPLETED", start=EPOCH + 1, end=EPOCH + 33, held=False)
    (first,) = step(r, 40, done).over
    step(r, 50, done)
    again = job("1", demand=8, held=False, restarts=1, submit=EPOCH + 54, eligible=EPOCH + 175, start=EPOCH + 175)
    assert sorted(actions(step(r, 60, again, *NEW[:1]))) == [(RELEASE, "1"), (RELEASE, "2")]
    assert r.leases["1"].serial != first.serial  # its row stays
    assert r.accounts.view.tenant.attained[0] == 8 * 32  # no time is counted twice
    step(r, 70, job("1", demand=8, state="FAILED", start=EPOCH + 62, end=EPOCH + 65, restarts=1))
    assert r.accounts.view.tenant.attained[0] == 8 * 35


@pytest.mark.parametrize("reason", ["Licenses", "ReqNodeNotAvail", "AssocGrpCpuLimit", "QOSMaxJobsPerUserLimit"])
def test_a_lease_that_slurm_will_not_start_is_withdrawn_and_the_next_job_is_picked(reason: str) -> None:
    r = rounds(FRESH)
    jobs = [job("1", demand=8, per_node=8), job("2", demand=8, per_node=8), job("3", demand=8, per_node=8)]
    assert actions(step(r, 0, *jobs)) == [(RELEASE, "1"), (RELEASE, "2")]
    stuck = jobs[0]._replace(held=False, reason=reason)
    shown = running("2", 1, on_nodes={"n2": 8}), jobs[2]
    result = step(r, 10, stuck, *shown)
    assert actions(result) == [(RELEASE, "3"), (HOLD, "1")]
    assert [lease.outcome for lease in result.over] == ["not started"]
    assert result.notes[0] == (
        f"withdraw lease 1 of job 1: Slurm does not start it ({reason}); it is skipped for 4 rounds"
    )
    assert r.accounts.balance_of_job("1").rho == 0
    assert actions(step(r, 20, jobs[0])) == []
    assert actions(step(r, 60, jobs[0])) == [(RELEASE, "1")]
    assert "for 8 rounds" in step(r, 70, stuck).notes[0]


def test_a_lease_for_which_gpus_are_free_and_something_else_is_not_is_withdrawn() -> None:
    r = rounds(FRESH)
    jobs = [job("1", demand=8, per_node=8), job("2", account="b", demand=8, per_node=8)]
    step(r, 0, *jobs)
    stuck = jobs[0]._replace(held=False, reason="Resources")
    leaves = running("2", 1, account="b", on_nodes={"n1": 8}), running("9", 0, partition="other", on_nodes={"n2": 8})
    for second in (10, 20, 30):  # it waits for GPUs
        assert actions(step(r, second, stuck, *leaves)) == []
    assert actions(step(r, 40, stuck, leaves[0])) == [(HOLD, "1")]


@pytest.mark.parametrize("deferred", [{"depends": True}, {"eligible": EPOCH + 500}])
def test_a_lease_of_a_job_that_is_told_to_wait_is_withdrawn(deferred: dict[str, object]) -> None:
    r = rounds(FRESH)
    step(r, 0, job("1", demand=8))
    result = step(r, 10, job("1", demand=8, held=False, **deferred))
    assert actions(result) == [(HOLD, "1")]
    assert "it waits for another job or for its begin time" in result.notes[0]
    assert actions(step(r, 600, job("1", demand=8))) == [(RELEASE, "1")]


def test_a_renewal_of_a_lease_that_never_started_has_not_started_either() -> None:
    r = rounds(FRESH)
    step(r, 0, job("1", demand=8))
    waits = job("1", demand=8, held=False, reason="Priority")
    result = step(r, 100, waits)
    assert [lease.outcome for lease in result.over] == ["not started"]
    assert not r.leases["1"].is_renewal
    assert r.leases["1"].started == 0
    step(r, 110, running("1", 105))
    step(r, 120, job("1", demand=8, state="COMPLETED", start=EPOCH + 105, end=EPOCH + 115))
    assert r.accounts.view.tenant.attained[0] == 80


def test_a_gang_without_a_place_is_replaced_in_the_same_round() -> None:
    r = rounds(replace(FRESH, weights={"a": 3.0, "b": 1.0}))
    foreign = running("9", 0, partition="other", on_nodes={"n1": 4, "n2": 4})
    gangs = [job(str(k), demand=6, per_node=6) for k in range(1, 60)]
    result = step(r, 10, foreign, *gangs, job("70", demand=4, per_node=4), job("71", account="b", demand=4, per_node=4))
    assert sorted(actions(result)) == [(RELEASE, "70"), (RELEASE, "71")]
    assert len([note for note in result.notes if "no node has 6 GPUs free" in note]) <= 2
    assert r.accounts.ids(RUNNING) == ["70", "71"]
    assert len(r.accounts.ids(PENDING)) == 59


@pytest.mark.parametrize("policy", ["astraea", "decayed-usage", "gandiva-fair"])
def test_accounts_count_from_the_start_that_slurm_reports(policy: str) -> None:
    r = rounds(replace(FRESH, policy=get_policy(policy).with_parameters(lease_term=100)))
    step(r, 0, job("1", demand=8))
    step(r, 10, running("1", 7))
    assert (r.leases["1"].granted, r.leases["1"].started) == (EPOCH, EPOCH + 7)
    step(r, 20, job("1", demand=8, state="COMPLETED", start=EPOCH + 7, end=EPOCH + 19))
    tenant = r.accounts.view.tenant
    assert tenant.attained[0] == 8 * 12
    decay = r.accounts.view.decay
    if decay > 0:
        assert tenant.decayed[0] == pytest.approx(8 * (1 - math.exp(-decay * 12)) / decay)


@pytest.mark.parametrize("ends", [False, True])
def test_what_a_job_holds_beyond_its_lease_is_charged(ends: bool) -> None:
    r = rounds(FRESH)
    step(r, 0, job("1", demand=8))
    step(r, 10, running("1", 0))
    assert actions(step(r, 100, running("1", 0), *NEW))[0] == (REQUEUE, "1")
    step(r, 110, running("1", 0), *NEW)
    last = job("1", demand=8, restarts=1)
    last = last._replace(state="COMPLETED", start=EPOCH, end=EPOCH + 117, restarts=0) if ends else last
    assert [lease.over for lease in step(r, 120, last, *NEW).over] == [EPOCH + 117] * ends
    assert r.accounts.view.tenant.attained[0] == 8 * (117 if ends else 110)
    step(r, 130, last, *NEW)
    assert r.accounts.view.tenant.attained[0] == 8 * (117 if ends else 110)


def test_a_run_that_began_as_its_lease_was_withdrawn_and_was_not_seen_has_a_lease() -> None:
    r = rounds(FRESH)
    step(r, 0, job("1", demand=8))
    result = step(r, 100, job("1", demand=8, held=False, reason="Priority"), *NEW)
    assert [lease.outcome for lease in result.over] == ["not started"] and (HOLD, "1") in actions(result)
    (lease,) = step(r, 120, job("1", demand=8, state="COMPLETED", start=EPOCH + 100, end=EPOCH + 117), *NEW).over
    assert (lease.outcome, lease.granted, lease.started, lease.over) == ("ended", *[EPOCH + 100] * 2, EPOCH + 117)
    assert (lease.number, r.accounts.view.tenant.attained[0]) == (2, 8 * 17 + 8 * 17)  # job 3 is of this tenant, too


class Deaf:
    """Accounting that does not answer until it is there."""

    def __init__(self, *runs: Run) -> None:
        self.is_there, self.runs = False, runs

    def __call__(self, since: float) -> list[Run]:
        if not self.is_there:
            raise SlurmError("sacct: no answer")
        return [run for run in self.runs if run.end == 0 or run.end >= since]


def test_the_accounting_may_be_down_at_the_start_and_is_asked_later() -> None:
    history = Deaf(Run("5", "b", "u", "normal", "COMPLETED", EPOCH - 900, EPOCH - 800, EPOCH - 700, 4))
    r = rounds(history=history)
    result = step(r, 0, job("1", demand=8))
    assert actions(result) == [(RELEASE, "1")]
    assert result.notes == (
        "the accounting does not answer (sacct: no answer): later rounds ask again for jobs that ended unseen",
    )
    assert step(r, 10, running("1", 1)).notes == ()
    history.is_there = True
    step(r, 20, running("1", 1))
    assert r.accounts.view.tenant.attained[1] == 400
    assert r.accounts.balance("b").rho == 1
    history.is_there = False
    assert step(r, 30, running("1", 1)).notes == ()  # nothing is unknown


def test_an_end_that_nobody_saw_is_corrected_when_the_accounting_is_there() -> None:
    history = Deaf(Run("1", "a", "u", "normal", "COMPLETED", EPOCH, EPOCH + 1, EPOCH + 15, 8))
    r = rounds(FRESH, history=history)
    step(r, 0, job("1", demand=8))
    step(r, 10, running("1", 1))
    (over,) = step(r, 60).over
    assert (over.outcome, over.over) == ("ended", EPOCH + 60)
    history.is_there = True
    (corrected,) = step(r, 70).over
    assert (corrected.serial, corrected.over) == (over.serial, EPOCH + 15)
    assert r.accounts.view.tenant.attained[0] == 8 * 14
