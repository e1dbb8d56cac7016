"""After a year of rounds, the memory of the coordinator and the work of a round are as on the first day.

A year has 3.15 million rounds of 10 s, too many for a test. The clock jumps over most of them: the test plays one round
a day, each with new jobs that run, end, or are left to Slurm. What accumulates by hours is then as large as after all
rounds, and what accumulates by jobs is large enough to be seen. Twenty rounds of 10 s are played before and after the
year, and the work of the last ten is counted. The quick form has twelve days.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from live_cluster import Clock, ToldSlurm, job

from astraea.cluster.policies import get_policy
from astraea_ops.live.answers import Job, Node
from astraea_ops.live.config import Config
from astraea_ops.live.coordinator import Coordinator
from astraea_ops.live.ledger import Ledger, open_to_read, read_state
from astraea_ops.live.state import hours_stored
from astraea_ops.live.status import status

DAY = 86_400.0
SAMPLE = 10  #: rounds
LEFT = 20  #: jobs that are left to Slurm at every round, with new ids


class Turns(ToldSlurm):
    """Four jobs at a time on eight GPUs: they wait, run for a round and end; others are never leased."""

    def __init__(self, clock: Clock) -> None:
        super().__init__([Node("n1", 8, True, ("gpu",))])
        self.clock, self.number, self.turn = clock, 0, dict[str, Job]()

    def jobs(self) -> list[Job]:
        now = self.clock.now
        self.turn = {
            id: one._replace(state="COMPLETED", end=now - 1, on_nodes={}) if one.state == "RUNNING" else one
            for id, one in self.turn.items() if one.state != "COMPLETED" and one.demand > 0
        }  # fmt: skip
        for k in range(4 + LEFT):
            self.number += 1
            id = str(self.number)
            self.turn[id] = job(id, account="ab"[k % 2], user="u", demand=2 if k < 4 else 0, submit=now - 2)
        return list(self.turn.values())

    def release(self, job: Job, rank: int) -> None:
        start = self.clock.now
        self.turn[job.id] = job._replace(state="RUNNING", held=False, start=start, on_nodes={"n1": job.demand})

    def hold(self, id: str) -> None:
        self.turn[id] = self.turn[id]._replace(held=True)


@pytest.mark.slow
@pytest.mark.parametrize("days", [12, pytest.param(365, marks=pytest.mark.exhaustive)])
def test_memory_and_work_after_a_year_are_those_of_the_first_day(days: int, tmp_path: Path, clock: Clock) -> None:
    policy = get_policy("astraea").with_parameters(lease_term=100)
    config = Config("gpu", tmp_path / "state.sqlite", policy, weights={"a": 1.0, "b": 1.0}, history=0)

    with closing(Ledger(config.state)) as ledger:
        one = Coordinator(config, ledger, Turns(clock))

        def some(rounds: int, step: float) -> None:
            for _ in range(rounds):
                one.round()
                clock.now += step

        def sample() -> tuple[int, int, tuple[int, int], int]:
            """Calls of functions, rows written, hours that a round copies and `status` reads, and memory in use [B]."""
            some(SAMPLE, 10)
            calls, before = Counter[str](), ledger._db.total_changes
            sys.setprofile(lambda frame, event, arg: calls.update([event]))
            some(SAMPLE, 10)
            sys.setprofile(None)
            gc.collect()  # also empties the interpreter's own stores of small objects
            memory, _ = tracemalloc.get_traced_memory()
            assert one.state is not None and one.rounds is not None
            assert one.rounds.now > clock.now - 20  # rounds were played, not left out
            with open_to_read(config.state) as db:
                found = read_state(db)
            assert found is not None
            hours = len(one.state.accounts.timeline), len(found.accounts.timeline)
            return calls["call"] + calls["c_call"], ledger._db.total_changes - before, hours, memory

        some(12, 3 * DAY)  # longer than hours are kept
        tracemalloc.start()
        try:
            calls, rows, hours, memory = sample()
            some(days, DAY)
            calls_after, rows_after, hours_after, memory_after = sample()
        finally:
            tracemalloc.stop()
        assert one.rounds is not None
        assert status(config, clock.now).failed == 0
        (leases,) = ledger._db.execute("select count(*) from lease").fetchone()
        assert leases > 4 * days  # the history is there

        assert hours == hours_after == (hours_stored(config.policy),) * 2
        assert rows == rows_after
        assert calls_after <= 1.01 * calls
        assert memory_after - memory < 100_000  # numpy's stores of small blocks fill; a year of hours has 560,000
        assert len(one.rounds.told) <= 4 + LEFT
        written = np.flatnonzero(one.rounds.accounts.view.timeline["attained"].any(axis=1))
        assert len(written) <= hours_stored(config.policy) + 64  # memory is taken up by hours that are written


def test_hours_are_kept_as_long_as_the_policy_asks() -> None:
    assert hours_stored(get_policy("astraea")) == hours_stored(get_policy("fifo")) == 31 * 24 + 2
    assert hours_stored(get_policy("kai").with_parameters(window=DAY * 90)) == 90 * 24 + 2
