"""The list walk of the released simulator, which skips a neighbour: an example, and how much it changes."""

from __future__ import annotations

import dataclasses
from itertools import product
from typing import Final

import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.simulate import simulate
from astraea.core.result import Result
from astraea.core.units import MINUTE
from astraea.traces.trace import Trace
from papers.ye2022.readings import FLAWED, NO_COST
from papers.ye2022.released import RELEASED, SKIPPED, whole_minutes

EXAMPLE: Final = Cluster(nodes=1, gpus_per_node=3)
"""Where `parting` and `example` run."""


def parting() -> dict[str, Result]:
    """Four jobs of one tenant on three GPUs, under the paper's text and under the released program.

    A and B, of 2 GPUs and of 1, are in their second lease when C comes, two minutes after it began, and D, seven
    minutes after. Rounds are a minute apart, and there are no overheads.
    """
    jobs = {
        "job_id": ["A", "B", "C", "D"], "demand": [2, 1, 2, 1],
        "submit_time": [0.0, 0.0, 17 * MINUTE, 22 * MINUTE], "duration": [45 * MINUTE] * 2 + [5 * MINUTE] * 2,
    }  # fmt: skip
    trace = Trace.from_frame(pd.DataFrame({**jobs, "tenant": "all"}), name="four jobs")
    settings = dataclasses.replace(NO_COST, interval=MINUTE)
    policies = {"the paper's text": "astraea", "the released program": "astraea-released"}
    return {
        text: simulate(trace, EXAMPLE, get_policy(policy)(), settings=settings, keep_log=True)
        for text, policy in policies.items()
    }


def example(skipped: bool) -> Result:
    """Three jobs of 45 min that start together, and a short one that comes 30 s after their leases have ended.

    All on one GPU, with rounds of a minute, no overheads and no delay jobs.
    """
    jobs = {"job_id": ["A", "B", "C", "new"], "submit_time": [0.0, 0.0, 0.0, 930.0], "duration": [2700.0] * 3 + [600.0]}
    trace = Trace.from_frame(pd.DataFrame({**jobs, "tenant": "all", "demand": 1}), name="example")
    policy = get_policy("astraea-released")(delay_threshold=0)
    settings = dataclasses.replace(FLAWED if skipped else NO_COST, interval=MINUTE)
    return simulate(trace, EXAMPLE, policy, settings=settings, keep_log=True)


def lease_ends_together(result: Result) -> float:
    """How many leases end in the round in which a lease ends, on average over the leases; itself is one of them.

    Leases during which the job was completed are not counted.
    """
    assert result.grants is not None, "simulate with keep_log=True"
    whole = result.grants["end"] - result.grants["start"] >= result.provenance["parameters"]["lease_term"]
    ends = (result.grants.loc[whole, "end"] / float(result.provenance["interval"])).round().value_counts()
    return float((ends**2).sum() / ends.sum()) if len(ends) else float("nan")


def synchrony(trace: Trace, cluster: Cluster, most_jobs: int = 5_000) -> pd.DataFrame:
    """How many leases end together, with recorded times and with whole minutes, neighbours looked at or skipped.

    Of a trace with more than `most_jobs` jobs the first so many. Columns minutes, skipped, together.
    """
    first, rows = trace.head(most_jobs), []
    for minutes, skipped in product((False, True), repeat=2):
        jobs, settings = whole_minutes(first) if minutes else first, FLAWED if skipped else NO_COST
        result = simulate(jobs, cluster, "astraea-released", settings=settings, keep_log=True)
        rows.append({"minutes": minutes, "skipped": skipped, "together": lease_ends_together(result)})
    return pd.DataFrame(rows)


TIMES: Final = {False: "in rounds", True: "whole minutes"}
"""Whether times are whole minutes -> what the trace is called."""

WALKS: Final = {False: "mended", True: "neighbour skipped"}
"""Whether the neighbour is skipped -> what the walk is called."""


def walked(table: pd.DataFrame) -> pd.DataFrame:
    """The runs of ``released_grid(...).table()`` in which overheads are free and the walk is one of `WALKS`.

    `times` and `walk` name what they differ in.
    """
    names = {RELEASED: WALKS[False], SKIPPED: WALKS[True]}
    alone = table[~table["overheads"] & (table["scheduler"] == "astraea-released")]
    return alone.assign(times=alone["minutes"].map(TIMES), walk=alone["variant"].map(names))


def changed_loss(alone: pd.DataFrame) -> pd.DataFrame:
    """What the skipped neighbour does to sharing loss within each seed of `walked`: columns times, seed, change."""
    wide = alone.pivot_table(index=["times", "seed"], columns="walk", values="sharing_loss")
    return (wide[WALKS[True]] - wide[WALKS[False]]).rename("change").reset_index()
