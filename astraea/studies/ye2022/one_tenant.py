"""What becomes of one tenant and of all others when something about that tenant changes, and nothing else does.

The experiments that [Ye2022] argues for and does not measure have this form: the same jobs are run twice, `before` and
`after` the change, under every scheduler, and each figure is compared within a scheduler and a seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.core.result import Result
from astraea.studies.scales import seeds
from astraea.studies.ye2022.evaluation import LARGE, load_workload

KEYS = ["scheduler", "seed", "tenant"]
"""What a comparison is made within."""

Row = dict[str, Any]
"""One run of a table."""


def few_seeds(trace: str, scale: str) -> tuple[int, ...]:
    """Seeds of these experiments: at the scale `paper` the first three, of a large trace one; else all of `seeds`."""
    every = seeds(trace, scale)
    if scale != "paper":
        return every
    return every[: 1 if len(load_workload(trace, scale)[0]) >= LARGE else 3]


def tenant_figures(result: Result) -> dict[str, Any]:
    """Jobs, sum of JCTs [s], of running times [s] and attained GPU-time [GPU-s] of each tenant: dict `by_tenant`."""
    jobs = result.jobs.groupby("tenant", sort=True)
    sums = jobs[["jct", "duration", "attained_service"]].sum().assign(jobs=jobs.size())
    return {"by_tenant": sums.to_dict("index")}


def hourly_service(result: Result) -> dict[str, Any]:
    """GPU-time in every whole hour [GPU-s]: `attained` and `fair` (Eqs. 9, 11), frames of hours x tenants."""
    by_time = result.timeline.pivot_table(
        index="time", columns="tenant", values=["attained_service", "fair_service"], sort=False
    )
    totals = {c: by_time[f"{c}_service"] for c in ("attained", "fair")}
    return {c: total.diff().iloc[1:].set_axis(range(len(total) - 1)) for c, total in totals.items()}


def hours(frame: pd.DataFrame, first: int, number: int) -> FloatArray:
    """Rows `first` and following of a frame of `hourly_service`; 0 in hours after the last job.

    Returns
    -------
    array, shape (number, tenants)
    """
    found: FloatArray = frame.reindex(range(first, first + number), fill_value=0.0).to_numpy(dtype=np.float64)
    return found


def own_and_others(table: pd.DataFrame) -> pd.DataFrame:
    """What became of the tenant and of the others in each run of a grid measured with `tenant_figures`.

    Returns
    -------
    DataFrame, columns scheduler, seed, tenant, run, own_running, own_jct, others_jct, own_service
        Mean running time of the tenant's jobs, mean JCT of its jobs and of all others' [s]; GPU-time that it attained
        [GPU-s]. NaN where there is no such job.
    """
    rows = []
    for row in table.to_dict("records"):
        by_tenant = pd.DataFrame.from_dict(row["by_tenant"], orient="index")
        own = by_tenant.index == row["tenant"]
        sums = by_tenant.groupby(own).sum().reindex([True, False])  # NaN without a job
        mine, others = sums.loc[True], sums.loc[False]
        running, jct = mine["duration"] / mine["jobs"], mine["jct"] / mine["jobs"]
        theirs = others["jct"] / others["jobs"]
        rows.append((*(row[key] for key in (*KEYS, "run")), running, jct, theirs, mine["attained_service"]))
    return pd.DataFrame(rows, columns=[*KEYS, "run", "own_running", "own_jct", "others_jct", "own_service"])


def changes(figures: pd.DataFrame) -> pd.DataFrame:
    """Each figure of `own_and_others` after the change, over the same before it.

    Returns
    -------
    DataFrame, columns scheduler, seed, tenant, own_running, own_jct, others_jct, own_service
        Ratios within each scheduler and seed; a JCT below 1 has become shorter.
    """
    before, after = pairs(figures)
    return (after / before).reset_index()


def pairs(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of the runs before and after the change, in the same order, indexed by `KEYS`."""
    before, after = (table[table["run"] == r].set_index(KEYS).drop(columns="run") for r in ("before", "after"))
    return before, after.loc[before.index]


def experiments(table: pd.DataFrame) -> list[tuple[Row, Row, Row]]:
    """Of every scheduler and seed: `KEYS`, and the rows before and after the change."""
    before, after = pairs(table)
    keys = before.index.to_frame().to_dict("records")
    rows = zip(keys, before.to_dict("records"), after.to_dict("records"), strict=True)
    return [tuple({str(k): v for k, v in part.items()} for part in parts) for parts in rows]  # type: ignore[misc]
