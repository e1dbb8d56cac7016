"""Our policies and mechanism against the results of the simulator that Gavel's authors released.

A folder of reference results has ``gavel/summary.csv``, with one row per run: trace, policy as they call it, cluster as
``V100s:P100s:K80s``, jobs that the averages are about, average JCT and makespan [s]. It also has the traces that are
not the authors' own. The authors' traces and the measured throughputs are in the folder of data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.errors import InputError
from papers.gavel.simulate import AS_RELEASED, simulate
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import read_workload

POLICIES: Final = {
    "allox": "allox",
    "fifo": "fifo-released",
    "fifo_perf": "fifo-het-released",
    "finish_time_fairness": "ftf",
    "finish_time_fairness_perf": "ftf-het",
    "gandiva": "gandiva-released",
    "isolated": "isolated",
    "max_min_fairness": "las",
    "max_min_fairness_perf": "las-het",
    "max_min_fairness_water_filling_perf": "las-het",
    "min_total_duration": "makespan",
    "min_total_duration_perf": "makespan-het",
}
"""Their names -> the same here.

Their water filling ends after its first step, which is LAS: where their search for bottlenecks raises an error, all
jobs count as bottlenecked. In their results 113 of 216 jobs end in the same second under both, and 213 within 5 %.
Filled to the end (`las-het-water-filling`), averages are within 3 % of theirs, and the makespan of `medium_test`, which
one of 20 jobs decides, is 6.8 % longer.
"""

CLOSE: Final = 0.05
"""Relative difference of average JCT and makespan that counts as agreement: optima are seldom unique."""

CLOSE_FIFO: Final = 0.01
"""The same for `FIFO`."""

FIFO: Final = ("fifo", "fifo_perf")
"""Policies that solve no program."""

COLUMNS: Final = ("trace", "policy", "cluster", "jobs", "avg_jct_s", "makespan_s")


def read_summary(folder: str | Path) -> pd.DataFrame:
    """Read the table of reference runs.

    Raises
    ------
    InputError
        If it is missing, lacks a column, or names a policy, cluster or range of jobs that cannot be.
    """
    path = Path(folder) / "gavel" / "summary.csv"
    try:
        table = pd.read_csv(path, dtype={"jobs": str})
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as err:
        raise InputError(f"{path}: expected a table with {', '.join(COLUMNS)}, got: {err}") from None
    missing = [c for c in COLUMNS if c not in table.columns]
    if missing:
        raise InputError(f"{path}: column {missing[0]!r} is missing; found {', '.join(map(str, table.columns))}")
    for k, row in enumerate(table.itertuples(), start=2):
        if row.policy not in POLICIES:
            raise InputError(f"{path}, line {k}: unknown policy {row.policy!r}; known are {', '.join(POLICIES)}")
        if not pd.Series([row.cluster]).str.fullmatch(r"\d+:\d+:\d+")[0]:
            raise InputError(f"{path}, line {k}: cluster must be like 8:16:24, got {row.cluster!r}")
        if row.jobs != "all" and not pd.Series([row.jobs]).str.fullmatch(r"\d+-\d+")[0]:
            raise InputError(f"{path}, line {k}: jobs must be all or like 400-699, got {row.jobs!r}")
    return table


def find_trace(name: str, folder: str | Path, data: str | Path) -> Path:
    """Path of a trace of a reference run."""
    for path in (Path(folder) / "gavel" / f"{name}.trace", Path(data) / "physical_cluster" / f"{name}.trace"):
        if path.is_file():
            return path
    raise InputError(f"{folder}: the trace {name!r} lies neither in gavel nor in {Path(data) / 'physical_cluster'}")


def measurements(folder: str | Path) -> Path:
    """Measured throughputs that lie beside a folder of reference results."""
    return Path(folder).parent / "data" / "gavel" / "simulation_throughputs.json"


def verify_gavel(folder: str | Path, data: str | Path | None = None, *, traces: tuple[str, ...] = ()) -> pd.DataFrame:
    """Simulate the runs of Gavel's simulator in its way.

    Parameters
    ----------
    folder : path
        Of the reference results.
    data : path, optional
        With `simulation_throughputs.json` and `physical_cluster`; by default ``data/gavel`` beside `folder`.
    traces : tuple of str
        Only these; all if empty.

    Returns
    -------
    DataFrame, columns trace, policy, cluster, jobs, average_jct, their_average_jct, jct_difference, makespan,
    their_makespan, makespan_difference, agrees
        Times in s, differences relative to theirs; makespans are NaN for runs that end before the last job.
    """
    summary = read_summary(folder)
    if traces:
        summary = summary[summary["trace"].isin(traces)]
    data = measurements(folder).parent if data is None else Path(data)
    throughputs = Throughputs.read(data / "simulation_throughputs.json")
    rows = []
    for run in summary.itertuples():
        workload = read_workload(find_trace(str(run.trace), folder, data), throughputs)
        first, last = (0, len(workload) - 1) if run.jobs == "all" else map(int, str(run.jobs).split("-"))
        result = simulate(
            workload, throughputs, [int(n) for n in str(run.cluster).split(":")], POLICIES[str(run.policy)],
            AS_RELEASED, until=last + 1,
        )  # fmt: skip
        makespan = result.makespan if run.jobs == "all" else np.nan
        average = float(result.jobs["jct"].iloc[first:].mean())
        rows.append(_row(run, average, makespan))
    return pd.DataFrame(rows)


def _row(run: Any, average: float, makespan: float) -> dict[str, Any]:
    off = average / run.avg_jct_s - 1
    late = makespan / run.makespan_s - 1
    close = CLOSE_FIFO if run.policy in FIFO else CLOSE
    return {
        "trace": run.trace,
        "policy": run.policy,
        "cluster": run.cluster,
        "jobs": run.jobs,
        "average_jct": average,
        "their_average_jct": run.avg_jct_s,
        "jct_difference": off,
        "makespan": makespan,
        "their_makespan": run.makespan_s,
        "makespan_difference": late,
        "agrees": abs(off) <= close and not abs(late) > close,
    }


def shown_gavel(table: pd.DataFrame) -> str:
    """Write the comparison for a person: ours, theirs behind it, and the difference."""
    lines = table[["trace", "policy", "cluster", "jobs"]].copy()
    for name, ours, theirs, off in (
        ("average JCT [s]", "average_jct", "their_average_jct", "jct_difference"),
        ("makespan [s]", "makespan", "their_makespan", "makespan_difference"),
    ):
        both = zip(table[ours], table[theirs], table[off], strict=True)
        lines[name] = [f"{a:.0f} ({b:.0f}) {100 * d:+.2f} %" if np.isfinite(d) else "" for a, b, d in both]
    good = int(table["agrees"].sum())
    others = "".join(f"\nnot so close: {r.trace}, {r.policy}" for r in table[~table["agrees"]].itertuples())
    return (
        f"{lines.to_string(index=False)}\n\n{good} of {len(table)} runs of Gavel's simulator agree: average JCT and "
        f"makespan within {100 * CLOSE:g} %, FIFO within {100 * CLOSE_FIFO:g} %.{others}"
    )
