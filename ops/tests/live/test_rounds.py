"""Decisions of a round from what Slurm shows, and jobs that it leaves to Slurm."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from live_cluster import CONFIG, EPOCH, NEW, NODES, actions, job, rounds, running, step

from astraea.cluster.policies import get_policy
from astraea_ops.live.answers import Job, Node, Run
from astraea_ops.live.rounds import HOLD, RELEASE, REQUEUE


def test_who_waits_is_released_in_the_order_of_the_policy() -> None:
    result = step(rounds(), 0, job("1", demand=8), job("2", demand=8), job("3", account="b", demand=4))
    assert actions(result) == [(RELEASE, "1"), (RELEASE, "3")]  # 2 would be beyond what is free
    ranks = [action.rank for action in result.actions]
    assert ranks == sorted(set(ranks))
    assert "granted lease 1; a was owed nothing yet" in result.actions[0].why


def test_a_lease_is_renewed_or_lost_and_what_was_not_done_is_done_at_the_next_round() -> None:
    r = rounds()
    for second in (0, 10):
        assert actions(step(r, second, job("1", demand=8))) == [(RELEASE, "1")]
    result = step(r, 100, running("1", 11))
    assert [lease.outcome for lease in result.over] == ["renewed"]
    assert actions(result) == []
    result = step(r, 200, running("1", 11), *NEW)
    assert [lease.outcome for lease in result.over] == ["not renewed"]
    assert actions(result) == [(REQUEUE, "1"), (RELEASE, "2"), (RELEASE, "3")]
    result = step(r, 210, running("1", 11), *NEW)
    assert actions(result) == [(REQUEUE, "1"), (RELEASE, "2"), (RELEASE, "3")]
    result = step(r, 220, job("1", demand=8, held=False, restarts=1), *NEW)
    assert actions(result) == [(HOLD, "1"), (RELEASE, "2"), (RELEASE, "3")]


@pytest.mark.parametrize("start", [3, -5000])
def test_a_job_that_slurm_started_by_itself_is_adopted(start: float) -> None:
    """A job that ran before the coordinator started is adopted; its lease ends one term from now."""
    r = rounds()
    result = step(r, 10, running("1", start), *NEW)
    assert actions(result) == [(RELEASE, "2")]
    assert (r.leases["1"].granted - EPOCH, r.leases["1"].ends - EPOCH) == (start, 110)


def test_slurm_requeued_a_job() -> None:
    r = rounds()
    step(r, 0, job("1", demand=8))
    step(r, 10, running("1", 1, demand=8))
    result = step(r, 20, job("1", demand=8, restarts=1, held=False, reason="BeginTime", eligible=EPOCH + 30))
    assert [lease.outcome for lease in result.over] == ["lost"]
    assert any("lost its lease" in note for note in result.notes)
    assert actions(result) == [(RELEASE, "1")]  # has another one at once
    late = job("1", demand=8, restarts=1, held=False, reason="BeginTime", eligible=EPOCH + 100)
    assert actions(step(r, 30, late)) == [(RELEASE, "1")]
    assert actions(step(r, 40, late._replace(eligible=EPOCH + 30))) == []


def test_a_job_that_slurm_ran_and_requeued_before_it_was_seen() -> None:
    run = Run("1", "a", "u", "normal", "REQUEUED", EPOCH + 91, EPOCH + 92, EPOCH + 97, 8)
    asked: list[float] = []
    r = rounds(history=lambda since: asked.append(since) or [run] if since > EPOCH else [])
    step(r, 90)
    step(r, 100, job("1", demand=8, restarts=1, submit=EPOCH + 91, eligible=EPOCH + 217))
    assert r.accounts.view.tenant.attained[0] == 8 * 5
    assert r.accounts.job("1").submit_time == EPOCH + 91 - r.epoch
    step(r, 110, running("1", 102, restarts=1, demand=8))
    assert asked == [EPOCH + 90]  # once, when it came


@pytest.mark.parametrize(
    ("shown", "accounting", "over"),
    [
        ([job("1", demand=8, state="COMPLETED", start=EPOCH + 1, end=EPOCH + 33, held=False)], [], 33),
        ([], [Run("1", "a", "u", "normal", "COMPLETED", EPOCH, EPOCH + 1, EPOCH + 21, 8)], 21),
    ],
    ids=["shown", "gone"],
)
def test_a_job_ends(shown: list[Job], accounting: list[Run], over: float) -> None:
    r = rounds(history=lambda since: accounting if since > EPOCH - 1 else [])
    step(r, 0, job("1", demand=8))
    result = step(r, 40, *shown)
    assert [(lease.outcome, lease.over - EPOCH) for lease in result.over] == [("ended", over)]
    assert r.accounts.view.tenant.attained[0] == 8 * (over - 1)  # it began at 1
    assert actions(step(r, 50)) == []


def test_a_job_that_is_about_to_end_is_not_stopped() -> None:
    r = rounds()
    step(r, 0, job("1", demand=8))
    result = step(r, 100, running("1", 1, demand=8)._replace(state="COMPLETING"), *NEW)
    assert actions(result) == [(RELEASE, "2"), (RELEASE, "3")]
    assert [lease.outcome for lease in result.over] == ["not renewed"]


def test_gangs_need_nodes() -> None:
    r = rounds()
    step(r, 0, job("1", demand=5), job("2", account="b", demand=5))
    shown = running("1", 1, demand=5), running("2", 1, account="b", demand=5, on_nodes={"n2": 5})
    result = step(r, 10, *shown, job("3", demand=6, per_node=6))
    assert actions(result) == []
    assert result.notes == ("job 3 of a was picked but has to wait: no node has 6 GPUs free",)
    assert actions(step(r, 20, *shown, job("3", demand=6, per_node=3, nodes=2))) == [(RELEASE, "3")]


def test_a_gang_that_was_granted_and_has_not_started_keeps_its_place() -> None:
    r = rounds()
    one = job("1", demand=8, per_node=8)
    step(r, 0, one)
    result = step(r, 10, one._replace(held=False), job("2", account="b", demand=8, per_node=8))
    assert actions(result) == [(RELEASE, "2")]
    result = step(r, 20, one._replace(held=False), job("2", account="b", demand=8, per_node=8, held=False),
                job("3", account="b", demand=1, per_node=1))  # fmt: skip
    assert actions(result) == []


@pytest.mark.parametrize("policy", ["astraea", "decayed-usage"])
def test_a_lease_that_slurm_did_not_start_is_not_charged(policy: str) -> None:
    r = rounds(replace(CONFIG, policy=get_policy(policy).with_parameters(lease_term=100)))
    step(r, 0, job("1", demand=8))
    waits = job("1", demand=8, held=False, reason="Priority")
    step(r, 50, waits)
    assert r.accounts.balance("a").rho == 1
    result = step(r, 100, waits, *NEW)
    assert [lease.outcome for lease in result.over] == ["not started"]
    assert any("Slurm had not started it (Priority)" in action.why for action in result.actions)
    assert r.accounts.view.tenant.attained[0] == 0
    assert r.accounts.view.tenant.decayed[0] == pytest.approx(0, abs=1e-6)
    assert r.accounts.balance_of_job("1").rho == 0


FOREIGN = running("9", 0, demand=6, partition="other")
WHOLE = job("1", demand=4, per_node=4), job("2", account="b", demand=8, per_node=8)
DOWN = [NODES[0], NODES[1]._replace(is_usable=False)]


@pytest.mark.parametrize(
    ("jobs", "nodes", "released"),
    [
        ([FOREIGN, job("1", demand=7)], NODES, ["1"]),
        ([FOREIGN._replace(on_nodes={"n1": 6, "n2": 6}), job("1", demand=5)], NODES, []),
        ([FOREIGN._replace(on_nodes={"n1": 2, "n2": 1}), *WHOLE], NODES, ["1"]),
        ([job("1", demand=8), job("2", account="b", demand=1)], DOWN, ["1"]),
        ([FOREIGN, job("8", partition="other", held=False)], NODES, []),
        ([job(f"7_{k}", array="7", at_once=2) for k in range(5)], NODES, ["7_0", "7_1"]),
    ],
    ids=["free", "held by others", "in pieces", "node down", "jobs of others are not touched", "tasks at once"],
)
def test_what_others_and_limits_leave(jobs: list[Job], nodes: list[Node], released: list[str]) -> None:
    assert actions(step(rounds(), 10, *jobs, nodes=nodes)) == [(RELEASE, id) for id in released]


def before(id: str, state: str, start: float, end: float, *, account: str = "a", demand: int = 4) -> Run:
    """A run that began and ended this long before the first round; 0 if it has not ended."""
    return Run(id, account, "u", "normal", state, EPOCH - 5000, EPOCH - start, EPOCH - end if end else 0, demand)


@pytest.mark.parametrize(
    ("runs", "shown", "attained"),
    [
        ([before("1", "COMPLETED", 4000, 3000, demand=8), before("2", "REQUEUED", 4000, 3500, account="b"),
          before("2", "RUNNING", 2000, 0, account="b")],
         [running("2", -2000, account="b", demand=4)], [8 * 1000, 4 * 2500]),
        ([before("7", "COMPLETED", 100, 50)], [], [200, 0]),
        ([before("7", "COMPLETED", 100, 50)],
         [job("7", state="COMPLETED", held=False, start=EPOCH - 100, end=EPOCH - 50, submit=EPOCH - 5000, demand=4)],
         [200, 0]),
        ([before("7", "REQUEUED", 800, 700), before("7", "COMPLETED", 600, 500, demand=0),
          before("8", "REQUEUED", 800, 700), before("8", "COMPLETED", 600, 500, account="nobody")], [], [400, 0]),
    ],
    ids=["one still runs", "gone from squeue", "in squeue", "other sizes and accounts"],
)  # fmt: skip
def test_what_was_before_is_counted_once(runs: list[Run], shown: list[Job], attained: list[float]) -> None:
    asked: list[float] = []
    r = rounds(history=lambda since: asked.append(since) or runs)
    step(r, 0, *shown)
    assert asked[0] == EPOCH - 86_400
    tenant = r.accounts.view.tenant
    had = tenant.attained + tenant.held * (r.accounts.now - tenant.attained_until)
    assert had.tolist() == pytest.approx(attained)


def test_the_cluster_grows_and_shrinks() -> None:
    r = rounds()
    step(r, 0, job("1", demand=8), job("2", account="b", demand=8))
    shown = running("1", 1, demand=8), running("2", 1, account="b", demand=8, on_nodes={"n2": 8})
    more = [*NODES, Node("n3", 8, True, ("gpu",))]
    result = step(r, 10, *shown, job("3", demand=4), nodes=more)
    assert actions(result) == [(RELEASE, "3")]
    assert r.accounts.quota("a") == 12
    result = step(r, 20, *shown, running("3", 11, demand=4, on_nodes={"n3": 4}), nodes=NODES)
    assert "24 to 16 GPUs" in result.notes[0]
    assert actions(result) == []


def test_a_tenant_that_comes_later() -> None:
    r = rounds(replace(CONFIG, weights={}))
    step(r, 0, job("1", account="x", demand=8))
    assert r.accounts.quota("x") == 16
    result = step(r, 50, running("1", 0, account="x", demand=8), job("2", account="y", demand=8))
    assert actions(result) == [(RELEASE, "2")]
    assert r.accounts.quota("x") == 8
    assert r.accounts.balance("x").rho == pytest.approx(1)


def test_who_is_left_to_slurm_is_told_once() -> None:
    r = rounds()
    jobs = job("1", demand=0, held=False), job("2", is_part=True, held=False), job("3", account="c", held=False)
    result = step(r, 0, *jobs)
    assert actions(result) == []
    assert len(result.notes) == 3
    assert step(r, 10, *jobs).notes == ()


def test_what_cannot_start_now_is_passed_over() -> None:
    late = job("1", eligible=EPOCH + 100)
    r = rounds()
    assert actions(step(r, 0, late, job("2", depends=True))) == []
    assert actions(step(r, 110, late, job("2"))) == [(RELEASE, "2"), (RELEASE, "1")]


def test_a_job_that_may_not_be_requeued_keeps_its_gpus() -> None:
    r = rounds()
    step(r, 0, job("1", demand=8, requeues=False))
    assert r.leases["1"].ends == math.inf
    result = step(r, 500, running("1", 1, demand=8, requeues=False), *NEW)
    assert actions(result) == [(RELEASE, "2")]
