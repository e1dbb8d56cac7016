"""Time of Themis' own setting on one core, as lines of a table, beside its limits [s]."""

from __future__ import annotations

import numpy as np
from gavel_programs import RUNS, seconds

from papers.themis.auction import Bid, auction
from papers.themis.policies import POLICIES, get_policy
from papers.themis.simulate import simulate
from papers.themis.workload import sample_workload

SIMULATION = 20.0


def auction_line(bidders: int, rows: int, room: tuple[int, ...], runs: int) -> str:
    """Time of one auction with tables like those of agents: each further gang is worth less."""
    rng = np.random.default_rng(0)
    bids = []
    for _ in range(bidders):
        local, spread = rng.integers(0, 9, rows), rng.integers(0, 9, rows)
        local[0] = spread[0] = 0
        use = np.column_stack([2 * (local + spread), local])
        bids.append(Bid(use, (1 + local + spread / rng.uniform(1, 2)) ** rng.uniform(0.3, 0.9)))
    taken = seconds(lambda: auction(bids, np.array(room)), runs)
    lots = " and ".join(map(str, room))
    return f"| auction of {bidders} bidders, {rows} rows each, {lots} free lots of two sizes | {taken:.5f} | |"


def lines(apps: int = 100, runs: int = RUNS) -> list[str]:
    """The table."""
    out = ["| what | seconds | at most |", "| --- | --- | --- |"]
    out += [auction_line(8, 20, (20, 8), runs), auction_line(30, 60, (128, 48), runs)]
    for contention in (1.0, 4.0):
        workload = sample_workload(apps, contention, 0)
        for name in POLICIES if contention == 1.0 else ("themis",):
            policy = get_policy(name)
            taken = seconds(lambda w=workload, p=policy: simulate(w, p), runs)
            out.append(f"| {apps} apps on 256 GPUs, contention {contention:g}, {name} | {taken:.2f} | {SIMULATION:g} |")
    taken = seconds(lambda: simulate(sample_workload(apps, 1.0, 0), get_policy("themis", f=0)), runs)
    return [*out, f"| {apps} apps on 256 GPUs, contention 1, themis with f = 0 | {taken:.2f} | {SIMULATION:g} |"]


if __name__ == "__main__":
    print("\n".join(lines()))
