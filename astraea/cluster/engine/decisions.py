"""A policy's choices in one round: checked, then carried out."""

from __future__ import annotations

from typing import Final

from astraea.cluster.engine import placement
from astraea.cluster.engine.leases import revoke_lease, start_lease, stop
from astraea.cluster.engine.queues import dequeue, enqueue, put
from astraea.cluster.engine.state import EXPIRED, PENDING, RUNNING, Private, View
from astraea.core.compilation import inlined

# the rules that a policy can break
NOT_A_JOB, NOT_A_CANDIDATE, GRANTED_TWICE, OVER_CAPACITY, NOT_RUNNING, STUCK, MISPLACED, UNSAVED = range(1, 9)

BROKEN: Final = {
    NOT_A_JOB: "granted {job}, which is not a job",
    NOT_A_CANDIDATE: "granted {job}, which neither waits nor asks for renewal",
    GRANTED_TWICE: "granted {job} twice in one round",
    OVER_CAPACITY: "granted {job} more GPUs than are free",
    NOT_RUNNING: "revoked {job}, which is not under a running lease or was revoked already",
    MISPLACED: "chose nodes for {job} that do not have its gang free, or on which it may not run",
    UNSAVED: "takes the GPUs of {job}, which saved no state at the end of its last lease",
    STUCK: "leaves {job} and {others} more waiting in an idle cluster for ever",
}
"""Descriptions of broken rules."""


@inlined
def broken(x: Private, rule: int, j: int) -> bool:
    """Record which rule was broken with which job; return False."""
    x.violation, x.violator = rule, j
    return False


@inlined
def are_valid(s: View, x: Private) -> bool:
    """Check the policy's choices: real candidates, each once, within the free GPUs."""
    gpus = placement.free_gpus(s)
    for k in range(s.n_revoked):
        j = s.revoked[k]
        if not 0 <= j < len(s.job) or s.job[j].status != RUNNING:
            return broken(x, NOT_RUNNING, j)
        s.job[j].decided = False
    for k in range(s.n_revoked):
        if s.job[s.revoked[k]].decided:
            return broken(x, NOT_RUNNING, s.revoked[k])
        if x.job[s.revoked[k]].unsaved:
            return broken(x, UNSAVED, s.revoked[k])
        s.job[s.revoked[k]].decided = True
        gpus += s.job[s.revoked[k]].demand
    if s.n_granted > s.gpus:
        return broken(x, OVER_CAPACITY, s.granted[s.gpus])
    for k in range(s.n_granted):
        if 0 <= s.granted[k] < len(s.job):
            s.job[s.granted[k]].decided = False
    for k in range(s.n_granted):
        j = s.granted[k]
        if not 0 <= j < len(s.job):
            return broken(x, NOT_A_JOB, j)
        if s.job[j].status != PENDING and s.job[j].status != EXPIRED:
            return broken(x, NOT_A_CANDIDATE, j)
        if s.job[j].decided:
            return broken(x, GRANTED_TWICE, j)
        if s.job[j].demand > gpus:
            return broken(x, OVER_CAPACITY, j)
        gpus -= s.job[j].demand
        s.job[j].decided = True
    for k in range(s.n_expired):
        if x.job[s.expired[k]].unsaved and not s.job[s.expired[k]].decided:
            return broken(x, UNSAVED, s.expired[k])
    return True


@inlined
def apply(s: View, x: Private) -> bool:
    """Carry the decisions out: revocations and preemptions first, then leases in order of selection.

    A gang for which there are no nodes now is refused for the rest of this round, and the policy chooses again without
    it ([Ye2022] Algorithm 1, lines 9 to 16). Later decisions are undone, except renewals. Return false if the nodes
    that the policy chose cannot be given.
    """
    time = s.now
    for k in range(s.n_revoked):
        s.job[s.revoked[k]].decided = False
        revoke_lease(s, x, s.revoked[k], time)
    for k in range(s.n_expired):
        j = s.expired[k]
        if not s.job[j].decided:
            stop(s, x, j, time)
    choice, n_started, n_refused = 0, 0, x.n_refused
    for k in range(s.n_granted):
        j, t = s.granted[k], s.job[s.granted[k]].tenant
        s.job[j].decided = False
        s.open_gangs[s.job[j].demand] += 1
        if s.job[j].status == EXPIRED:
            start_lease(s, x, j, time)
        elif x.n_refused > n_refused:
            s.tenant[t].granted -= s.job[j].demand
            while choice < s.n_choices and s.choices[choice].job == j:
                choice += 1
            continue
        elif choice < s.n_choices and s.choices[choice].job == j:
            choice = place_as_chosen(s, j, choice)
            if choice < 0:
                return broken(x, MISPLACED, j)
            start_lease(s, x, j, time)
        elif placement.place(s, x, j):
            start_lease(s, x, j, time)
        put(x.started, n_started, j)
        n_started += 1
        if s.job[j].status == RUNNING:
            s.tenant[t].started += s.job[j].demand
        else:  # not a candidate for the rest of this round
            put(x.refused, x.n_refused, j)
            x.n_refused += 1
            s.tenant[t].granted -= s.job[j].demand
            s.tenant[t].refused += 1
    dequeue(s, x.started, n_started)
    if choice < s.n_choices:
        return broken(x, MISPLACED, s.choices[choice].job)
    s.n_expired = 0
    s.n_granted = 0
    s.n_revoked = 0
    s.n_choices = 0
    for t in range(len(s.tenant)):
        s.tenant[t].revoked = 0
    if x.n_refused > 0:  # the policy chooses again, and leaves the leases that it has just given alone
        for j in s.running[: s.n_running]:
            s.job[j].decided = s.job[j].lease_start == time
    s.free = placement.free_gpus(s)
    return True


@inlined
def end_round(s: View, x: Private) -> None:
    """Make refused gangs candidates again, and forget what tenants were granted in this round."""
    if x.n_refused > 0:
        for j in s.running[: s.n_running]:
            s.job[j].decided = False
        enqueue(s, x.refused, x.n_refused)
        x.n_refused = 0
    for t in range(len(s.tenant)):
        s.tenant[t].granted = s.tenant[t].started = s.tenant[t].refused = 0


@inlined
def place_as_chosen(s: View, j: int, choice: int) -> int:
    """Give job `j` the nodes that the policy chose from `choices[choice]` on; return the next choice, or -1."""
    left = s.job[j].demand
    while left > 0 and choice < s.n_choices and s.choices[choice].job == j:
        node, gpus = s.choices[choice].node, s.choices[choice].gpus
        if not 0 <= node < len(s.node_free) or not 0 < gpus <= min(left, s.node_free[node]):
            return -1
        if not s.rules.allowed[s.rules.kind[j], node]:
            return -1
        placement.take(s, j, node, gpus)
        left -= gpus
        choice += 1
    return choice if left == 0 else -1
