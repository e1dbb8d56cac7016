"""What a policy chose at a round: checked, then carried out."""

from __future__ import annotations

from typing import Final

from astraea.cluster.engine import placement
from astraea.cluster.engine.leases import lose, revoke_lease, start_lease
from astraea.cluster.engine.queues import dequeue, put
from astraea.cluster.engine.state import EXPIRED, PENDING, RUNNING, Private, View
from astraea.core.compilation import inlined

# the rules that a policy can break
NOT_A_JOB: Final = 1  # granted an index that is no job
NOT_A_CANDIDATE: Final = 2  # granted a job that neither waits nor asks for renewal
GRANTED_TWICE: Final = 3  # in one round
OVER_CAPACITY: Final = 4  # granted more GPUs than are free
NOT_RUNNING: Final = 5  # revoked what is not under a running lease, or revoked it twice
STUCK: Final = 6  # lets all jobs wait in an idle cluster
MISPLACED: Final = 7  # chose nodes that do not exist, have too few free GPUs, or do not add up to the gang


@inlined
def are_valid(s: View, x: Private) -> bool:
    """Check what the policy chose: real candidates, each once, within the GPUs that are there."""
    gpus = s.node_free.sum()
    for k in range(s.clock[0].n_expired):
        gpus += s.job[s.expired[k]].demand
    for k in range(s.clock[0].n_revoked):
        j = s.revoked[k]
        if not 0 <= j < len(s.job) or s.job[j].status != RUNNING:
            x.engine[0].violation, x.engine[0].violator = NOT_RUNNING, j
            return False
        s.job[j].decided = False
    for k in range(s.clock[0].n_revoked):
        if s.job[s.revoked[k]].decided:
            x.engine[0].violation, x.engine[0].violator = NOT_RUNNING, s.revoked[k]
            return False
        s.job[s.revoked[k]].decided = True
        gpus += s.job[s.revoked[k]].demand
    if s.clock[0].n_granted > s.clock[0].gpus:
        x.engine[0].violation, x.engine[0].violator = OVER_CAPACITY, s.granted[s.clock[0].gpus]
        return False
    for k in range(s.clock[0].n_granted):
        if 0 <= s.granted[k] < len(s.job):
            s.job[s.granted[k]].decided = False
    for k in range(s.clock[0].n_granted):
        j = s.granted[k]
        code = 0
        if not 0 <= j < len(s.job):
            code = NOT_A_JOB
        elif s.job[j].status != PENDING and s.job[j].status != EXPIRED:
            code = NOT_A_CANDIDATE
        elif s.job[j].decided:
            code = GRANTED_TWICE
        elif s.job[j].demand > gpus:
            code = OVER_CAPACITY
        if code > 0:
            x.engine[0].violation, x.engine[0].violator = code, j
            return False
        gpus -= s.job[j].demand
        s.job[j].decided = True
    return True


@inlined
def apply(s: View, x: Private) -> bool:
    """Carry the decisions out: revocations and preemptions first, then leases in order of selection.

    False if the nodes that the policy chose cannot be given.
    """
    time = s.clock[0].now
    for k in range(s.clock[0].n_revoked):
        s.job[s.revoked[k]].decided = False
        revoke_lease(s, x, s.revoked[k], time)
    for k in range(s.clock[0].n_expired):
        j = s.expired[k]
        if not s.job[j].decided:
            lose(s, x, j, time)
    choice, n_started = 0, 0
    for k in range(s.clock[0].n_granted):
        j = s.granted[k]
        s.job[j].decided = False
        s.open_gangs[s.job[j].demand] += 1
        if s.job[j].status == EXPIRED:
            start_lease(s, x, j, time)
        elif choice < s.clock[0].n_choices and s.choices[choice].job == j:
            choice = place_as_chosen(s, j, choice)
            if choice < 0:
                x.engine[0].violation, x.engine[0].violator = MISPLACED, j
                return False
            start_lease(s, x, j, time)
        elif placement.place(s, x, j, s.job[j].demand) > 0:
            start_lease(s, x, j, time)
        if s.job[j].status == RUNNING:
            put(x.started, n_started, j)
            n_started += 1
    dequeue(s, x.started, n_started)
    if choice < s.clock[0].n_choices:
        x.engine[0].violation, x.engine[0].violator = MISPLACED, s.choices[choice].job
        return False
    s.clock[0].n_expired = 0
    s.clock[0].n_granted = 0
    s.clock[0].n_revoked = 0
    s.clock[0].n_choices = 0
    for t in range(len(s.tenant)):
        s.tenant[t].granted = 0
        s.tenant[t].revoked = 0
    s.clock[0].free = s.node_free.sum()
    return True


@inlined
def place_as_chosen(s: View, j: int, choice: int) -> int:
    """Give job `j` the nodes that the policy chose from `choices[choice]` on; the next choice, -1 if it cannot be."""
    left = s.job[j].demand
    while left > 0 and choice < s.clock[0].n_choices and s.choices[choice].job == j:
        node, gpus = s.choices[choice].node, s.choices[choice].gpus
        if not 0 <= node < len(s.node_free) or not 0 < gpus <= min(left, s.node_free[node]):
            return -1
        placement.take(s, j, node, gpus)
        left -= gpus
        choice += 1
    return choice if left == 0 else -1
