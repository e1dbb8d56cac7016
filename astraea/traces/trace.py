"""A workload: validated, immutable columns of jobs and tenants; a simulation reads nothing else."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.checks import number
from astraea.core.digest import digest_of
from astraea.core.errors import InputError
from astraea.core.frozen import read_only
from astraea.core.units import DAY
from astraea.traces.columns import OPTIONAL, REQUIRED, Where, checked_columns, job_order, tenant_table
from astraea.traces.tree import Tree


def no_excluded_jobs() -> pd.DataFrame:
    """Return an empty table of excluded jobs."""
    return pd.DataFrame(columns=["job_id", "reason"], dtype=object)


@read_only
@dataclass(frozen=True, eq=False)
class Trace:
    """Jobs in order of `(submit_time, job_id)`, and the tenants they belong to.

    Attributes
    ----------
    name : str
        Name of the trace in results and figures.
    job_id : array of str, shape (n,)
        Unique. Ordered naturally: job 9 before job 10.
    tenant : int array, shape (n,)
        Index into `tenants`.
    user : array of str, shape (n,)
        The person; the tenant if unknown.
    demand : int array, shape (n,)
        GPUs of the gang [GPU], at least 1.
    submit_time : float array, shape (n,)
        Time on the trace's clock, from 0 [s].
    duration : float array, shape (n,)
        Service needed when undisturbed [s], more than 0.
    weight : float array, shape (n,)
        Weight of the job within its tenant, [Ye2022] Eq. 3.
    state : array of str, shape (n,)
        One of `STATES`.
    queueing_delay : float array, shape (n,)
        Recorded wait before the first start [s]; NaN if the source does not give it.
    sensitivity : float array, shape (n,)
        Speed of the job, in (0, 1], when its gang spans more nodes than it must.
    deadline : float array, shape (n,)
        Latest end that the user asked for, on the trace's clock [s]; NaN if none.
    time_limit : float array, shape (n,)
        Limit that the user set on the job's running time, used by backfill [s]; NaN if none.
    tenants : tuple of str, shape (k,)
        Names, in alphabetical order.
    tenant_weight : float array, shape (k,)
        Contribution of each tenant, [Ye2022] Eq. 6.
    origin : Timestamp or None
        Date and time of second 0, if the source gives it.
    history : Trace or None
        Jobs submitted before second 0 (on their own clock), from which estimators learn.
    excluded_jobs : DataFrame, columns job_id, reason, and if a reader gives them line, detail, gpu_hours
        Rows that a reader could not use as jobs. `line` is the line, or the number in a list; `detail` is the text that
        could not be read, else ""; `gpu_hours` is the GPU-time held [GPU-h], NaN if unknown or counted elsewhere. For a
        Slurm log also tenant, user, demand [GPU], submit_time [s], time_limit [s], partition, qos and priority.
    recorded : DataFrame or None, columns job_id, start, end
        Periods in which each job held its GPUs, on the trace's clock [s]: a row per run, in order of start; None if
        the source does not give them.
    details : DataFrame or None, columns of `columns.DETAILS`
        Further information of a log, a row per job in the order of the trace. Not part of the digest.
    tree : Tree or None
        Queues above the tenants, with quotas, limits and priorities, if the shares have them.
    """

    name: str
    job_id: npt.NDArray[np.object_]
    tenant: IntArray
    user: npt.NDArray[np.object_]
    demand: IntArray
    submit_time: FloatArray
    duration: FloatArray
    weight: FloatArray
    state: npt.NDArray[np.object_]
    queueing_delay: FloatArray
    sensitivity: FloatArray
    deadline: FloatArray
    time_limit: FloatArray
    tenants: tuple[str, ...]
    tenant_weight: FloatArray
    origin: pd.Timestamp | None = None
    history: Trace | None = None
    excluded_jobs: pd.DataFrame = field(default_factory=no_excluded_jobs)
    recorded: pd.DataFrame | None = None
    details: pd.DataFrame | None = None
    tree: Tree | None = None

    def __len__(self) -> int:
        return len(self.job_id)

    def __repr__(self) -> str:
        days = self.span / DAY
        return f"Trace({self.name!r}: {len(self)} jobs, {len(self.tenants)} tenants, {days:.1f} days)"

    @classmethod
    def from_frame(
        cls,
        jobs: pd.DataFrame,
        *,
        name: str = "trace",
        weights: dict[str, float] | None = None,
        origin: pd.Timestamp | None = None,
        history: Trace | None = None,
        excluded_jobs: pd.DataFrame | None = None,
        recorded: pd.DataFrame | None = None,
        details: pd.DataFrame | None = None,
        places: Where | None = None,
    ) -> Trace:
        """Check a table of jobs and make a trace of it.

        Parameters
        ----------
        jobs : DataFrame
            One row per job: `tenant` (name), `demand` [GPU], `submit_time` [s], `duration` [s], `job_id` (by default
            the number of the row, from 0), and any of `columns.OPTIONAL`.
        details : DataFrame, optional
            One row per row of `jobs`, in the same order.
        weights : dict, optional
            Weight of every tenant; every named tenant exists, with or without jobs. Equal weights by default.
        places : function, optional
            Gives the location of a row (``"file.csv, line 7"``), for messages.

        Raises
        ------
        InputError
            With the row, the column, the value and what is expected.
        """
        if not isinstance(jobs, pd.DataFrame):
            raise InputError(f"{name}: jobs must be a DataFrame, one row per job, got a {type(jobs).__name__}")
        if "job_id" not in jobs:
            jobs = jobs.assign(job_id=range(len(jobs)))
        where = places or (lambda row: f"{name}, row {row}")
        columns = checked_columns(jobs, name, where)
        order = job_order(columns["submit_time"], columns["job_id"])
        tenant, names, weight = tenant_table(columns["tenant"], weights, where, name)
        return cls(
            name=name,
            tenant=tenant[order],
            tenants=names,
            tenant_weight=weight,
            tree=getattr(weights, "tree", None),
            origin=origin,
            history=history,
            excluded_jobs=no_excluded_jobs() if excluded_jobs is None else excluded_jobs.reset_index(drop=True),
            recorded=recorded,
            details=None if details is None else details.iloc[order].reset_index(drop=True),
            **{c: columns.pop(c)[order] for c in (*REQUIRED, *OPTIONAL) if c != "tenant"},  # each in memory only once
        )

    @property
    def frame(self) -> pd.DataFrame:
        """A copy as a table in trace order: one row per job, tenants by name."""
        columns = {c: getattr(self, c) for c in (*REQUIRED, *OPTIONAL)}
        columns["tenant"] = np.array(self.tenants, dtype=object)[self.tenant]
        return pd.DataFrame(columns, copy=True)  # a table may outlive its trace and be written in place

    @property
    def span(self) -> float:
        """Time of the last submission [s]."""
        return float(self.submit_time[-1]) if len(self) else 0.0

    @property
    def unreadable(self) -> pd.DataFrame:
        """Rows of `excluded_jobs` that could not be read; the others are not jobs, or need no GPU."""
        aside = self.excluded_jobs
        return aside[aside["detail"] != ""] if "detail" in aside else aside.head(0)

    @property
    def gpu_time(self) -> FloatArray:
        """Service that each job asks for, demand x duration [GPU-s]."""
        return self.demand * self.duration

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that a simulation reads."""
        read = (
            "job_id", "tenants", "user", "tenant", "demand", "submit_time", "duration", "weight", "sensitivity",
            "deadline", "time_limit", "tenant_weight",
        )  # fmt: skip
        history = "" if self.history is None else self.history.digest
        tree = {} if self.tree is None else self.tree._asdict()
        return digest_of(**{name: getattr(self, name) for name in read}, history=history, **tree)

    def _take(self, rows: npt.NDArray[np.intp], **changes: Any) -> Trace:
        """Return the trace of these rows, in their order; `changes` replace whole fields."""
        fields: dict[str, Any] = {c: getattr(self, c)[rows] for c in (*REQUIRED, *OPTIONAL)}
        if self.recorded is not None:
            fields["recorded"] = self.recorded[self.recorded["job_id"].isin(fields["job_id"])].reset_index(drop=True)
        if self.details is not None:
            fields["details"] = self.details.iloc[rows].reset_index(drop=True)
        return dataclasses.replace(self, **{**fields, **changes})

    def window(self, start: float, end: float) -> Trace:
        """Jobs submitted in [start, end) seconds, with the clock set to 0 at `start`; earlier jobs become `history`.

        `InputError` if the window is empty or its ends are in the wrong order.
        """
        if not 0 <= start < end:
            raise InputError(f"{self.name}: a window needs 0 <= start < end, got [{start}, {end})")
        inside = np.flatnonzero((self.submit_time >= start) & (self.submit_time < end))
        if len(inside) == 0:
            raise InputError(f"{self.name}: no job was submitted in [{start}, {end}) s")
        before = np.flatnonzero(self.submit_time < start)
        past = self._take(before, name=f"{self.name} history", history=None) if len(before) else None
        runs = self.recorded
        shifted = runs if runs is None else runs.assign(start=runs["start"] - start, end=runs["end"] - start)
        return dataclasses.replace(self, recorded=shifted)._take(
            inside,
            submit_time=self.submit_time[inside] - start,
            deadline=self.deadline[inside] - start,
            origin=None if self.origin is None else self.origin + pd.Timedelta(seconds=start),
            history=past,
        )

    def head(self, n: int) -> Trace:
        """Return the first `n` jobs by submission."""
        if n < 1:
            raise InputError(f"{self.name}: head() needs at least 1 job, got {n}")
        return self._take(np.arange(min(n, len(self))))

    def scale_load(self, factor: float) -> Trace:
        """Return the same jobs arriving `factor` times as fast, without recorded waits and runs."""
        number(factor, f"{self.name}: the load factor", above=0)
        late = self.deadline - self.submit_time
        submit = self.submit_time / factor
        return self._resubmitted(submit, deadline=submit + late)

    def in_rounds(self, interval: float) -> Trace:
        """Return the same jobs in the same order, each submitted at the next round, every `interval` seconds.

        [Ye2022] "normalizes" workloads this way (§6.1.3): no job waits for part of a round. Without recorded waits.
        """
        number(interval, f"{self.name}: the time between rounds", above=0)
        submit = np.ceil(self.submit_time / interval) * interval
        return self._resubmitted(submit, name=f"{self.name}, in rounds of {interval:g} s")

    def _resubmitted(self, submit_time: FloatArray, **changes: Any) -> Trace:
        """Return the same jobs at other submission times, without recorded waits."""
        unknown = np.full(len(self), np.nan)
        return dataclasses.replace(self, submit_time=submit_time, queueing_delay=unknown, recorded=None, **changes)

    def with_weights(self, weights: dict[str, float]) -> Trace:
        """Return the same jobs with other tenant weights; every tenant of the trace must be named."""
        before = np.array(self.tenants, dtype=object)
        position, names, weight = tenant_table(before, weights, self.tenants.__getitem__, self.name)
        tree = getattr(weights, "tree", None)
        return dataclasses.replace(self, tenants=names, tenant_weight=weight, tenant=position[self.tenant], tree=tree)
