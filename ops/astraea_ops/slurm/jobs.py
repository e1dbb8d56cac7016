"""Jobs from the rows of a Slurm log, and their details: joins what is one job, and sets other rows aside.

Source: the manual page of sacct (slurm.schedmd.com/sacct.html).
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.core.units import HOUR
from astraea.traces.columns import DETAILS
from astraea.traces.readers.rows import AGAIN, NO_TIME, Rows
from astraea.traces.readers.table import Table
from astraea_ops.slurm.words import ENDED, REQUEUED, count_of, resources

WAITS: Final = "still waiting"
UNTOLD: Final = "still waiting, and the log does not have its request (ReqTRES)"
STEP: Final = "is a step of a job"
NEVER: Final = "never started"
PART: Final = "is a part of the gang of another row"
EARLY: Final = "started before the first job of the log was submitted"
TWICE: Final = "is the same run as a later row"

_ASIDE: Final = ("job_id", "reason", "line", "detail", "gpu_hours", "tenant", "user", "demand", "submit_time",
                 "time_limit", "partition", "qos", "priority")  # fmt: skip

_COLUMNS: Final = {
    "account": ("Account",), "user": ("User",), "partition": ("Partition",), "qos": ("QOS",),
    "constraint": ("Constraints",), "node_list": ("NodeList",), "reason": ("Reason",), "flags": ("Flags",),
    "priority": ("Priority",), "restarts": ("Restarts",), "nodes": ("NNodes", "AllocNodes", "ReqNodes"),
    "cpus": ("ReqCPUS", "NCPUS", "AllocCPUS"),
}  # fmt: skip
"""Columns for each detail; the first that the log has is used."""

_RESOURCES: Final = ("gpus", "cpus", "memory", "nodes")
"""Details that lists of resources give."""

_NONE: Final = ("None", "None assigned", "Unknown", "(null)", "N/A")


def jobs_of(rows: pd.DataFrame, table: Table, unreadable: pd.DataFrame, no_demand: str) -> Rows:
    """Make one row for each job, and set the other rows of the log aside with a reason; `table` gives their places."""
    rows["reason"] = np.where(rows["fault"] != "", rows["fault"], np.where(rows["is_step"], STEP, ""))
    if not table.strict:
        good = rows["reason"] == ""
        early = good & (rows["Start"] < rows.loc[good, "Submit"].min())
        rows.loc[early, "reason"], rows.loc[early, "detail"] = EARLY, rows.loc[early, "Start"].astype(str)
    origin = _in_seconds(rows)
    rows["place"] = np.arange(len(rows))
    rows["job_id"] = rows["job"]
    runs = rows[rows["reason"] == ""]  # a file made from the logs of two months may contain a run twice
    repeated = runs.duplicated(["job", "part", "submit", "start"], keep="last")
    rows.loc[repeated[repeated].index, "reason"] = TWICE
    _join_components(rows)
    _join_runs(rows)
    # a row that is not a job keeps its own name, made unique
    aside = rows["reason"] != ""
    rows.loc[aside, "job_id"] = rows.loc[aside, "number"]
    twice = rows["reason"] == TWICE
    rows.loc[twice, "job_id"] += " (line " + rows.loc[twice, "line"].astype(str) + ")"
    again = rows.groupby("job_id").cumcount()
    rows.loc[again > 0, "job_id"] += " #" + (again[again > 0] + 1).astype(str)
    jobs = rows["reason"] == ""
    rows["duration"] = rows["end"] - rows["start"]
    told = not {"ReqTRES", "ReqGRES"}.isdisjoint(table.columns)
    for applies, reason in (
        (rows["waits"] & (rows["demand"] == 0) & (not told), UNTOLD), (rows["demand"] == 0, no_demand),
        (rows["waits"], WAITS), (rows["start"].isna(), NEVER), (rows["duration"] == 0, NO_TIME),
    ):  # fmt: skip
        rows.loc[jobs & (rows["reason"] == "") & applies, "reason"] = reason
    kept = rows["reason"] == ""
    names = rows.loc[kept].set_index("key")["job_id"]
    recorded = rows.loc[rows["key"].isin(names.index) & rows["reason"].isin(("", AGAIN)) & (rows["duration"] > 0)]
    recorded = pd.DataFrame(
        {"job_id": recorded["key"].map(names), "start": recorded["start"], "end": recorded["end"]}
    ).sort_values(["start", "job_id"], kind="stable", ignore_index=True)
    first = recorded.groupby("job_id")["start"].min()
    rows["queueing_delay"] = rows["job_id"].map(first) - rows["submit"]
    held = rows["duration"].where(rows["duration"] >= 0, rows["elapsed"]).where(rows["start"].notna(), 0.0)
    rows["gpu_hours"] = (rows["demand"] * held / HOUR).where(~rows["reason"].isin((STEP, PART, AGAIN, TWICE)))
    rows["state"] = rows["state"].astype(object).map(ENDED).fillna("unknown")
    rows = rows.rename(columns={"submit": "submit_time"})
    details = pd.DataFrame({name: rows.pop(f"details {name}") for name in DETAILS})
    used = ["job_id", "reason", "tenant", "user", "demand", "submit_time", "duration", "state", "queueing_delay",
            "time_limit"]  # fmt: skip
    frame = rows[[*used, "line", "detail", "gpu_hours"]].assign(
        **{name: details[name] for name in ("partition", "qos", "priority")}
    )
    where = replace(table, lines=rows["line"].to_numpy()).where
    return Rows(frame, where, origin, "JobID", recorded, _ASIDE, details, unreadable)


def _in_seconds(rows: pd.DataFrame) -> pd.Timestamp | None:
    """Put times on the trace's clock [s], end running jobs where the log ends, and return the date of second 0."""
    is_good = rows["reason"] == ""
    submit, eligible, start, end = (rows.pop(c).to_numpy() for c in ("Submit", "Eligible", "Start", "End"))
    moments = [when[is_good & ~np.isnat(when)] for when in (submit, start, end)]
    runs = (is_good & ~np.isnat(start) & np.isnat(end)).to_numpy()
    elapsed = rows["elapsed"].to_numpy()[runs]
    told = ~np.isnan(elapsed)
    moments.append(start[runs][told] + elapsed[told].astype("timedelta64[s]"))
    origin = moments[0].min() if len(moments[0]) else np.datetime64("NaT", "s")
    last = np.concatenate(moments).max() if len(moments[0]) else origin
    end = np.where(runs, last, end)
    since = np.where(np.isnat(eligible) | (eligible < submit), submit, eligible)
    since = np.where(since > start, start, since)
    for name, when in (("submit", since), ("start", start), ("end", end)):
        rows[name] = (when - origin) / np.timedelta64(1, "s")
    return None if np.isnat(origin) else pd.Timestamp(origin)


def _join_components(rows: pd.DataFrame) -> None:
    """Make one gang of the components of a heterogeneous job that came, started and ended together."""
    parts = rows[(rows["part"] != "") & (rows["reason"] == "")]
    gangs = parts.groupby(["job", "submit", "start", "end"], dropna=False, sort=False)
    is_first = gangs.cumcount() == 0
    rows.loc[parts.index[is_first], "demand"] = gangs["demand"].transform("sum")[is_first]
    rows.loc[parts.index[is_first], "waits"] = gangs["waits"].transform("any")[is_first]
    rows.loc[parts.index[~is_first], "reason"] = PART


def _join_runs(rows: pd.DataFrame) -> None:
    """Make one job of the runs of a requeued job: the row of its last run, submitted when the first was."""
    rows["key"] = rows["place"]
    jobs = rows[rows["reason"] == ""].assign(name=rows["job"] + rows["part"].astype(object))
    jobs = jobs[jobs["name"].duplicated(keep=False)]
    jobs = jobs.sort_values(["name", "submit", "start"], kind="stable", na_position="last")
    is_new = jobs["name"].ne(jobs["name"].shift()) | ~jobs["state"].shift().isin(REQUEUED)
    chain = is_new.cumsum()  # the runs of one job, in their order
    submit = jobs.groupby(chain)["submit"].transform("min")
    chain = chain[jobs["start"].notna()]
    last = chain[~chain.duplicated(keep="last")]
    rows.loc[chain.index, "key"] = chain.map(pd.Series(last.index, index=last))
    runs = rows.loc[chain.index].assign(chain=chain).sort_values(["chain", "start"], kind="stable")
    following = runs.groupby("chain")["start"].shift(-1)
    cut = runs.index[runs["end"] > following]
    rows.loc[cut, "end"] = following[cut]  # a job has one run at a time
    rows.loc[last.index, "submit"] = submit[last.index]
    rows.loc[chain.index.difference(last.index), "reason"] = AGAIN


def details_of(table: Table) -> pd.DataFrame:
    """Return the columns of `DETAILS`, a row per row of the log; unreadable values count as unknown."""
    found: dict[str, Any] = {}
    for name, unknown in DETAILS.items():
        column = next((c for c in _COLUMNS.get(name, ()) if c in table.columns), None)
        if column is None:
            found[name] = np.full(len(table), unknown, dtype=object if unknown == "" else float)
        elif unknown == "":
            text = table.words(column)
            found[name] = np.where(pd.Index(text, dtype=object).isin(_NONE), "", text)
        else:
            found[name] = pd.to_numeric(pd.Series(table.words(column)), errors="coerce").to_numpy(dtype=np.float64)
    asked = np.array([many or (np.nan,) * 4 for many in _of_each(table, ("ReqTRES", "AllocTRES"), _asked)])
    for name, many in zip(_RESOURCES, asked.reshape(-1, 4).T, strict=True):
        found[name] = np.where(np.isnan(found[name]) | (name == "nodes") & ~(found[name] > 0), many, found[name])
    if "ReqMem" in table.columns:
        found["memory"] = np.where(np.isnan(found["memory"]), _asked_memory(table, found), found["memory"])
    # a request without a type may get any, and AllocTRES then names the type that it happened to get
    asked_for = "ReqTRES" if "ReqTRES" in table.columns else "AllocTRES"
    found["gpu_type"] = np.array(_of_each(table, (asked_for, "ReqGRES"), _types_of), dtype=object)
    return pd.DataFrame({name: pd.Categorical(found[name]) if u == "" else found[name] for name, u in DETAILS.items()})


def _of_each(table: Table, columns: tuple[str, ...], read: Any) -> list[Any]:
    """Return, for each row, what `read` finds in the first column in which it finds anything, else in ""."""
    out: list[Any] = [read("")] * len(table)
    for column in reversed([c for c in columns if c in table.columns]):
        out = [read(text) or found for text, found in zip(table.columns[column], out, strict=True)]
    return out


@lru_cache(4096)
def _asked(text: str) -> tuple[float, ...]:
    """Return the `_RESOURCES` of ``cpu=8,mem=4G``, NaN for those not given; () for an empty list."""
    tres = resources(text)
    many = float(count_of(text)) or np.nan, *(tres.get(name, np.nan) for name in ("cpu", "mem", "node"))
    return many if tres else ()


@lru_cache(4096)
def _types_of(text: str) -> str:
    """Return the types of the GPUs of ``gres/gpu:a100=4``, or of ``gpu:a100:4`` before Slurm 20.11."""
    return ",".join(sorted(set(re.findall(r"(?:gres/gpu:|(?<![\w/])gpu:(?!\d+(?:,|$)))([^=:,(]+)", text))))


def _asked_memory(table: Table, found: dict[str, Any]) -> FloatArray:
    """Return ReqMem [MB]: ``4000Mn`` is per node, ``2Gc`` per core, ``4G`` in total (Slurm 21.08 and newer)."""
    text = table.words("ReqMem")
    units = np.array([t[-1:] for t in text], dtype=object)
    many = np.where(units == "n", found["nodes"], np.where(units == "c", found["cpus"], 1.0))
    sizes = {t: resources(f"mem={t.rstrip('nc')}").get("mem", np.nan) for t in set(text)}
    return np.array([sizes[t] for t in text]) * many
