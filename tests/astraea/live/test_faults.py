"""What may go wrong around a coordinator, on a real Slurm: then too every job is done, once, and the accounts agree."""

from __future__ import annotations

import time

import numpy as np
import pytest
from live_checks import check, told_before_the_end
from live_slurm import Site, lines, until

from astraea.live.coordinator import LATE_ENDS

pytestmark = pytest.mark.slurm


def test_coordinator_is_killed_twenty_times(here: Site) -> None:
    here.submit_mixture(20, seed=0)
    rng = np.random.default_rng(0)
    for k in range(20):
        here.start()
        time.sleep(rng.uniform(0.02, 0.5) if k % 2 else rng.uniform(0.5, 2.2))
        here.kill()
        if k % 5 == 4:
            here.submit("b", 1, 8)
    here.start()
    here.finish(90)
    check(here, outage=1)
    assert here.log.count("a round every 1 s") >= 15
    assert "stopped; jobs keep their GPUs" in here.log


def test_controller_is_away_for_a_while(here: Site) -> None:
    here.submit_mixture(16, seed=100)
    here.start()
    until("jobs run", 20, here.running)
    time.sleep(2)
    here.slurm.stop_controller()
    time.sleep(8)
    here.slurm.start_controller()
    here.finish(90)
    check(here, outage=8 + LATE_ENDS + 10)  # commands that wait for slurmctld give up after 10 s
    assert "ERROR this round is left out: s" in here.log


def test_node_goes_away_under_a_gang(here: Site) -> None:
    gang = here.submit("a", 4, 40, nodes=2)
    here.start()
    others = [here.submit("b", 1, 20), here.submit("c", 1, 20)]
    until("all run", 20, lambda: len(here.running()) == 3 and all(lines(job) for job in here.jobs))
    on_it = [job for job in (gang, *others) if here.is_on(job, "n1")]
    assert gang in on_it
    here.slurm.lose_node("n1", on_it)
    try:
        here.submit_mixture(10, seed=200)
        until("it is noted", 20, lambda: f"job {gang.id} lost its lease" in here.log)
        time.sleep(4)
    finally:
        here.slurm.give_node_back("n1")
    here.finish(90)
    check(here, outage=2)


def test_job_ignores_signals(here: Site) -> None:
    deaf = here.submit("a", 4, 70, "ignores")  # a lease and what Slurm waits until it kills are too short for it
    here.start()
    until("it runs", 20, lambda: lines(deaf))
    here.submit_mixture(8, seed=300)
    here.finish(120)
    check(here)
    assert f"requeue job {deaf.id} of a" in here.log
    assert told_before_the_end(here) > 0
