"""Build a `Result` from the starts and ends recorded in a log, without simulating."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine import events as log_events
from astraea.cluster.engine.records import TIMELINE, records
from astraea.cluster.engine.state import new_state
from astraea.cluster.tables import job_table, timeline_table
from astraea.core import source
from astraea.core.errors import InputError
from astraea.core.result import GRANT_COLUMNS, Result, provenance
from astraea.core.units import HOUR
from astraea.traces.trace import Trace


def observed(trace: Trace, cluster: Cluster) -> Result:
    """Make a result from the recorded starts and ends of a trace.

    Parameters
    ----------
    trace : Trace
        With `recorded` runs, or with the recorded `queueing_delay` of every job, each of which is then one run.
    cluster : Cluster
        The cluster on which it ran.

    Returns
    -------
    Result
        Like that of a simulation; a requeued job has several `leases`, and the time of its earlier runs is `overhead`.

    Raises
    ------
    InputError
        If the trace does not have the start of a job, a recorded run is impossible, or more GPUs were in use than the
        cluster has.
    """
    runs = recorded_runs(trace)
    moments = _moments(trace, runs, cluster)
    view, private = new_state(trace, cluster)
    rows = min(int(moments["time"].max() / HOUR), 2 * len(moments)) + 2
    view = view._replace(timeline=records(TIMELINE, (rows, len(trace.tenants))), hour=np.zeros(rows, np.int64))
    began = time.perf_counter()
    log_events.walk(view, private, moments.view(np.recarray))
    seconds = time.perf_counter() - began
    jobs = job_table(trace, view, private)
    jobs["overhead"] = view.job.executed - trace.duration
    inputs = {
        "trace": trace.name,
        "trace_sha256": trace.digest,
        "nodes": cluster.nodes,
        "gpus_per_node": cluster.gpus_per_node,
        **({"sizes": list(cluster.sizes)} if cluster.sizes else {}),
        "policy": "observed",
        "parameters": {},
        "seed": 0,
    }
    return Result(
        jobs=jobs,
        excluded_jobs=pd.DataFrame(columns=["job_id", "tenant", "demand", "duration", "reason"], dtype=object),
        timeline=timeline_table(trace, view, private),
        grants=runs.assign(demand=trace.demand[runs["job"]])[list(GRANT_COLUMNS)],
        provenance=provenance(inputs, "numpy", "numba", "pandas", source=source.digest(__name__)),
        seconds=seconds,
    )


def recorded_runs(trace: Trace) -> pd.DataFrame:
    """Return when each job held its GPUs, in order of start: job_id, job (index into the trace), start and end [s].

    `InputError` if the trace does not have it for every job, a run is impossible, or two runs of a job overlap.
    """
    if trace.recorded is not None:
        check(trace, trace.recorded)
        runs = trace.recorded.assign(job=pd.Index(trace.job_id).get_indexer(pd.Index(trace.recorded["job_id"])))
    else:
        start = trace.submit_time + trace.queueing_delay
        runs = pd.DataFrame(
            {"job_id": trace.job_id, "start": start, "end": start + trace.duration, "job": np.arange(len(trace))}
        )
    lacking = np.setdiff1d(np.arange(len(trace)), runs.loc[runs["start"].notna(), "job"])
    if len(lacking):
        first = trace.job_id[lacking[0]]
        raise InputError(
            f"{trace.name}: the log has no start of job {first!r} ({len(lacking)} such "
            f"job{'' if len(lacking) == 1 else 's'}), so what happened cannot be measured"
        )
    runs = runs.sort_values(["job", "start"], kind="stable", ignore_index=True)
    same = runs["job"].eq(runs["job"].shift())
    overlaps = runs[same & (runs["start"] < runs["end"].shift())]
    if len(overlaps):
        raise InputError(f"{trace.name}: two runs of job {overlaps['job_id'].iloc[0]!r} overlap")
    return runs.sort_values(["start", "job"], kind="stable", ignore_index=True)


def check(trace: Trace, runs: pd.DataFrame) -> None:
    """Raise `InputError` for the first recorded run that is not one of a job, or has no length that makes sense."""
    known = pd.Index(trace.job_id).get_indexer(pd.Index(runs["job_id"]))
    submit = np.where(known >= 0, trace.submit_time[known], np.nan)
    start, end = runs["start"].to_numpy(np.float64), runs["end"].to_numpy(np.float64)
    found = {
        "is of a job that the trace does not have": known < 0,
        "has no start": ~np.isfinite(start),
        "has no end": ~np.isfinite(end),
        "ends before it starts": end < start,
        "starts before its job is submitted": start < submit,
        "is in the log twice": runs.duplicated(["job_id", "start"]).to_numpy(),
    }
    for what, wrong in found.items():
        if wrong.any():
            k = int(np.argmax(wrong))
            raise InputError(
                f"{trace.name}: recorded run {k} (job {runs['job_id'].iloc[k]!r}, start {start[k]:g} s, "
                f"end {end[k]:g} s) {what}"
            )


def _moments(trace: Trace, runs: pd.DataFrame, cluster: Cluster) -> npt.NDArray[np.void]:
    """Return everything that happens, in order of time."""
    jobs = np.arange(len(trace))
    is_last = ~runs.iloc[::-1]["job"].duplicated().iloc[::-1].to_numpy()
    of = runs["job"].to_numpy()
    parts = (
        (trace.submit_time, np.full(len(trace), log_events.ARRIVES), jobs),
        (runs["start"].to_numpy(), np.full(len(runs), log_events.STARTS), of),
        (runs["end"].to_numpy(), np.where(is_last, log_events.ENDS, log_events.STOPS), of),
    )
    moments = np.zeros(len(trace) + 2 * len(runs), log_events.HAPPENS)
    for field, values in zip(("time", "kind", "job"), zip(*parts, strict=True), strict=True):
        moments[field] = np.concatenate(values)
    moments = moments[np.lexsort((moments["job"], moments["kind"], moments["time"]))]
    change = np.where(moments["kind"] == log_events.STARTS, 1, np.where(moments["kind"] == log_events.ARRIVES, 0, -1))
    held = np.cumsum(change * trace.demand[moments["job"]])
    if held.max(initial=0) > cluster.gpus:
        at = moments["time"][int(np.argmax(held > cluster.gpus))]
        raise InputError(
            f"{trace.name}: at {at:g} s {held[held > cluster.gpus][0]} GPUs were in use, more than the cluster of "
            f"{cluster} has; give the true number of nodes"
        )
    return moments
