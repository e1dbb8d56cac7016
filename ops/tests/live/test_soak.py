"""A busy Slurm whose slurmctld is killed, and a coordinator that is killed: no job is lost, none runs twice at once.

Jobs write down when they run, as a slurmctld that is killed forgets starts and ends, and its accounting guesses them.
With ``REPEAT=5`` there are 100 kills of the coordinator and 20 of slurmctld. Without it the test is left out: it takes
five minutes.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

import numpy as np
import pytest
from live_checks import SAME
from live_leases import all_leases
from live_slurm import GPUS, NODES, Asked, Site, lines, said, until
from processes import run

from astraea_ops.live.ledger import open_to_read
from astraea_ops.live.partition import LATE_ENDS
from astraea_ops.live.state import Lease

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif("REPEAT" not in os.environ, reason="REPEAT is not set: how often"),
    pytest.mark.parametrize("time_around", range(int(os.environ.get("REPEAT", "1")))),
]

UNSAVED: Final = 8.0
"""A slurmctld that is killed so soon after a start may forget it: it saves its state every 5 s, in its time [s]."""

LEAVES: Final = 5.0
"""Time that slurmd may take to end a stopped job: KillWait, and the delay of a busy machine [s]."""


def test_both_are_killed_again_and_again(site: Callable[..., Site], time_around: int) -> None:
    here = site()
    rng = np.random.default_rng(1000 + time_around)
    outages: list[tuple[float, float]] = []
    here.submit_mixture(20, seed=1000 + time_around)
    for k in range(20):
        here.start()
        time.sleep(rng.uniform(0.1, 3))
        here.kill()
        if k % 5 == 3:
            here.start()
            time.sleep(rng.uniform(2, 4))
            here.slurm.stop_controller(signal.SIGKILL)
            killed = time.time()
            time.sleep(rng.uniform(0, 5))
            here.slurm.start_controller()
            outages.append((killed, time.time()))
            time.sleep(rng.uniform(5, 25))
            resume()
            here.kill()
            here.submit_mixture(5, seed=2000 + 100 * time_around + k)
    here.start()

    def kept_back() -> set[str]:
        return set(re.findall(r"job (\d+) has ended, but slurmctld was restarted and forgot that", here.log))

    def are_done() -> bool:
        resume()
        left = set(said("squeue", "-h", "-p", "gpu", "-o", "%i").split())
        if left and left <= kept_back():
            said("scancel", *left)
        return not left and time.time() > outages[-1][1] + LATE_ENDS + 5  # until then a job may have to be requeued

    try:
        until("all jobs end", 240, are_done)
    finally:
        print(said("squeue", "-o", "%i %T %r %R %S"), said("sinfo", "-N", "-o", "%N %T %E"), sep="\n")
    here.finish_coordinator()
    check(here, outages)


def resume() -> None:
    """Do what an administrator does: a slurmctld that starts a job that it has started before drains the node."""
    for name in said("sinfo", "-h", "-N", "-p", "gpu", "-t", "drain", "-o", "%N").split():
        print(name, said("sinfo", "-h", "-n", name, "-o", "%E"))
        run("scontrol", "update", f"NodeName={name}", "State=RESUME", check=False)


def check(here: Site, outages: Sequence[tuple[float, float]]) -> None:
    """No job is lost or runs twice at once, leases are as long as its runs, and no more GPUs run under them than are.

    A job that slurmctld believes to run is charged until slurmctld learns of its end. A forgotten start is charged
    until slurmctld is back, if a round has seen it or has tried to start the job again. Later use of the GPUs is not
    charged. If slurmctld starts the job again at once, its lease continues.
    """
    with open_to_read(here.state) as db:
        leases = all_leases(db)
    by_slurm, found = here.runs(), Counter[str]()
    held: list[tuple[float, int]] = []
    for job in here.jobs:
        words = " ".join(line.split()[0] for line in lines(job))
        ends = [part.count("done") for part in words.split("start")]
        own, slurm = times_of(job), [(run.start, run.end) for run in by_slurm[job.id] if run.start > 0]
        mine = chains([lease for lease in leases if lease.job == job.id and lease.outcome != "not started"])
        all_of_it = "\n".join(map(str, (job, words, own, by_slurm[job.id], mine, outages)))
        assert max(ends) <= 1, all_of_it  # two at once would both end after the later start
        assert sum(ends) > 0, all_of_it
        assert all(one[1] <= later[0] for one, later in pairwise(own)), all_of_it
        for one, later in pairwise(slurm):  # sacct prolongs a run if slurmctld forgot its stop and the start after it
            is_forgotten = any(killed - UNSAVED < later[0] < back for killed, back in outages)
            assert one[1] <= later[0] or is_forgotten, all_of_it
        for chain in mine:
            says = {"job": chain.is_of(own), "sacct": chain.is_of(slurm) or are_one_run(chain, mine, slurm)}
            told = " and ".join(who for who, agrees in says.items() if agrees)
            again = [end for start, end in own if any(0 < start - back < UNSAVED for _, back in outages)]
            is_forgotten = any(
                killed - UNSAVED < chain.start < killed + SAME
                and (chain.over < back + UNSAVED or any(abs(chain.over - end) < SAME + LEAVES for end in again))
                for killed, back in outages
            )
            assert told or is_forgotten or chain.over - chain.start <= chain.slack, f"{chain} of\n{all_of_it}"
            found[f"leases as by {told or ('nobody: forgotten' if is_forgotten else 'nobody, 2 s')}"] += chain.count
        for start, end in own:
            is_known = any(start < chain.over + SAME and chain.start < end + SAME for chain in mine)
            is_forgotten = any(killed - UNSAVED < start < back + UNSAVED for killed, back in outages)
            assert is_known or is_forgotten, f"{start} to {end} of\n{all_of_it}"
            spans = [(max(start, chain.start), min(end, chain.over)) for chain in mine]
            held += [change for began, over in spans if began < over
                     for change in ((began, job.demand), (over, -job.demand))]  # fmt: skip
            found["runs charged" if is_known else "runs not charged: forgotten"] += 1
        found["jobs"] += 1
        found["jobs done twice"] += sum(ends) > 1
    print(dict(found))
    for what in ("leases as by nobody: forgotten", "runs not charged: forgotten"):
        assert found[what] <= NODES * GPUS * len(outages), found  # what can run when slurmctld is killed
    assert max(accumulate(gpus for _, gpus in sorted(held))) <= NODES * GPUS


class Chain(NamedTuple):
    """A lease and its renewals."""

    start: float  #: of the GPUs, seconds since 1970
    over: float
    count: int
    stops: bool  #: whether its job was stopped: it is charged until it has left its GPUs

    @property
    def slack(self) -> float:
        """Time by which it may differ from a run [s]."""
        return SAME * self.count

    def is_of(self, spans: Sequence[tuple[float, float]]) -> bool:
        """Return true if it is as long as one of these runs, and at its time."""
        return any(
            start < self.over + SAME and self.start < end + SAME
            and -self.slack <= self.over - self.start - (end - start) <= self.slack + LEAVES * self.stops
            for start, end in spans
        )


def are_one_run(chain: Chain, mine: Sequence[Chain], spans: Sequence[tuple[float, float]]) -> bool:
    """Return true if it and others are one run of sacct, because slurmctld forgot again that it had stopped the job."""
    for start, end in spans:
        inside = [one for one in mine if start - SAME < one.start and one.over < end + SAME]
        held = sum(one.over - one.start for one in inside)
        if chain in inside and abs(held - (end - start)) <= sum(one.slack + LEAVES * one.stops for one in inside):
            return True
    return False


def chains(leases: Sequence[Lease]) -> list[Chain]:
    """Put the leases of a job together with their renewals."""
    found: list[Chain] = []
    for lease in leases:
        if lease.is_renewal and found:
            found[-1] = found[-1]._replace(over=lease.over, count=found[-1].count + 1)
        else:
            found.append(Chain(max(lease.granted, lease.started), lease.over, 1, stops=False))
        found[-1] = found[-1]._replace(stops=lease.outcome in ("not renewed", "revoked"))
    return found


def times_of(job: Asked) -> list[tuple[float, float]]:
    """Return the runs of a job on its GPUs by its own record; seconds since 1970."""
    file = job.file.with_suffix(".times")
    spans: dict[str, list[float]] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        process, moment = line.split()
        spans.setdefault(process, []).append(float(moment))
    return sorted((min(moments), max(moments)) for moments in spans.values())
