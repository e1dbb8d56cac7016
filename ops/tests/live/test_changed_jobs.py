"""A job whose account, user, QOS, partition or size changes while it waits or runs is handled on purpose."""

from __future__ import annotations

from dataclasses import replace

import pytest
from live_cluster import CONFIG, EPOCH, NODES, actions, job, no_history, rounds, running, step

from astraea.cluster.engine.state import PENDING, RUNNING
from astraea_ops.live.rounds import RELEASE, REQUEUE, Rounds

FRESH = replace(CONFIG, history=0)
"""Accounts that begin with the first round."""


@pytest.mark.parametrize("field", ["account", "user", "qos"])
def test_a_job_keeps_the_tenant_that_it_was_admitted_with(field: str) -> None:
    r = rounds(replace(FRESH, tenant=field))
    jobs = [job(str(k), demand=8, **{field: "a"}) for k in (1, 2, 3)]
    assert actions(step(r, 0, *jobs)) == [(RELEASE, "1"), (RELEASE, "2")]
    moved = {field: "nobody knows"}
    shown = running("1", 0, **moved), running("2", 0, on_nodes={"n2": 8}, **moved), jobs[2]._replace(**moved)
    assert actions(step(r, 10, *shown)) == []
    result = step(r, 100, *shown)  # a grant and a stop speak of the tenant
    assert sorted(actions(result)) == [(RELEASE, "3"), (REQUEUE, "2")]
    assert all("a has had 200% of its fair share" in action.why for action in result.actions)
    assert [(lease.job, lease.tenant) for lease in result.over] == [("2", "a"), ("1", "a")]
    assert {lease.tenant for lease in result.state.leases.values()} == {"a"}
    assert r.accounts.balance("a").rho > 0
    assert r.accounts.trace.tenants == ("a", "b")


@pytest.mark.parametrize(
    ("before", "after", "tenants", "over"),
    [
        ({}, {}, ("a", "b", "ann", "eve"), []),
        (CONFIG.weights, CONFIG.weights, ("a", "b"), []),
        # tenants without a weight are left: their leases are over, and their jobs come anew
        (CONFIG.weights, {"ann": 1.0, "eve": 1.0}, ("ann", "eve", "ann", "eve"), ["1", "2"]),
    ],
)
def test_another_tenant_key_over_an_old_state(
    before: dict[str, float], after: dict[str, float], tenants: tuple[str, ...], over: list[str]
) -> None:
    old = rounds(replace(FRESH, weights=before))
    step(old, 0, job("1", demand=8, user="ann"), job("2", account="b", demand=8, user="eve"))
    new = rounds(replace(FRESH, tenant="user", weights=after), old.state())
    shown = [running("1", 1, user="ann"), running("2", 1, account="b", user="eve", on_nodes={"n2": 8})]
    found = []
    for second in (10, 110, 210):
        result = step(new, second, *shown, job("3", user="ann", demand=4), job("4", user="eve", demand=4))
        found += [lease.job for lease in result.over if lease.outcome == "lost"]
    assert found == over
    members = {member.id: member.tenant for member in new.accounts.admitted}
    assert members == dict(zip("1234", tenants, strict=False))


def test_a_job_that_is_resized_as_it_waits_comes_anew() -> None:
    r = rounds(FRESH)
    result = step(r, 0, job("1", demand=8), job("2", account="b", demand=8), job("3", demand=8))
    assert actions(result) == [(RELEASE, "1"), (RELEASE, "2")]
    here = running("1", 1), running("2", 1, account="b", on_nodes={"n2": 8})
    result = step(r, 10, *here, job("3", demand=2))
    assert "job 3 changed from 8 to 2 GPUs: it counts as a new job" in result.notes
    result = step(r, 20, *here, job("3", demand=2))
    member = r.accounts.job("3")
    assert (member.demand, member.submit_time, r.accounts.ids(PENDING)) == (2, 10, ["3"])
    assert r.accounts.view.tenant.demand.tolist() == [10, 8]


@pytest.mark.parametrize(("before", "after"), [(2, 7), (8, 3), (2, 10)])
def test_gpus_of_a_job_that_is_resized_as_it_runs_are_counted_as_they_are(before: int, after: int) -> None:
    r = rounds(FRESH)
    step(r, 0, job("1", demand=before))
    step(r, 10, running("1", 0, before))
    result = step(r, 50, running("1", 0, after))
    assert actions(result) == []  # it is not stopped
    assert [lease.outcome for lease in result.over] == ["resized"]
    result = step(r, 60, running("1", 0, after))
    assert actions(result) == []
    assert r.accounts.ids(RUNNING) == ["1"]
    ((lease),) = result.state.leases.values()
    assert (lease.demand, lease.ends - EPOCH) == (after, 100)
    step(r, 90, running("1", 0, after))
    done = job("1", demand=after, state="COMPLETED", start=EPOCH, end=EPOCH + 95, held=False)
    step(r, 100, done)
    assert r.accounts.view.tenant.attained[0] == before * 50 + after * 45


def test_a_job_that_leaves_the_partition_ends_in_the_accounts_only() -> None:
    r = rounds(FRESH)
    step(r, 0, job("1", demand=8), job("2", demand=4))
    result = step(r, 10, running("1", 1), job("2", demand=4, held=True, partition="other"))
    assert "job 2 has left the partition and counts as ended" in result.notes
    assert actions(result) == []
    assert actions(step(r, 20, running("1", 1), job("2", demand=8, partition="other", held=False))) == []
    assert r.accounts.ids(PENDING) == []
    assert actions(step(r, 30, running("1", 1), job("2", demand=8))) == [(RELEASE, "2")]  # it comes back as a new one


def test_a_begin_time_beyond_all_clocks_is_no_submission() -> None:
    r = rounds(FRESH)
    far = job("1", demand=8, restarts=1, eligible=9e18)
    assert actions(step(r, 0, far)) == [(RELEASE, "1")]
    assert r.accounts.job("1").submit_time == 0


@pytest.mark.parametrize("begins_with", [0, 1])
def test_a_partition_may_have_no_nodes_for_a_while(begins_with: int) -> None:
    r = Rounds(FRESH, 8 * begins_with, EPOCH, None, no_history)
    for second in (0, 10):
        assert actions(step(r, second, job("1", demand=1), nodes=[])) == []
    result = step(r, 20, job("1", demand=1))
    assert actions(result) == [(RELEASE, "1")]


def test_a_gang_waits_that_the_partition_has_become_too_small_for() -> None:
    r = rounds(replace(FRESH, weights={}))
    for second in (0, 10):
        step(r, second, job("1", demand=12))
    for second in (110, 120):
        step(r, second, job("1", demand=12, restarts=1), nodes=NODES[:1])  # it lost its lease with the node
    assert r.accounts.ids(PENDING) == ["1"]
    assert r.accounts.gpus == 8
    assert r.accounts.view.open_gangs[12] == 1  # compiled code would write beyond the end of it


def test_a_coordinator_may_start_when_nodes_of_running_leases_are_gone() -> None:
    r = rounds(replace(FRESH, weights={}))
    jobs = [job(str(k), demand=4) for k in (1, 2, 3, 4)]
    state = step(r, 0, *jobs).state
    assert len(state.leases) == 4
    again = Rounds(r.config, 8, EPOCH + 10, state, no_history)
    assert again.accounts.gpus == 16
    assert len(again.accounts.view.running) >= 4 * 4  # compiled code would write beyond the end of it
    assert again.accounts.view.free == 0


def test_a_clock_that_was_set_back_waits() -> None:
    r = rounds(FRESH)
    step(r, 0, job("1", demand=4))
    for second in (50, 20):
        step(r, second, running("1", 0, 4))
        assert (r.accounts.now, r.leases["1"].ends, r.accounts.balance("a").rho) == (50, EPOCH + 100, 1)
    step(r, 100, running("1", 0, 4))
    assert r.leases["1"].is_renewal


@pytest.mark.parametrize("state", ["REQUEUE_HOLD", "SPECIAL_EXIT"])
def test_a_job_that_slurm_keeps_after_a_failure_waits_for_its_user(state: str) -> None:
    r = rounds(FRESH)
    step(r, 0, job("1", demand=8))
    step(r, 10, running("1", 1, demand=8))
    kept = job("1", demand=8, state=state, restarts=1)
    result = step(r, 20, kept, job("2", demand=8, state=state))
    assert actions(result) == []
    assert [(lease.job, lease.outcome) for lease in result.over] == [("1", "lost")]
    assert actions(step(r, 30, kept._replace(state="PENDING"))) == [(RELEASE, "1")]
