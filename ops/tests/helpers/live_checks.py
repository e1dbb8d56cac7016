"""Checks of every run of the coordinator, whatever went wrong: the file, the accounting and the jobs agree."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from itertools import pairwise

from live_leases import all_leases
from live_slurm import GPUS, INTERVAL, KILL_WAIT, LEASE, NODES, QUOTA, REQUEUED, WARNING, Asked, Site, lines

from astraea_ops.live.answers import Run
from astraea_ops.live.ledger import open_to_read, read_state
from astraea_ops.live.state import Lease

SLACK = 3.0
"""Slack for whole seconds of Slurm, and for its own scheduler [s]."""

SAME = 2.0
"""Allowed difference of the accounts and sacct for a lease [s]."""

TELLS = 2.0
"""A job that is stopped this soon after its end runs again, because slurmctld does not know of the end yet [s]."""

KILLS = 12.0
"""Time until SIGKILL for a job that ignores SIGTERM; it may end meanwhile [s]."""


def check(site: Site, *, outage: float = 0.0) -> None:
    """Check everything; `outage` is the longest time for which the coordinator was stopped [s]."""
    runs = site.runs()
    with open_to_read(site.state) as db:
        leases, state = all_leases(db), read_state(db)
    assert state is not None
    assert not state.leases
    assert not state.accounts.admitted
    of_job: dict[str, list[Lease]] = defaultdict(list)
    for lease in leases:
        of_job[lease.job].append(lease)
    assert set(of_job) - {job.id for job in site.cancelled} == {job.id for job in site.jobs}
    for job in site.jobs:
        did_all_once(job, runs[job.id])
        held_under_leases(job, runs[job.id], of_job[job.id], outage)
        assert [lease.number for lease in of_job[job.id]] == list(range(1, len(of_job[job.id]) + 1))
    assert most_in_use(runs) <= NODES * GPUS
    for tenant in QUOTA:
        mine = [lease for lease in leases if lease.tenant == tenant and lease.outcome != "not started"]
        leased = sum(lease.demand * (lease.over - max(lease.granted, lease.started)) for lease in mine)
        t = state.accounts.tenants.index(tenant) if tenant in state.accounts.tenants else None
        attained = float(state.accounts.tenant[t].attained) if t is not None else 0.0
        seconds = sum(lease.demand for lease in mine if lease.outcome in ("ended", "lost"))
        assert abs(attained - leased) <= 1.1 * seconds, f"{tenant}: {attained} GPU-s in the accounts, leases {leased}"
        had = sum(run.demand * (run.end - run.start) for job in site.jobs if job.tenant == tenant
                  for run in runs[job.id] if run.start > 0)  # fmt: skip
        leased -= sum(lease.demand * (lease.over - max(lease.granted, lease.started))
                      for job in site.cancelled for lease in of_job[job.id])  # fmt: skip
        within = SAME * sum(lease.demand for lease in mine) + outage * GPUS * NODES
        assert abs(had - leased) <= within, f"{tenant}: sacct says {had} GPU-s, the leases {leased}"
    if site.stranger:
        (run,) = site.run_of_stranger()
        assert run.state == "COMPLETED"
        assert not re.search(rf"job {site.stranger}\b", site.log)
    assert "Traceback" not in site.log


def did_all_once(job: Asked, runs: list[Run]) -> None:
    """Check that a job counted to its end once, never ran again, and always had its whole gang."""
    said = [line.split() for line in lines(job)]
    ends = [(int(words[1]), float(words[2])) for words in said if words[0] == "done"]
    assert ends, (job, said)
    assert all(count == job.steps for count, _ in ends), (job, said)
    stops = [run.end for run in runs if run.state == "REQUEUED"]
    for _, end in ends[:-1]:  # Slurm had not heard of this end when it was told to stop the job
        after = KILLS if job.ignores else 1.0
        assert any(-after <= stop - end <= TELLS for stop in stops), (job, said, runs)
    states = [run.state for run in runs]
    assert states.count("COMPLETED") == 1, (job, runs)
    assert states[-1] == "COMPLETED", (job, runs)
    assert all(run.demand == job.demand for run in runs), (job, runs)
    saved = "0"
    for words in said:
        if words[0] == "start":
            assert words[1] == saved, (job, said)
        saved = words[1] if words[0] == "saved" else saved
    assert job.demand <= QUOTA[job.tenant]


def held_under_leases(job: Asked, runs: list[Run], leases: list[Lease], outage: float) -> None:
    """Check that GPUs are held under leases, and leases hold GPUs, except for delays of Slurm and the rounds."""
    late = INTERVAL + SLACK + outage
    for lease, later in pairwise(leases):
        assert lease.over <= later.granted + 1e-6, (job, lease, later)
    for lease in leases:
        assert lease.outcome not in ("running",)
        assert lease.over <= lease.ends + late + KILL_WAIT, (job, lease)  # what it holds beyond its lease is charged
        if lease.outcome != "lost" and math.isfinite(lease.ends):
            assert lease.ends <= lease.granted + LEASE + INTERVAL, (job, lease)
    for run in runs:
        if run.start == 0 or run.end <= run.start:
            continue
        before = [lease for lease in leases if lease.granted <= run.start + 1]
        assert before, (job, run, leases)
        during = [lease for lease in leases if lease.granted < run.end and lease.over > run.start - 1]
        assert during, (job, run, leases)
        assert run.start >= during[0].granted - 1, (job, run, leases)
        assert run.end <= during[-1].over + late + KILL_WAIT, (job, run, leases)
        beyond = run.end - run.start - sum(
            max(0.0, min(run.end, lease.over) - max(run.start, lease.granted)) for lease in during
        )  # fmt: skip
        assert beyond <= late + KILL_WAIT, (job, run, leases)
    spans = [(run.start, run.end) for run in runs if run.end > run.start > 0]
    first = 0
    while first < len(leases):  # a lease and its renewals
        last = first + 1
        while last < len(leases) and leases[last].is_renewal:
            last += 1
        start, over = leases[first].granted, leases[last - 1].over
        used = sum(max(0.0, min(over, e) - max(start, s)) for s, e in spans)
        assert over - start - used <= KILL_WAIT + REQUEUED + late, (job, leases[first:last], spans)
        first = last


def most_in_use(runs: dict[str, list[Run]]) -> int:
    """Return the largest number of GPUs held at once."""
    changes = [
        change for of_job in runs.values() for run in of_job if run.end > run.start > 0
        for change in ((run.start, run.demand), (run.end, -run.demand))
    ]  # fmt: skip
    held = most = 0
    for _, gpus in sorted(changes):
        held += gpus
        most = max(most, held)
    return most


def told_before_the_end(site: Site) -> int:
    """Return the number of notices; on a busy machine some come late."""
    found = re.findall(r"told job \d+ to save its state: its lease ends in (-?[\d.]+) s", site.log)
    left = [float(text) for text in found]
    assert all(seconds <= WARNING + 0.1 for seconds in left)  # later if the job itself began late
    assert max(left, default=WARNING) > 0
    return len(left)
