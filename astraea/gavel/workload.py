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
from astraea.traces.readers.assemble import NO_GPU, reasons
from astraea.traces.readers.gavel import FORMS
from astraea.traces.readers.table import Table, make_table, read_rows, read_text
from astraea.traces.trace import no_excluded_jobs

MAX_STEPS: Final = 1e15
"""Largest number of steps that is accepted."""

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

    def kinds(self, throughputs: Throughputs) -> IntArray:
        """Return the configuration of each job, an index into the tables of `throughputs`.

        Raises
        ------
        InputError
            The configuration of a job was not measured, or runs on no accelerator type; names the first such job.
        """
        out = np.empty(len(self), np.int64)
        for i, (kind, size) in enumerate(zip(self.job_type, self.scale_factor, strict=True)):
            try:
                out[i] = throughputs.kind(kind, int(size))
            except InputError as err:
                raise InputError(f"{self.name}, job {self.job_id[i]}: {err}") from None
        stuck = np.flatnonzero(~throughputs.solo[0, out].any(axis=1))
        if len(stuck):
            i = int(stuck[0])
            what = f"{self.job_type[i]!r} with a scale factor of {self.scale_factor[i]}"
            raise InputError(
                f"{self.name}, job {self.job_id[i]}: {what} can never run, its throughput is 0 on every accelerator"
            )
        return out

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
    rows, lines = read_rows(path, read_text(path), tabs=True)
    header = FORMS.get(len(rows[0]))
    if header is None:
        raise InputError(f"{path}, line {lines[0]}: expected 7 or 10 columns with tabs between, got {len(rows[0])}")
    table = make_table(path, header, rows, lines)
    kinds = table.text("job_type")
    known = set(throughputs.job_types)
    unknown = np.array([k not in known for k in kinds])
    refuse(unknown, kinds, "job_type", table.where, f"a job type of {throughputs.name}")
    size = table.demand("scale_factor").astype(np.int64)
    steps = table.number("total_steps", _STEPS, lambda v: (v > 0) & (v <= MAX_STEPS))
    arrival = table.seconds("arrival_time")
    weight, factor = _priorities(table)
    speed = dict(zip(throughputs.configurations, throughputs.solo[0], strict=True))
    never = np.full(len(throughputs.types), np.nan)
    rates = np.array([speed.get((k, int(s)), never) for k, s in zip(kinds, size, strict=True)])
    reason = reasons(
        len(table),
        (size == 0, NO_GPU),
        (np.isnan(rates).all(axis=1), "its job type was not measured with that scale factor"),
        (~(rates > 0).any(axis=1), "its job type runs on no accelerator with that scale factor"),
    )
    kept = np.flatnonzero(reason == "")
    out = np.flatnonzero(reason != "")
    aside = pd.DataFrame({"job_id": [str(i) for i in out], "reason": reason[out]}, dtype=object)
    if len(kept) == 0:
        counts = ", ".join(f"{n} {r}" for r, n in aside["reason"].value_counts().items())
        raise InputError(f"{path}: none of the {len(table)} rows is a job that can be simulated ({counts})")
    order = kept[np.argsort(arrival[kept], kind="stable")]
    rate = np.where(rates[order, 0] > 0, rates[order, 0], rates[order].max(axis=1))
    return Workload(
        name=path.name.removesuffix(".gz").removesuffix(".trace").removesuffix(".tsv"),
        job_id=tuple(str(i) for i in order),
        job_type=tuple(kinds[order]),
        scale_factor=size[order],
        total_steps=steps[order],
        arrival_time=arrival[order],
        weight=weight[order],
        slo=factor[order] * steps[order] / rate,
        entity=np.zeros(len(order), np.int64),
        entity_weight=np.ones(1),
        excluded_jobs=aside,
    )


def _priorities(table: Table) -> tuple[FloatArray, FloatArray]:
    """Weights, and deadlines as multiples of the duration (inf for none)."""
    if "SLO" not in table.columns:
        return np.ones(len(table)), np.full(len(table), np.inf)
    weight = table.number("priority", "a number above 0", lambda v: (v > 0) & np.isfinite(v))
    factor = table.number(
        "SLO", "a multiple of the duration, or below 0 for none", lambda v: (v != 0) & (v <= 1e9) & np.isfinite(v)
    )
    return weight, np.where(factor > 0, factor, np.inf)


def _whole(values: Sequence[int] | IntArray, low: int, high: int) -> npt.NDArray[np.bool_]:
    v = np.asarray(values)
    return np.asarray((v >= low) & (v <= high) & (np.floor(v) == v))


def _within(values: FloatArray, most: float) -> npt.NDArray[np.bool_]:
    v = np.asarray(values)
    return np.asarray((v >= 0) & (v <= most))
