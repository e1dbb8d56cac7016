"""Compare EASY with Slurm's backfill and AccaSim's on rigid jobs drawn by a seed; see docs/schedulers.md.

``python -m bench.backfilling`` prints the waits. ``--swf FILE`` writes the jobs of seed 0 in the Standard Workload
Format, for another simulator. Every time is a whole second, and so are the rounds, so that waiting for rounds is no
difference.
"""

from __future__ import annotations

import argparse
from heapq import heappop, heappush
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.arrays import BoolArray, FloatArray, IntArray
from astraea.traces.trace import Trace

NODES: Final = 980
"""Number of nodes, each with one GPU."""

ENGINE: Final = {
    "fifo": get_policy("fifo"),
    "easy": get_policy("easy"),
    "slurm, backfill=none": get_policy("slurm").with_parameters(interval=1, backfill="none"),
    "slurm, backfill=easy": get_policy("slurm").with_parameters(interval=1, backfill="easy"),
    "slurm, backfill=conservative": get_policy("slurm").with_parameters(interval=1, backfill="conservative"),
}
PLAIN: Final = {
    "plain loops: EASY": ("gpus", False),
    "plain loops: nodes are reserved": ("nodes", False),
    "plain loops: nodes are reserved, ends are grouped": ("nodes", True),
    "plain loops: AccaSim's rule": ("nothing", False),
}


def rigid_jobs(seed: int, count: int = 10_000, load: float = 0.95, *, powers: bool = False) -> pd.DataFrame:
    """Draw jobs of 1 to 127 nodes, with limits of one to four times their durations, that load the nodes so much.

    With `powers`, sizes are rounded down to powers of two.
    """
    rng = np.random.default_rng(seed)
    demand = np.floor(np.exp(rng.uniform(0, np.log(128), count))).astype(int)
    if powers:
        demand = 2 ** np.log2(demand).astype(int)
    duration = np.clip(np.round(rng.lognormal(7, 1.2, count)), 60, 86_400)
    limit = 60 * np.ceil(duration * rng.uniform(1, 4, count) / 60)
    gap = (demand * duration).mean() / (load * NODES)
    submit = 1 + np.floor(np.cumsum(rng.exponential(gap, count)))
    return pd.DataFrame({"job_id": np.arange(count), "tenant": "all", "demand": demand, "submit_time": submit,
                         "duration": duration, "time_limit": limit})  # fmt: skip


def write_swf(jobs: pd.DataFrame, path: Path) -> None:
    """Write jobs in the Standard Workload Format: 18 columns, -1 where nothing is known."""
    columns = {
        0: jobs["job_id"] + 1, 1: jobs["submit_time"], 3: jobs["duration"], 4: jobs["demand"], 7: jobs["demand"],
        8: jobs["time_limit"], 10: 1, 11: 1, 12: 1, 13: 1, 14: 1, 15: 1,
    }  # fmt: skip
    table = pd.DataFrame({k: columns.get(k, -1) for k in range(18)}, index=jobs.index).astype(int)
    table.to_csv(path, sep=" ", header=False, index=False)


def engine(jobs: pd.DataFrame, name: str) -> FloatArray:
    """Return the start of each job in the simulator [s]."""
    trace = Trace.from_frame(jobs.assign(job_id=[f"{k:06d}" for k in jobs["job_id"]]))
    rows = simulate(trace, Cluster(NODES, 1), ENGINE[name], settings=Settings(interval=1)).jobs
    return rows.sort_values("job_id")["first_start_time"].to_numpy()


def plain(jobs: pd.DataFrame, kept: str = "gpus", grouped: bool = False) -> FloatArray:
    """Return the start of each job under a form of EASY in plain loops [s].

    Parameters
    ----------
    jobs : DataFrame
        In order of submission.
    kept : str
        Reservation of the first in the queue, which jobs that would run past its start leave free: as many `gpus` as
        the first needs, certain `nodes` as in Slurm, or `nothing` as in AccaSim. AccaSim also lets the first wait until
        its planned start.
    grouped : bool
        If true, expected ends are seen in groups as in Slurm, and the reservation begins at the last end of a group.
    """
    demand, submit, duration, limit = (
        jobs[column].to_numpy() for column in ("demand", "submit_time", "duration", "time_limit")
    )
    start = np.full(len(jobs), np.nan)
    idle, held = np.ones(NODES, bool), dict[int, IntArray]()
    ends, queue, came = list[tuple[float, int]](), list[int](), 0
    now, planned, shadow_time, then_idle = 0.0, -np.inf, -np.inf, idle  # planned: until then the first is held back

    def launch(job: int, usable: BoolArray) -> None:
        held[job] = np.flatnonzero(usable)[: demand[job]]
        idle[held[job]] = False
        start[job] = now
        heappush(ends, (now + duration[job], job))

    while came < len(jobs) or ends:
        now = min(submit[came] if came < len(jobs) else np.inf, ends[0][0] if ends else np.inf)
        while ends and ends[0][0] == now:
            idle[held.pop(heappop(ends)[1])] = True
        while came < len(jobs) and submit[came] == now:
            queue.append(came)
            came += 1
        while queue and now >= planned and demand[queue[0]] <= idle.sum():
            launch(queue.pop(0), idle)
            planned = -np.inf
        if not queue:
            continue
        head, *later = queue
        if planned == -np.inf:
            expected = sorted((start[job] + limit[job], job) for job in held)
            shadow_time, then_idle = reservation(demand[head], idle, expected, held, grouped)
            if kept == "nothing":
                planned = shadow_time
        extra, reserved = then_idle.sum() - demand[head], np.zeros(NODES, bool)
        reserved[np.flatnonzero(then_idle)[: demand[head]]] = True
        for job in later:
            is_free_to_pass = kept == "nothing" or now + limit[job] <= shadow_time
            usable = idle & ~reserved if kept == "nodes" and not is_free_to_pass else idle
            if demand[job] > usable.sum():
                continue
            if kept == "gpus" and not is_free_to_pass:
                if demand[job] > extra:
                    continue
                extra -= demand[job]
            launch(job, usable)
            queue.remove(job)
    return start


def reservation(
    gpus: int, idle: BoolArray, ends: list[tuple[float, int]], held: dict[int, IntArray], grouped: bool
) -> tuple[float, BoolArray]:
    """Return when so many GPUs are idle if jobs end as expected [s], and which nodes are idle then."""
    idle, time, k = idle.copy(), -np.inf, 0
    group_end = ends[0][0] + 60 - ends[0][0] % 30 if grouped else ends[0][0]  # the first begins at the next half minute
    length = 30.0
    while idle.sum() < gpus:
        while k < len(ends) and ends[k][0] <= group_end:
            time = ends[k][0]
            idle[held[ends[k][1]]] = True
            k += 1
        if k < len(ends) and grouped:
            while group_end < ends[k][0]:
                group_end, length = group_end + length, 2 * length
        elif k < len(ends):
            group_end = ends[k][0]
    return time, idle


def waits(jobs: pd.DataFrame, start: FloatArray) -> dict[str, float]:
    """Return the mean wait of all jobs, of small and of large ones, and the longest [s]."""
    wait = start - jobs["submit_time"]
    return {
        "mean": wait.mean(), "of 1 to 4 nodes": wait[jobs["demand"] <= 4].mean(),
        "of 64 and more": wait[jobs["demand"] >= 64].mean(), "longest": wait.max(),
    }  # fmt: skip


def main() -> None:
    """Print the waits under each rule, as means over the seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds (default 5)")
    parser.add_argument("--powers", action="store_true", help="sizes are powers of two")
    parser.add_argument("--swf", type=Path, help="write the jobs of seed 0 to this file, and nothing else")
    chosen = parser.parse_args()
    if chosen.swf:
        write_swf(rigid_jobs(0), chosen.swf)
        return
    rows = []
    for seed in range(chosen.seeds):
        jobs = rigid_jobs(seed, powers=chosen.powers)
        starts = {name: engine(jobs, name) for name in ENGINE}
        starts |= {name: plain(jobs, *rule) for name, rule in PLAIN.items()}
        rows += [{"rule": name, "seed": seed, **waits(jobs, start)} for name, start in starts.items()]
        for one, other in (("easy", "plain loops: EASY"), ("fifo", "slurm, backfill=none")):
            print(f"seed {seed}: {one} and {other}: {(starts[one] == starts[other]).sum()} equal starts", flush=True)
    table = pd.DataFrame(rows).set_index(["rule", "seed"])
    print(table.pivot_table("mean", "rule", "seed", sort=False).round(0).to_string(), end="\n\n")
    print(table.groupby("rule", sort=False).mean().round(0).to_string())


if __name__ == "__main__":
    main()
