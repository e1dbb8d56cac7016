"""Jobs as Gavel sees them: a type, a gang, a number of steps; and the reader of its traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.errors import InputError
from astraea.core.frozen import read_only
from astraea.traces.columns import POSITIVE, TIME, Rule, gpus, refuse
from astraea.traces.readers.gavel import MAX_STEPS, read_columns
from astraea.traces.readers.rows import NO_GPU, reasons, tenant_of
from astraea.traces.trace import no_excluded_jobs
from papers.gavel.throughputs.table import Throughputs

_RULES: Final[dict[str, Rule]] = {
    "scale_factor": gpus(1),
    "total_steps": (f"a number of steps above 0 and at most {MAX_STEPS:g}", lambda v: (v > 0) & (v <= MAX_STEPS)),
    "arrival_time": TIME,
    "weight": POSITIVE,
    "slo": ("a time above 0, or inf for none", lambda v: v > 0),
}
_COLUMNS: Final = ("job_id", "job_type", *_RULES, "entity")


@read_only
@dataclass(frozen=True, eq=False)
class Workload:
    """n jobs in order of arrival, checked when it is made.

    `InputError` names the first job that breaks a rule, its value and what is expected.
    """

    name: str  # what the workload is called in results and figures
    job_id: tuple[str, ...]  # unique
    job_type: tuple[str, ...]  # as `Throughputs.job_types` names them
    scale_factor: IntArray  # (n,) GPUs of the gang [GPU]
    total_steps: FloatArray  # (n,) to train
    arrival_time: FloatArray  # (n,) never decreasing [s]
    weight: FloatArray  # (n,) priority weight w_m, above 0
    slo: FloatArray  # (n,) latest end, counted from the arrival [s]; inf if there is none
    entity: IntArray  # (n,) index into `entity_weight`
    entity_weight: FloatArray  # (entities,) weight w_s of each (§4.3), above 0
    # columns job_id and reason: what a reader found and could not use as a job
    excluded_jobs: pd.DataFrame = field(default_factory=no_excluded_jobs)

    def __post_init__(self) -> None:
        n = len(self.job_id)
        if n == 0:
            raise InputError(f"{self.name}: there is no job in it")
        for column in _COLUMNS:
            values = np.asarray(getattr(self, column))
            if values.shape != (n,):
                raise InputError(f"{self.name}: {column} must have {n} values, one a job, got {values.shape}")
        where = [f"{self.name}, job {i}" for i in self.job_id].__getitem__
        ids = np.array(self.job_id, dtype=object)
        refuse(pd.Series(ids).duplicated(), ids, "job_id", where, "unique")
        for column, (expected, good) in _RULES.items():
            given = getattr(self, column)
            refuse(~good(np.asarray(given)), np.asarray(given, dtype=object), column, where, expected)
        times, last = np.asarray(self.arrival_time), len(self.entity_weight) - 1
        refuse(np.diff(times, prepend=0.0) < 0, times, "arrival_time", where, "no earlier than that of the job before")
        entities = np.asarray(self.entity)
        refuse(~np.isin(entities, range(last + 1)), entities, "entity", where, f"an entity from 0 to {last}")
        expected, good = POSITIVE
        weights, whose = np.asarray(self.entity_weight), (lambda k: f"{self.name}, entity {k}")
        refuse(~good(weights), weights, "its weight", whose, expected)
        for column in (*_RULES, "entity", "entity_weight"):
            whole = column in ("scale_factor", "entity")
            values = np.array(getattr(self, column), dtype=np.int64 if whole else np.float64)
            object.__setattr__(self, column, values)

    @classmethod
    def of(
        cls, name: str, job_type: Sequence[str], scale_factor: IntArray, total_steps: FloatArray,
        arrival_time: FloatArray, **columns: Any,
    ) -> Workload:  # fmt: skip
        """Jobs numbered from 0, of equal weights, without deadlines, of one entity, unless `columns` say otherwise."""
        n = len(job_type)
        usual = {
            "job_id": tuple(map(str, range(n))), "weight": np.ones(n), "slo": np.full(n, np.inf),
            "entity": np.zeros(n, np.int64), "entity_weight": np.ones(1),
        }  # fmt: skip
        given: dict[str, Any] = usual | columns
        return cls(name, given.pop("job_id"), tuple(job_type), scale_factor, total_steps, arrival_time, **given)

    def __len__(self) -> int:
        return len(self.job_id)

    def some(self, which: slice) -> Workload:
        """Keep some of the jobs."""
        kept = {c: getattr(self, c)[which] for c in _COLUMNS}
        return replace(self, **kept)

    def first(self, jobs: int) -> Workload:
        """Keep so many jobs, the earliest."""
        return self.some(slice(jobs))


def read_workload(path: str | Path, throughputs: Throughputs) -> Workload:
    """Read a trace of Gavel: tab-separated lines without a header, 7 columns (older) or 10.

    Jobs have no identifier: they are numbered from 0 in the order of the file. In the 10-column form `priority` is the
    weight. `SLO` (below 0: none) is a multiple of the time that the job takes alone on V100s, or on the fastest type if
    V100s cannot run it.

    Excluded: jobs of 0 GPUs, and jobs whose type was never measured with that scale factor or runs on no accelerator
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
    given = {"weight": columns["weight"][order]} if "weight" in columns else {}
    return Workload.of(
        tenant_of(path, ".trace", ".tsv"), kinds[order], size[order], steps[order], columns["submit_time"][order],
        job_id=tuple(map(str, order)), slo=np.where(np.isnan(slo), np.inf, slo), excluded_jobs=aside, **given,
    )  # fmt: skip
