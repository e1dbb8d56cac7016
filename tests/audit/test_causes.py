"""Why a job waited, on schedules small enough to draw: 2 nodes of 4 GPUs, tenants a and b with 4 GPUs each.

One letter is a second: = holds its GPUs, . waits.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded_logs import recorded

from astraea.audit.causes import Cause, _Log, causes, waits
from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import recorded_runs
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.traces.trace import Trace

TWO = Cluster(2, 4)


def explained(trace: Trace, cluster: Cluster = TWO) -> pd.DataFrame:
    runs = recorded_runs(trace)
    return causes(trace, runs, cluster, waits(trace, runs)).set_index("job_id")


def why(job: str, *rows: str) -> tuple[str, float, str]:
    """The cause of a job's wait, how long it lasted, and the sentence after the head."""
    found = explained(recorded(*rows)).loc[job]
    return found["cause"], found[found["cause"]], found["why"].partition(": ")[2]


def test_those_before_hold_too_much() -> None:
    """Nothing is free until a1 ends.

        a1 (8) ==========
        b1 (4)   ........====
    """
    assert why("b1", "a1 8 0 0 10", "b1 4 2 10 14") == (
        Cause.QUEUE, 8,
        "for 8 s, jobs that came before it held too many GPUs (8 by a when it came), and no job was ahead of it in the "
        "queue",
    )  # fmt: skip


def test_there_is_room_but_another_is_ahead() -> None:
    """b1 has room from the first second on, but a2 is first.

        a1 (4) ==========
        a2 (8)  .........====
        b1 (1)   ............==
    """
    cause, lasted, text = why("b1", "a1 4 0 0 10", "a2 8 1 10 14", "b1 1 2 14 16")
    assert (cause, lasted) == (Cause.ORDER, 8)
    assert text == (
        "for 8 s, it had room, as 4 GPUs were free on average, but was kept back behind a job that had come before, "
        "a2 of a (8 GPUs)"
    )


def test_free_gpus_lie_on_two_nodes() -> None:
    """Four GPUs are free, but b1 fits a node only if they are on one; a log does not tell.

        a1 (2) ==========
        a2 (2) ==========
        b1 (4)  .........====
    """
    cause, lasted, text = why("b1", "a1 2 0 0 10", "a2 2 0 0 10", "b1 4 1 10 14")
    assert (cause, lasted) == (Cause.GANG, 9)
    assert text.startswith("for 9 s, 4 GPUs were free on average, but on nodes that its gang could not have together")


def test_a_large_gang_needs_whole_nodes() -> None:
    """All is free but one GPU, and a gang of 8 needs both nodes: that is no lack of room, but of GPUs.

        a1 (1) ==========
        b1 (8)  .........====
    """
    assert why("b1", "a1 1 0 0 10", "b1 8 1 10 14")[:2] == (Cause.QUEUE, 9)


def test_the_quota_is_a_wall() -> None:
    """Four GPUs are free for ten seconds, but a has its four, and nobody ever has more.

        a1 (4) ==========
        a2 (2)  .........====
    """
    cause, lasted, text = why("a2", "a1 4 0 0 10", "a2 2 1 10 14", "b1 1 20 20 21")
    assert (cause, lasted) == (Cause.QUOTA, 9)
    assert text == "for 9 s, 4 GPUs were free on average, but with it a would have had more than its quota of 4 GPUs"


def test_quotas_are_no_walls_where_somebody_has_more() -> None:
    """The same, but later a has six.

        a1 (4) ==========
        a2 (2)  .........====
        a3 (6)                =
    """
    assert why("a2", "a1 4 0 0 10", "a2 2 1 10 14", "a3 6 15 15 16", "b1 1 20 20 21")[0] == Cause.ORDER


def test_a_later_job_of_the_same_tenant_went_first() -> None:
    """At 6 s all would be free for a2, but a3, which came later, has half of it.

        a1 (4) ======
        a2 (8)  ...........====
        a3 (4)   ==========
    """
    cause, lasted, text = why("a2", "a1 4 0 0 6", "a2 8 1 12 16", "a3 4 2 2 12", "b1 1 20 20 21")
    assert (cause, lasted) == (Cause.BACKFILL, 6)
    assert text == "for 6 s, it would have had room but for 1 job that came later, a3 of a"


def test_a_later_job_of_a_tenant_that_had_used_less_went_first() -> None:
    """The same, but the later job is of b, which had used less when it started.

        b0 (2) =
        a1 (4) ======
        a2 (8)  ...........====
        b3 (4)   ==========
    """
    cause, lasted, text = why("a2", "b0 2 0 0 1", "a1 4 0 0 6", "a2 8 1 12 16", "b3 4 2 2 12")
    assert (cause, lasted) == (Cause.SHARE, 6)
    assert text == (
        "for 6 s, its GPUs went to 1 job that came later, b3 of b; when b3 started, a had used 4.0 times as much as b, "
        "relative to their shares"
    )


def test_who_had_used_nothing() -> None:
    assert why("a2", "a1 4 0 0 6", "a2 8 1 12 16", "b3 4 2 2 12")[2].endswith("b had used nothing yet")


def test_who_had_used_more_was_not_passed_over_for_its_share() -> None:
    """The later job is of b, which had used more: no fair share explains that.

        b0 (4) ==
        a1 (1) ======
        a2 (8)  ...........====
        b3 (4)   ==========
    """
    assert why("a2", "b0 4 0 0 2", "a1 1 0 0 6", "a2 8 1 12 16", "b3 4 2 2 12")[0] == Cause.BACKFILL


def test_who_waits_still() -> None:
    """b1 waits until the log ends, where a2 does.

        a1 (8) =====
        a2 (8)      =====
        b1 (1)  .........
    """
    found = explained(recorded("a1 8 0 0 5", "a2 8 0 5 10", "b1 1 1", "b0 1 0 10 11")).loc["b1"]
    assert (found["wait"], found["still"], found["cause"]) == (10, True, Cause.QUEUE)
    assert found["why"].startswith("b1 of b (1 GPU) has waited 10 s: for 9 s, jobs that came before it")


def test_who_did_not_wait_is_not_explained() -> None:
    assert explained(recorded("a1 1 0 0 5", "b1 1 2 2 4")).empty


jobs = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(1, 8), st.integers(0, 30), st.integers(1, 20)), min_size=2, max_size=25
)


@settings(max_examples=60, deadline=None)
@given(jobs, st.sampled_from(["fifo", "yarn-cs"]))
def test_causes_divide_a_wait(drawn: list[tuple[str, int, int, int]], policy: str) -> None:
    frame = pd.DataFrame(drawn, columns=["tenant", "demand", "submit_time", "duration"]).assign(
        job_id=lambda f: [f"j{k}" for k in range(len(f))], demand=lambda f: f["demand"].clip(upper=4)
    )
    trace = Trace.from_frame(frame, weights={"a": 1, "b": 1})
    result = simulate(trace, TWO, policy, settings=Settings(interval=1))
    start = result.jobs["first_start_time"].to_numpy()
    log = Trace.from_frame(trace.frame.assign(queueing_delay=start - trace.submit_time), weights={"a": 1, "b": 1})
    found = explained(log)
    assert found[list(Cause)].sum(axis=1).to_numpy() == pytest.approx(found["wait"].to_numpy())
    assert set(found.index) == set(trace.job_id[start > trace.submit_time])
    assert not found["why"].str.contains("nan|None").any()
    assert np.isin(found["cause"], list(Cause)).all()


def test_room_that_is_sure_is_there_however_free_gpus_lie() -> None:
    trace = recorded("a1 1 0 0 1")
    log = _Log(trace, recorded_runs(trace), Cluster(3, 3))
    for free in product(range(4), repeat=3):
        for demand in range(1, 10):
            whole = sum(f == 3 for f in free)
            fits = max(free) >= demand if demand <= 3 else whole >= -(-demand // 3)
            assert fits or not log.has_room(demand, np.array([sum(free)]))[0], (free, demand)
    for demand in (1, 2, 3):  # and it is as much as can be sure
        worst = max(sum(free) for free in product(range(demand), repeat=3))
        assert not log.has_room(demand, np.array([worst]))[0]
        assert log.has_room(demand, np.array([worst + 1]))[0]
