"""Jobs as Gavel sees them: a type, a gang, a number of steps; and the reader of its traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.errors import InputError
from astraea.gavel.throughputs.table import Throughputs
from astraea.traces.columns import MAX_DEMAND, MAX_TIME, refuse
from astraea.traces.readers.gavel import MAX_STEPS, read_columns
from astraea.traces.readers.table import NO_GPU, reasons, tenant_of
from astraea.traces.trace import no_excluded_jobs

_STEPS: Final = f"a number of steps above 0 and at most {MAX_STEPS:g}"
_GANG: Final = f"a whole number of GPUs from 1 to {MAX_DEMAND}"
_TIME: Final = f"a time of at least 0 and at most {MAX_TIME:g} s"
_COLUMNS: Final = ("job_id", "job_type", "scale_factor", "total_steps", "arrival_time", "weight", "slo", "entity")


@dataclass(frozen=True, eq=False)
class Workload:
    """n jobs in order of arrival, checked when it is made.

    Attributes
    ----------
    name : str
        What the workload is called in results and figures.
    job_id : tuple of str
        Unique.
    job_type : tuple of str
        As `Throughputs.job_types` names them.
    scale_factor : array of int, shape (n,)
        GPUs of the gang [GPU].
    total_steps : array, shape (n,)
        Steps to train.
    arrival_time : array, shape (n,)
        Never decreasing [s].
    weight : array, shape (n,)
        Priority weight w_m, above 0.
    slo : array, shape (n,)
        Latest end, counted from the arrival [s]; inf if there is none.
    entity : array of int, shape (n,)
        Index into `entity_weight`.
    entity_weight : array, shape (entities,)
        Weight w_s of each entity (§4.3), above 0.
    excluded_jobs : DataFrame, columns job_id, reason
        What a reader found and could not use as a job.

    Raises
    ------
    InputError
        Names the first job that breaks a rule, its value and what is expected.
    """

    name: str
    job_id: tuple[str, ...]
    job_type: tuple[str, ...]
    scale_factor: IntArray
    total_steps: FloatArray
    arrival_time: FloatArray
    weight: FloatArray
    slo: FloatArray
    entity: IntArray
    entity_weight: FloatArray
    excluded_jobs: pd.DataFrame = field(default_factory=no_excluded_jobs)

    def __post_init__(self) -> None:
        n = len(self.job_id)
        if n == 0:
            raise InputError(f"{self.name}: there is no job in it")
        for column in _COLUMNS:
            values = np.asarray(getattr(self, column))
            if values.shape != (n,):
                raise InputError(f"{self.name}: {column} must have {n} values, one a job, got {values.shape}")
        weights = np.asarray(self.entity_weight)
        where = [f"{self.name}, job {i}" for i in self.job_id]
        rules: tuple[tuple[str, Any, str], ...] = (
            ("job_id", ~pd.Series(self.job_id, dtype=object).duplicated().to_numpy(), "unique"),
            ("scale_factor", _whole(self.scale_factor, 1, MAX_DEMAND), _GANG),
            ("total_steps", _within(self.total_steps, MAX_STEPS) & (np.asarray(self.total_steps) > 0), _STEPS),
            ("arrival_time", _within(self.arrival_time, MAX_TIME), _TIME),
            ("arrival_time", np.diff(self.arrival_time, prepend=0.0) >= 0, "no earlier than that of the job before"),
            ("weight", _within(self.weight, np.finfo(float).max) & (np.asarray(self.weight) > 0), "a number above 0"),
            ("slo", np.asarray(self.slo) > 0, "a time above 0, or inf for none"),
            ("entity", _whole(self.entity, 0, len(weights) - 1), f"an entity from 0 to {len(weights) - 1}"),
        )
        for column, good, expected in rules:
            refuse(~good, np.asarray(getattr(self, column), dtype=object), column, where, expected)
        whose = [f"{self.name}, entity {i}" for i in range(len(weights))]
        refuse(~((weights > 0) & np.isfinite(weights)), weights, "its weight", whose, "a number above 0")
        for column in ("scale_factor", "entity"):
            self._freeze(column, np.int64)
        for column in ("total_steps", "arrival_time", "weight", "slo", "entity_weight"):
            self._freeze(column, np.float64)

    def _freeze(self, column: str, dtype: type) -> None:
        values: npt.NDArray[Any] = np.array(getattr(self, column), dtype=dtype)
        values.flags.writeable = False
        object.__setattr__(self, column, values)

    def __len__(self) -> int:
        return len(self.job_id)

    def first(self, jobs: int) -> Workload:
        """Keep the first `jobs` jobs."""
        kept = {c: getattr(self, c)[:jobs] for c in _COLUMNS}
        return replace(self, **kept)


def read_workload(path: str | Path, throughputs: Throughputs) -> Workload:
    """Read a trace of Gavel: tab-separated lines without a header, 7 columns (older) or 10.

    Jobs have no identifier: they are numbered from 0 in the order of the file. In the 10-column form `priority` is the
    weight and `SLO` (below 0: none) is a multiple of the time that the job takes alone on V100s, or on the fastest type
    where V100s cannot run it.

    Set aside: jobs of 0 GPUs, and jobs whose type was never measured with that scale factor or runs on no accelerator
    with it.

    Raises
    ------
    InputError
        Names file, line, column, value and what is expected; an unknown job type is refused.
    """
    path = Path(path)
    table, columns = read_columns(path, throughputs.job_types, throughputs.name)
    kinds, size, steps = columns["job_type"], columns["demand"].astype(np.int64), columns["steps"]
    speed = dict(zip(throughputs.configurations, throughputs.solo[0], strict=True))
    never = np.full(len(throughputs.types), np.nan)
    rates = np.array([speed.get((k, int(s)), never) for k, s in zip(kinds, size, strict=True)])
    reason = reasons(
        len(table),
        (size == 0, NO_GPU),
        (np.isnan(rates).all(axis=1), "its job type was not measured with that scale factor"),
        (~(rates > 0).any(axis=1), "its job type runs on no accelerator with that scale factor"),
    )
    kept, out = np.flatnonzero(reason == ""), np.flatnonzero(reason != "")
    aside = pd.DataFrame({"job_id": [str(i) for i in out], "reason": reason[out]}, dtype=object)
    if len(kept) == 0:
        counts = ", ".join(f"{n} {r}" for r, n in aside["reason"].value_counts().items())
        raise InputError(f"{path}: none of the {len(table)} rows is a job that can be simulated ({counts})")
    order = kept[np.argsort(columns["submit_time"][kept], kind="stable")]
    rate = np.where(rates[order, 0] > 0, rates[order, 0], rates[order].max(axis=1))
    slo = columns.get("slo", np.full(len(table), np.nan))[order] * steps[order] / rate
    return Workload(
        name=tenant_of(path, ".trace", ".tsv"),
        job_id=tuple(str(i) for i in order),
        job_type=tuple(kinds[order]),
        scale_factor=size[order],
        total_steps=steps[order],
        arrival_time=columns["submit_time"][order],
        weight=columns.get("weight", np.ones(len(table)))[order],
        slo=np.where(np.isnan(slo), np.inf, slo),
        entity=np.zeros(len(order), np.int64),
        entity_weight=np.ones(1),
        excluded_jobs=aside,
    )


def _whole(values: Sequence[int] | IntArray, low: int, high: int) -> npt.NDArray[np.bool_]:
    v = np.asarray(values)
    return np.asarray((v >= low) & (v <= high) & (np.floor(v) == v))


def _within(values: FloatArray, most: float) -> npt.NDArray[np.bool_]:
    v = np.asarray(values)
    return np.asarray((v >= 0) & (v <= most))
