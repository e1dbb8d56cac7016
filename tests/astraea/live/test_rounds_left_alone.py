"""What a round leaves to Slurm, or passes over."""

from __future__ import annotations

import math

from live_cluster import EPOCH, job
from live_rounds import NEW, actions, play, rounds, running

from astraea.live.rounds import RELEASE


def test_jobs_of_other_partitions_are_never_touched() -> None:
    others = running("8", 0, partition="other"), job("9", partition="other", held=False)
    assert actions(play(rounds(), 10, *others)) == []


def test_who_is_left_to_slurm_is_told_once() -> None:
    r = rounds()
    jobs = job("1", demand=0, held=False), job("2", is_part=True, held=False), job("3", account="c", held=False)
    result = play(r, 0, *jobs)
    assert actions(result) == []
    assert len(result.notes) == 3
    assert play(r, 10, *jobs).notes == ()


def test_a_gang_beyond_its_quota_never_runs() -> None:
    r = rounds()
    result = play(r, 0, job("1", demand=9), job("2", demand=8, held=False))
    assert actions(result) == [(RELEASE, "2")]
    assert any("quota" in note for note in result.notes)


def test_what_cannot_start_now_is_passed_over() -> None:
    late = job("1", eligible=EPOCH + 100)
    r = rounds()
    assert actions(play(r, 0, late, job("2", depends=True))) == []
    assert actions(play(r, 110, late, job("2"))) == [(RELEASE, "2"), (RELEASE, "1")]


def test_an_array_runs_no_more_tasks_at_once_than_it_may() -> None:
    tasks = [job(f"7_{k}", array="7", at_once=2) for k in range(5)]
    r = rounds()
    assert actions(play(r, 0, *tasks)) == [(RELEASE, "7_0"), (RELEASE, "7_1")]


def test_a_job_that_may_not_be_requeued_keeps_its_gpus() -> None:
    r = rounds()
    play(r, 0, job("1", demand=8, requeues=False))
    assert r.leases["1"].ends == math.inf
    result = play(r, 500, running("1", 1, demand=8, requeues=False), *NEW)
    assert actions(result) == [(RELEASE, "2")]
