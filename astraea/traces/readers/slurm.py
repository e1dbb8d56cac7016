"""Slurm's accounting: ``sacct -P`` (columns in any order) and ``sacct --json``, and shares from ``sshare -P``.

One row of the log is one run of a job, of a task of an array, of a component of a heterogeneous job, or a step of one.

- A job is submitted when it could have started, at `Eligible`: what depends on others, or is held, comes later than its
  `Submit`. Second 0 is the first `Submit` of the log.
- Its demand is ``gres/gpu`` of `AllocTRES`, or of `ReqTRES` while it waits; typed GPUs (``gres/gpu:a100``) are added up
  where there is no total. The components of a heterogeneous job start together, so they are one gang.
- Runs of one job that was requeued (``sacct --duplicates``) are one job: it needs what its last run took, as a job that
  is requeued begins again, and all its runs are `Trace.recorded`. The same number after any other end is a new job.
- A job that runs still has the time that it has run; where the log ends is the latest time in it.

Source: the manual pages of sacct and sshare (slurm.schedmd.com/sacct.html, sshare.html).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.arrays import BoolArray, FloatArray, TextArray
from astraea.core.checks import one_of
from astraea.core.errors import InputError
from astraea.traces.columns import MAX_DEMAND, refuse, refuse_others
from astraea.traces.readers.slurm_details import details_of
from astraea.traces.readers.slurm_files import TENANTS, read_columns, read_json_jobs, read_sshare
from astraea.traces.readers.table import NO_GPU, NO_TIME, Rows, Table, read_shares, read_text
from astraea.traces.slurm_words import ENDED, REQUEUED, RUNNING, STATES, WAITING, gpus_of

REQUIRED: Final = ("JobID", "Submit", "Start", "End", "State")

WAITS: Final = "waits still"
STEP: Final = "is a step of a job"
NEVER: Final = "never started"
PART: Final = "is a part of the gang of another row"
AGAIN: Final = "is an earlier run of a job that was requeued"
NOBODY: Final = "(none)"
"""Tenant of a job whose account, or what else is the tenant, is empty."""

_ABSENT: Final = ("", "Unknown", "None", "N/A", "NULL", "0")
_NEVER_ENDS: Final = ("", "UNLIMITED", "Partition_Limit", "INVALID", "Unknown", "None")
_ID: Final = re.compile(r"(?P<job>\d+)(?P<task>_\d+|_\[[^\]]*\])?(?P<part>\+\d+)?(?P<step>\.[\w.+-]+)?")

Weights = str | Path | Mapping[str, float] | None
"""Where tenant weights come from, as in `read_trace`."""


def read_slurm(path: Path, tenant: str, weights: Weights) -> tuple[Rows, dict[str, float] | None]:
    """Read what ``sacct -P`` or ``sacct --json`` printed, and the tenants' weights, if given.

    `tenant` is one of `TENANTS`; the weights are a share file, what ``sshare -P -a`` printed, or a mapping.
    """
    one_of(tenant, TENANTS, "tenant")
    shares, top = _weights(tenant, weights)
    text = read_text(path)
    table = read_json_jobs(path, text) if re.match(r"\s*\{", text) else read_columns(path, text)
    del text  # the columns are copies of its parts
    table.require((*REQUIRED, TENANTS[tenant]))
    if "AllocTRES" not in table.columns and "ReqTRES" not in table.columns:
        raise InputError(f"{table.path}, line 1: the columns AllocTRES and ReqTRES are missing, which tell the GPUs")
    ids, parts, steps = _identities(table)
    states = _states(table)
    submit, eligible, start, end = (_times(table, c) for c in ("Submit", "Eligible", "Start", "End"))
    refuse(np.isnat(submit), table.columns["Submit"], "Submit", table.where, "a time")
    gpus = _gpus(table)
    waits = np.isin(states, WAITING) | (np.isin(states, REQUEUED) & np.isnat(start))
    started = ~np.isnat(start) & ~waits & ~steps
    start, end = np.where(started, start, np.datetime64("NaT")), np.where(started, end, np.datetime64("NaT"))
    runs = started & np.isnat(end)
    refuse(runs & ~np.isin(states, RUNNING), table.columns["End"], "End", table.where, "a time, as the job has ended")
    last = _end_of_log(table, submit, start, end, runs)
    end = np.where(runs, last, end)
    refuse(started & (end < start), table.columns["End"], "End", table.where, "no time before Start")
    origin = submit[~steps].min() if (~steps).any() else submit.min()
    since = np.where(np.isnat(eligible) | (eligible < submit), submit, eligible)
    since = np.where(started & (since > start), start, since)
    seconds = {name: (when - origin) / np.timedelta64(1, "s") for name, when in
               (("submit", since), ("start", start), ("end", end))}  # fmt: skip
    owner = table.words(TENANTS[tenant])
    owner = np.where(owner == "", NOBODY, owner).astype(object)
    if top is not None:
        refuse_others(owner, (*top, NOBODY), TENANTS[tenant], table.where)
        owner = np.array([top.get(o, o) for o in owner], dtype=object)
    people = table.words("User") if "User" in table.columns else owner
    rows = pd.DataFrame(
        {
            "job": ids,
            "part": parts,
            "is_step": steps,
            "waits": waits & ~steps,
            "state": states,
            "tenant": owner,
            "user": np.where(people == "", owner, people).astype(object),
            "demand": gpus,
            "time_limit": _limits(table),
            **seconds,
        }
    )
    return _jobs(rows, table, pd.Timestamp(origin))._replace(details=details_of(table)), shares


def _weights(tenant: str, given: Weights) -> tuple[dict[str, float] | None, dict[str, str] | None]:
    """Weights of the tenants, and the tenant that each account belongs to where that is not the account itself."""
    tree = None if given is None or isinstance(given, Mapping) else read_sshare(Path(given))
    if tenant == "top-account":
        if tree is None:
            raise InputError("the tenant top-account needs the tree of accounts: weights of sshare -P -a")
        return tree.tops, tree.top
    if tree is None:
        return read_shares(given), None
    if tenant != "account":
        raise InputError(f"{given}: sshare has the shares of accounts, and the tenant is the {tenant}")
    return tree.leaves, None


def _identities(table: Table) -> tuple[TextArray, TextArray, BoolArray]:
    """What each `JobID` says: the job or task, its component if it is heterogeneous, and whether it is a step."""
    values = table.text("JobID")
    found = [_ID.fullmatch(v) for v in values]
    bad = np.array([m is None for m in found])
    refuse(bad, values, "JobID", table.where, "a number, as 12, 12_3, 12+1 or 12.batch")
    jobs = np.array([m["job"] + (m["task"] or "") for m in found if m], dtype=object)
    parts = np.array([m["part"] or "" for m in found if m], dtype=object)
    return jobs, parts, np.array([m["step"] is not None for m in found if m])


def _states(table: Table) -> TextArray:
    """The first word of each state: ``CANCELLED by 1000`` is CANCELLED, ``COMPLETING+`` what it begins with."""
    values = np.array([(v.split() or [""])[0].rstrip("+") for v in table.columns["State"]], dtype=object)
    refuse_others(values, STATES, "State", table.where)
    return values


def _times(table: Table, column: str) -> Any:
    """Times of a column, ISO or seconds since 1970; NaT where there is none, or no such column."""
    if column not in table.columns:
        return np.full(len(table), np.datetime64("NaT", "s"))
    values = pd.Series(table.words(column), dtype=object)
    absent = values.isin(_ABSENT)
    text = values.mask(absent)
    epoch = text.str.fullmatch(r"\d{1,11}").fillna(False).astype(bool)
    dates = pd.to_datetime(text.mask(epoch), format="%Y-%m-%dT%H:%M:%S", errors="coerce")
    times = dates.to_numpy(dtype="datetime64[s]").copy()
    times[epoch] = text[epoch].astype("int64").to_numpy().astype("datetime64[s]")
    bad = np.isnat(times) & ~absent.to_numpy()
    refuse(bad, values.to_numpy(), column, table.where, "a time YYYY-MM-DDTHH:MM:SS, Unknown or None")
    return times


def _gpus(table: Table) -> FloatArray:
    """GPUs of each row [GPU]: what it was given, or else what it asked for."""
    known = [table.words(c) for c in ("AllocTRES", "ReqTRES") if c in table.columns]
    given = known[0]
    for other in known[1:]:
        given = np.where(given == "", other, given)
    counted = {text: gpus_of(text) for text in set(given)}
    values = np.array([counted[text] for text in given], dtype=np.float64)
    refuse(values > MAX_DEMAND, given, "AllocTRES", table.where, f"at most {MAX_DEMAND} GPUs")
    return values


def _limits(table: Table) -> FloatArray:
    """Time limit of each row [s]; NaN for none."""
    if "TimelimitRaw" in table.columns:
        values = table.words("TimelimitRaw")
        minutes = np.array([60 * float(v) if v.isdecimal() and len(v) < 9 else np.nan for v in values])
        bad = np.isnan(minutes) & ~np.isin(values.astype(str), _NEVER_ENDS)
        refuse(bad, values, "TimelimitRaw", table.where, "a whole number of minutes, or UNLIMITED")
        return np.where(minutes > 0, minutes, np.nan)
    if "Timelimit" not in table.columns:
        return np.full(len(table), np.nan)
    values = table.words("Timelimit")
    found = [re.fullmatch(r"(?:(\d{1,6})-)?(\d{1,6}):(\d\d):(\d\d)", v) for v in values]
    seconds = np.array(
        [np.nan if m is None else 86_400.0 * int(m[1] or 0) + 3600 * int(m[2]) + 60 * int(m[3]) + int(m[4])
         for m in found]
    )  # fmt: skip
    bad = np.isnan(seconds) & ~np.isin(values.astype(str), _NEVER_ENDS)
    refuse(bad, values, "Timelimit", table.where, "a time [days-]hours:minutes:seconds, or UNLIMITED")
    return np.where(seconds > 0, seconds, np.nan)


def _end_of_log(table: Table, submit: Any, start: Any, end: Any, runs: BoolArray) -> Any:
    """When the log was written: the latest time in it, that of a job which runs still included."""
    moments = np.concatenate([submit, start, end])
    if runs.any() and "ElapsedRaw" in table.columns:
        expected = "a whole number of seconds"
        elapsed = table.number("ElapsedRaw", expected, lambda v: (v >= 0) & (v <= 1e10), empty=0.0)
        moments = np.concatenate([moments, start[runs] + elapsed[runs].astype("timedelta64[s]")])
    return moments[~np.isnat(moments)].max()


def _jobs(rows: pd.DataFrame, table: Table, origin: pd.Timestamp) -> Rows:
    """One row for each job, and the others with the reason why they are none."""
    rows["place"] = np.arange(len(rows))
    rows["reason"] = np.where(rows["is_step"], STEP, "")
    rows["job_id"] = rows["job"]
    _join_components(rows)
    _join_runs(rows)
    # what is no job keeps its own name, told from others of that name
    own = table.words("JobID")
    aside = rows["reason"] != ""
    rows.loc[aside, "job_id"] = own[aside.to_numpy()]
    again = rows.groupby("job_id").cumcount()
    rows.loc[again > 0, "job_id"] += " #" + (again[again > 0] + 1).astype(str)
    jobs = rows["reason"] == ""
    rows["duration"] = rows["end"] - rows["start"]
    for applies, reason in (
        (rows["demand"] == 0, NO_GPU), (rows["waits"], WAITS), (rows["start"].isna(), NEVER),
        (rows["duration"] == 0, NO_TIME),
    ):  # fmt: skip
        rows.loc[jobs & (rows["reason"] == "") & applies, "reason"] = reason
    kept = rows["reason"] == ""
    names = rows.loc[kept].set_index("key")["job_id"]
    recorded = rows[rows["key"].isin(names.index) & rows["reason"].isin(("", AGAIN)) & (rows["duration"] > 0)]
    recorded = pd.DataFrame(
        {"job_id": recorded["key"].map(names), "start": recorded["start"], "end": recorded["end"]}
    ).sort_values(["start", "job_id"], kind="stable", ignore_index=True)
    first = recorded.groupby("job_id")["start"].min()
    rows["state"] = rows["state"].map(ENDED).fillna("unknown")
    rows["queueing_delay"] = rows["job_id"].map(first) - rows["submit"]
    rows = rows.rename(columns={"submit": "submit_time"})
    aside_columns = ("job_id", "tenant", "demand", "submit_time", "reason")
    used = [*aside_columns, "user", "duration", "state", "queueing_delay", "time_limit"]
    return Rows(rows[used], table.where, origin, "JobID", recorded, aside_columns)


def _join_components(rows: pd.DataFrame) -> None:
    """Make one gang of the components of a heterogeneous job, those that came, started and ended together."""
    parts = rows[(rows["part"] != "") & (rows["reason"] == "")]
    gangs = parts.groupby(["job", "submit", "start", "end"], dropna=False, sort=False)
    is_first = gangs.cumcount() == 0
    rows.loc[parts.index[is_first], "demand"] = gangs["demand"].transform("sum")[is_first]
    rows.loc[parts.index[is_first], "waits"] = gangs["waits"].transform("any")[is_first]
    rows.loc[parts.index[~is_first], "reason"] = PART


def _join_runs(rows: pd.DataFrame) -> None:
    """Make one job of the runs of a job that was requeued: the row of its last run, submitted when the first was."""
    rows["key"] = rows["place"]
    jobs = rows[rows["reason"] == ""].assign(name=rows["job"] + rows["part"])
    jobs = jobs[jobs["name"].duplicated(keep=False)]
    jobs = jobs.sort_values(["name", "submit", "start"], kind="stable", na_position="last")
    is_new = jobs["name"].ne(jobs["name"].shift()) | ~jobs["state"].shift().isin(REQUEUED)
    chain = is_new.cumsum()  # the runs of one job, in their order
    submit = jobs.groupby(chain)["submit"].transform("min")
    chain = chain[jobs["start"].notna()]
    last = chain[~chain.duplicated(keep="last")]
    rows.loc[chain.index, "key"] = chain.map(pd.Series(last.index, index=last))
    rows.loc[last.index, "submit"] = submit[last.index]
    rows.loc[chain.index.difference(last.index), "reason"] = AGAIN
