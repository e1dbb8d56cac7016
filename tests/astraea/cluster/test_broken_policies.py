"""Errors of the engine about policies that break its rules."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from schedules import jobs, trace_of

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import View
from astraea.cluster.policy import all_candidates, fits, grant, place_on, policy, revoke, spare_checkpoints
from astraea.cluster.simulate import simulate
from astraea.core.errors import PolicyError

GRANT, REVOKE, PLACE = 1, 2, 100  # to the last, 10 times the node and the GPUs are added
NOBODY = 99  # stands for index -1, as parameters are not negative


class Deeds(NamedTuple):
    """Action of the broken policy at 30 s, one of those above, and its job; then its next action."""

    first: float = 0.0
    first_job: float = 0.0
    second: float = 0.0
    second_job: float = 0.0


@policy("broken", Deeds)
def broken(s: View) -> None:
    """First in, first out, until 30 s; then it does the given deed, if there is one."""
    if s.now < 30 or s.parameters[0] == 0:
        for j in all_candidates(s):
            if fits(s, j):
                grant(s, j)
        return
    for k in range(0, 4, 2):
        deed, job = int(s.parameters[k]), int(s.parameters[k + 1])
        job = -1 if job == NOBODY else job
        if deed == GRANT:
            grant(s, job)
        elif deed == REVOKE:
            revoke(s, job)
        elif deed >= PLACE:
            place_on(s, job, (deed - PLACE) // 10, (deed - PLACE) % 10)


# 4 GPUs: at 30 s job a0 has ended, a1 holds one GPU, a2 and a3 wait, a4 has not come
BREAKABLE = trace_of(jobs("a0 1 0 10", "a1 1 0 500", "a2 2 25 10", "a3 3 25 10", "a4 1 3600 10"))
BROKEN = [
    ((GRANT, 2, GRANT, 2), "granted job 'a2' twice in one round"),
    ((GRANT, 2, GRANT, 3), "granted job 'a3' more GPUs than are free"),
    ((GRANT, 0), "granted job 'a0', which neither waits nor asks for renewal"),
    ((GRANT, 1), "granted job 'a1', which neither waits nor asks for renewal"),
    ((GRANT, 4), "granted job 'a4', which neither waits nor asks for renewal"),
    ((GRANT, NOBODY), "granted index -1, which is not a job"),
    ((GRANT, 5), "granted index 5, which is not a job"),
    ((REVOKE, 2), "revoked job 'a2', which is not under a running lease or was revoked already"),
    ((REVOKE, 1, REVOKE, 1), "revoked job 'a1', which is not under a running lease or was revoked already"),
    ((REVOKE, NOBODY), "revoked index -1, which is not under a running lease or was revoked already"),
    ((REVOKE, 1, GRANT, 1), "granted job 'a1', which neither waits nor asks for renewal"),
    ((GRANT, 2, PLACE + 12, 2), "chose nodes for job 'a2' that do not have its gang free"),  # there is one node
    ((GRANT, 2, PLACE + 1, 2), "chose nodes for job 'a2' that do not have its gang free"),  # half of the gang
    ((GRANT, 2, PLACE + 4, 2), "chose nodes for job 'a2' that do not have its gang free"),  # one is in use
    ((GRANT, 2, PLACE + 1, 3), "chose nodes for job 'a3' that do not have its gang free"),  # was not granted
]


@pytest.mark.parametrize("deeds, message", BROKEN)
def test_a_broken_policy_is_named_with_job_and_time(deeds: tuple[float, ...], message: str) -> None:
    with pytest.raises(PolicyError, match=rf"^policy broken, at 30 s: {message}") as raised:
        simulate(BREAKABLE, Cluster(1, 4), broken, **Deeds(*deeds)._asdict())
    assert "\n" not in str(raised.value)


class When(NamedTuple):
    """Parameters of a policy that takes GPUs from a job that was to keep them, perhaps in the middle of a lease."""

    lease_term: float = 50.0
    revokes: float = 0.0


@policy("breaks-its-word", When)
def breaks_its_word(s: View) -> None:
    """The first job is to keep its GPUs; when the second comes, it loses them in spite of that."""
    if s.now >= 60 and s.parameters[1] > 0 and s.n_running > 0:
        revoke(s, 0)
    for j in all_candidates(s):
        if s.now < 100 and j == 0:
            spare_checkpoints(s, j)
            grant(s, j)
        elif j == 0:
            s.job[j].spared = False  # too late: its second lease has ended by now


@pytest.mark.parametrize("revokes, time", [(0, 100), (1, 60)])
def test_a_job_without_checkpoints_keeps_its_gpus(revokes: float, time: int) -> None:
    """Otherwise the engine would have to discard all its work."""
    expected = rf"^policy breaks-its-word, at {time} s: takes the GPUs of job 'a0', which saved no state"
    with pytest.raises(PolicyError, match=expected):
        simulate(trace_of(jobs("a0 1 0 500", "a1 1 60 10")), Cluster(1, 1), breaks_its_word, revokes=revokes)


def test_a_policy_that_grants_nothing_for_ever_is_noticed() -> None:
    with pytest.raises(PolicyError, match=r"policy broken, at .* s: leaves job 'a2' and 2 more waiting in an idle"):
        simulate(BREAKABLE, Cluster(1, 4), broken, first=99)
