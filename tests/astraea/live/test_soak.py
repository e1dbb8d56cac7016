"""A busy Slurm whose slurmctld is killed, and a coordinator that is killed: no job is lost, none runs twice at once.

With ``REPEAT=5`` there are 100 kills of the coordinator and 20 of slurmctld. Without it the test is left out: it takes
four minutes each, and what a killed slurmctld forgets is not for every change to answer for.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise

import numpy as np
import pytest
from live_checks import most_in_use
from live_slurm import GPUS, NODES, SHARES, Site, lines, said, until
from processes import run

from astraea.live.ledger import all_leases, open_to_read

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif("REPEAT" not in os.environ, reason="REPEAT is not set: how often"),
    pytest.mark.parametrize("time_around", range(int(os.environ.get("REPEAT", "1")))),
]


def test_both_are_killed_again_and_again(site: Callable[..., Site], time_around: int) -> None:
    here = site()
    rng = np.random.default_rng(1000 + time_around)
    here.submit_mixture(20, seed=1000 + time_around)
    for k in range(20):
        here.start()
        time.sleep(rng.uniform(0.1, 3))
        here.kill()
        if k % 5 == 3:
            here.start()
            time.sleep(rng.uniform(2, 4))
            here.slurm.stop_controller(signal.SIGKILL)
            time.sleep(rng.uniform(0, 5))
            here.slurm.start_controller()
            time.sleep(rng.uniform(5, 25))
            resume()
            here.kill()
            here.submit_mixture(5, seed=2000 + 100 * time_around + k)
    here.start()

    def kept_back() -> set[str]:
        return set(re.findall(r"job (\d+) has ended, which slurmctld, started since, has forgotten", here.log))

    def are_done() -> bool:
        resume()
        left = set(said("squeue", "-h", "-p", "gpu", "-o", "%i").split())
        if left and left <= kept_back():
            said("scancel", *left)
        return not left

    try:
        until("all jobs end", 240, are_done)
    finally:
        print(said("squeue", "-o", "%i %T %r %R %S"), said("sinfo", "-N", "-o", "%N %T %E"), sep="\n")
    here.finish_coordinator()
    check(here, kept_back())


def resume() -> None:
    """Do what an administrator does: a slurmctld that starts a job that it has started before drains the node."""
    for name in said("sinfo", "-h", "-N", "-p", "gpu", "-t", "drain", "-o", "%N").split():
        print(name, said("sinfo", "-h", "-n", name, "-o", "%E"))
        run("scontrol", "update", f"NodeName={name}", "State=RESUME", check=False)


def check(here: Site, kept_back: set[str]) -> None:
    """No job is lost or runs twice at once; what the leases and sacct have is printed.

    A slurmctld that is killed just after it was told to requeue a job may forget that: the job has failed then. What
    it forgets of starts and ends it guesses in its accounting: the two are compared where it lives, in `test_faults`.
    """
    runs = here.runs()
    with closing(open_to_read(here.state)) as db:
        leases = all_leases(db)
    print(f"at most {most_in_use(runs)} of {NODES * GPUS} GPUs at once, by sacct")
    failed = {
        job.id for job in here.jobs if runs[job.id] and runs[job.id][-1].state == "FAILED"
        and f"requeue job {job.id} " in here.log
    }  # fmt: skip
    twice = set()
    for job in here.jobs:
        words = " ".join(line.split()[0] for line in lines(job))
        ends = [part.count("done") for part in words.split("start")]
        assert max(ends) <= 1, (job, words, runs[job.id])  # two at once would both end after the later start
        assert sum(ends) > 0 or job.id in failed, (job, words, runs[job.id])
        twice |= {job.id} if sum(ends) > 1 else set()
        for one, later in pairwise(span for span in runs[job.id] if span.start > 0):
            assert one.end <= later.start, (job, runs[job.id])
    print(f"{len(here.jobs)} jobs, done twice {sorted(twice)}, taken to have failed {sorted(failed)}")
    kept_back |= twice | failed
    for tenant in SHARES:
        jobs = {job.id: job.demand for job in here.jobs if job.tenant == tenant and job.id not in kept_back}
        mine = [lease for lease in leases if lease.job in jobs and lease.outcome != "not started"]
        leased = sum(lease.demand * (lease.over - max(lease.granted, lease.started)) for lease in mine)
        had = sum(span.demand * (span.end - span.start) for id in jobs for span in runs[id] if span.start > 0)
        print(f"{tenant}: sacct {had:.0f} GPU-s, {len(mine)} leases {leased:.0f} GPU-s, kept back {sorted(kept_back)}")
