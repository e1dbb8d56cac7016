"""Placement sensitivity: what gangs lose on several servers, and policies that take it into account.

[Narayanan2020] §3.1 has two settings, "consolidated" (as many GPUs on the same server as possible) and
"unconsolidated" (each GPU on a server of its own), and makes them two worker types. Two clusters show what that does:

servers
    All GPUs stand in servers of equal size, and the mechanism places large gangs first, on few servers (§5). A server
    that serves gangs of 1, 2, 4 and 8 in that order is never cut badly at the start of a round, so only what happens
    inside rounds can spread a gang. The difference to servers of one GPU, where placement is not modelled and every
    gang has its consolidated speed, is more than any policy could gain.
mixed
    Half of the GPUs of each type are in large servers, half stand alone. Here the worker types have GPUs of their own
    (`Throughputs.by_placement`), and a policy decides who gets which. LAS het. is told the truth ("aware"), that
    placement does not matter ("blind"), or that gangs cannot be unconsolidated ("strict", the rule of thumb of
    schedulers that wait for a consolidated place). Leftover GPUs go to the fastest of those that wait in all three.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from astraea.core.result import Result
from astraea.experiments.grid import Grid
from astraea.gavel.generators import SIZES
from astraea.gavel.simulate import Options
from astraea.gavel.throughputs.table import Throughputs
from astraea.studies.gavel.cells import Cell, grid_of
from astraea.studies.gavel.runs import scale_of, throughputs_of, workloads

SERVERS: Final = (1, 4, 8)
"""GPUs of a server; with one, placement is not modelled."""

TOLD: Final = ("blind", "strict", "aware")
"""What LAS het. is told of placement on the mixed cluster."""


def servers_grid(scale: str = "paper", table: str = "") -> Grid:
    """LAS het. on servers of several sizes; columns policy, server_gpus, jobs_per_hour, seed."""
    size, throughputs = scale_of(scale), throughputs_of(table)
    return grid_of(
        (
            Cell(jobs, throughputs, size.cluster, "las-het", Options(until=size.jobs, server_gpus=gpus)),
            {"policy": "las-het", "server_gpus": gpus, **row},
        )
        for row, jobs in workloads(size, throughputs, size.multiple, multiple=True)
        for gpus in SERVERS
    )


def mixed_grid(scale: str = "paper", table: str = "") -> Grid:
    """LAS het. on the mixed cluster; columns policy, told, jobs_per_hour, seed."""
    size, throughputs = scale_of(scale), throughputs_of(table)
    workers = (max(size.workers // 2, max(SIZES)),) * 6  # the largest gang must be able to run
    truth = throughputs.by_placement()
    believed = {told: None if told == "aware" else belief(throughputs, told) for told in TOLD}
    return grid_of(
        (
            Cell(jobs, truth, workers, "las-het", Options(until=size.jobs), believed=believed[told]),
            {"policy": "las-het", "told": told, **row},
        )
        for row, jobs in workloads(size, throughputs, size.multiple, multiple=True)
        for told in TOLD
    )


def belief(throughputs: Throughputs, told: str) -> Throughputs:
    """What LAS het. is told on the mixed cluster, one of `TOLD`."""
    together, apart = throughputs.solo
    if told == "blind":
        apart = together
    elif told == "strict":
        gang = np.array([size > 1 for _, size in throughputs.configurations])
        apart = np.where(gang[:, None], 0.0, apart)
    return replace(throughputs, solo=np.stack([together, apart])).by_placement()


def by_gang(first: int) -> Callable[[Result], dict[str, Any]]:
    """Average JCT [s] of the jobs from `first` on: of all, of gangs, and of jobs on one GPU."""

    def measure(result: Result) -> dict[str, Any]:
        jobs = result.jobs.iloc[first:]
        gang = jobs["demand"] > 1
        parts = {"average_jct": jobs, "gang_jct": jobs[gang], "single_jct": jobs[~gang]}
        return {name: float(part["jct"].mean()) for name, part in parts.items()}

    return measure
