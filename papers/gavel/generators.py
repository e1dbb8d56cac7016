"""Workloads drawn as Gavel's evaluation draws them ([Narayanan2020] §7.1, §7.3 and its released job generator).

Every property of the jobs has its own random stream. Another arrival rate, more jobs, or priorities leave everything
else unchanged: job i of two workloads of one seed is the same job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.checks import number, whole_number
from astraea.core.errors import InputError
from astraea.core.random import streams
from astraea.core.units import DAY, HOUR
from astraea.traces.trace import Trace
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload

T = TypeVar("T")

HIGH_PRIORITY: Final = 5.0
"""Weight of a job of high priority."""

HIGH_SHARE: Final = 0.2
"""Part of the jobs that have it."""

SLO_FACTORS: Final = (1.2, 2.0, 10.0)
"""Deadlines of the cost policies' jobs, as multiples of the duration."""

SIZES: Final = (1, 2, 4, 8)
"""Gang sizes [GPU]."""

SIZE_SHARES: Final = (0.70, 0.10, 0.15, 0.05)
"""Share of each of `SIZES` in a workload of several sizes."""

SHORT_SHARE: Final = 0.8
"""Part of the jobs that take 10^1.5 to 10^3 minutes; the others take 10^3 to 10^4."""

TIMESTEP: Final = 360.0
"""Length of a round [s]."""

COST_TYPES: Final = ("ResNet-50 (batch size 64)", "A3C")
COST_DAYS: Final = (0.5, 1.0, 2.0, 4.0, 8.0)

STREAMS: Final = ("arrival", "size", "type", "short", "length", "priority", "slo")


def continuous(
    jobs: int, rate_per_hour: float, throughputs: Throughputs, *,
    multiple: bool, seed: int, priorities: bool = False,
) -> Workload:  # fmt: skip
    """Jobs that arrive as a Poisson process, the first at time 0, `rate_per_hour` of them on average [1/h].

    Gangs have 1 to 8 GPUs if `multiple` (continuous-multiple), else one (continuous-single). Job types are equally
    likely among those that were measured on the job's gang; steps are the duration times the throughput on V100s. With
    `priorities` a fifth of the jobs has weight 5 (Fig 20). `InputError` if the number of jobs, the rate or the seed
    (at least 0) is out of range.
    """
    draws = streams(seed, STREAMS)
    jobs = whole_number(jobs, "the number of jobs", 1)
    size = np.array(_pick(SIZES, draws["size"].random(jobs), SIZE_SHARES)) if multiple else np.ones(jobs, np.int64)
    types = {s: _types(throughputs, s) for s in SIZES}
    missing = [s for s in SIZES if s in size and not types[s]]
    if missing:
        raise InputError(f"{throughputs.name}: no job type was measured on {missing[0]} V100s")
    kinds, which = np.empty(jobs, dtype=object), draws["type"].random(jobs)
    for s in np.unique(size).tolist():
        kinds[size == s] = _pick(types[s], which[size == s])
    short = draws["short"].random(jobs) < SHORT_SHARE
    u = draws["length"].random(jobs)
    power = np.where(short, 1.5 + 1.5 * u, 3.0 + u)
    # one by one: numpy's powers of arrays differ in the last bit between processors
    duration = 60.0 * np.array([10.0**exponent for exponent in power.tolist()])
    weight = np.where((draws["priority"].random(jobs) < HIGH_SHARE) & priorities, HIGH_PRIORITY, 1.0)
    name = f"continuous-{'multiple' if multiple else 'single'}"
    arrival = _poisson(draws["arrival"], jobs, rate_per_hour)
    return _workload(name, kinds.tolist(), size, duration, arrival, throughputs, weight=weight)


def static(jobs: int, throughputs: Throughputs, *, multiple: bool, seed: int) -> Workload:
    """The jobs of `continuous`, all there at time 0."""
    drawn = continuous(jobs, 1.0, throughputs, multiple=multiple, seed=seed)
    return replace(drawn, name=drawn.name.replace("continuous", "static"), arrival_time=np.zeros(jobs))


def cost(rate_per_hour: float, throughputs: Throughputs, *, seed: int, jobs: int = 500) -> Workload:
    """Workload of the cost policies (§7.3): ResNet-50 and A3C jobs of 0.5 to 8 days on one V100, each with a deadline.

    The paper gives neither the batch size of ResNet-50 (here 64) nor the arrivals (here Poisson).
    `InputError` as of `continuous`, or if `throughputs` does not know the two job types.
    """
    draws = streams(seed, STREAMS)
    jobs = whole_number(jobs, "the number of jobs", 1)
    kinds = _pick(COST_TYPES, draws["type"].random(jobs))
    duration = np.array(_pick(COST_DAYS, draws["length"].random(jobs))) * DAY
    slo = np.array(_pick(SLO_FACTORS, draws["slo"].random(jobs))) * duration
    arrival = _poisson(draws["arrival"], jobs, rate_per_hour)
    return _workload("cost", kinds, np.ones(jobs, np.int64), duration, arrival, throughputs, slo=slo)


def hierarchical(throughputs: Throughputs, *, seed: int) -> Workload:
    """Workload of Figs 11 and 21: 18 jobs on one GPU each, one more every 4 timesteps, of entities of weight 1, 2, 3.

    The first six jobs belong to entity 0, the next six to entity 1, the last six to entity 2. Job types are drawn from
    all. Each job takes 1,000 timesteps alone on a V100, so that none ends while the figure looks.
    `InputError` if the seed is out of range.
    """
    jobs = 18
    kinds = _pick(_types(throughputs, 1), streams(seed, STREAMS)["type"].random(jobs))
    arrival = 4.0 * TIMESTEP * np.arange(jobs, dtype=np.float64)
    size = np.ones(jobs, np.int64)
    duration = np.full(jobs, 1000.0 * TIMESTEP)
    entity, weights = np.repeat([0, 1, 2], 6), np.array([1.0, 2.0, 3.0])
    return _workload("hierarchical", kinds, size, duration, arrival, throughputs, entity=entity, entity_weight=weights)


def from_trace(trace: Trace, throughputs: Throughputs, *, seed: int) -> Workload:
    """Make Gavel's jobs of a trace.

    Its durations are taken for durations on V100s, a job type is drawn for each job, and tenants are the entities.

    Excluded: jobs on more or other GPUs than any job type was measured on.
    """
    types = {int(size): _types(throughputs, int(size)) for size in np.unique(trace.demand)}
    is_measured = np.isin(trace.demand, [size for size, some in types.items() if some])
    kept, out = np.flatnonzero(is_measured), np.flatnonzero(~is_measured)
    if len(kept) == 0:
        raise InputError(f"{trace.name}: no job asks for a number of GPUs that the throughputs were measured on")
    draw = streams(seed, STREAMS)["type"].random(len(trace))
    size = trace.demand[kept]
    drawn = {s: iter(_pick(types[s], draw[trace.demand == s])) for s in types if types[s]}
    kinds = [next(drawn[s]) for s in size.tolist()]
    deadline = (trace.deadline - trace.submit_time)[kept]
    aside = {"job_id": trace.job_id[out], "reason": np.full(len(out), "no job type was measured on that many GPUs")}
    return _workload(
        trace.name, kinds, size, trace.duration[kept], trace.submit_time[kept], throughputs,
        job_id=tuple(trace.job_id[kept]), weight=trace.weight[kept], slo=np.where(np.isnan(deadline), np.inf, deadline),
        entity=trace.tenant[kept], entity_weight=trace.tenant_weight, excluded_jobs=pd.DataFrame(aside, dtype=object),
    )  # fmt: skip


def _workload(
    name: str, kinds: Sequence[str], size: IntArray, duration: FloatArray, arrival: FloatArray,
    throughputs: Throughputs, **given: Any,
) -> Workload:  # fmt: skip
    """Turn durations on V100s into steps; equal weights, no deadlines and one entity unless given."""
    v100 = throughputs.type_index("v100")
    pairs = list(zip(kinds, size.tolist(), strict=True))
    rates = {(kind, s): throughputs.alone(kind, s)[v100] for kind, s in set(pairs)}
    rate = np.array([rates[pair] for pair in pairs])
    return Workload.of(name, kinds, size, duration * rate, arrival, **given)


def _poisson(generator: np.random.Generator, jobs: int, rate_per_hour: float) -> FloatArray:
    number(rate_per_hour, "rate_per_hour", above=0)
    gaps = generator.standard_exponential(jobs) * HOUR / rate_per_hour
    gaps[0] = 0.0
    return np.cumsum(gaps)


def _types(throughputs: Throughputs, size: int) -> tuple[str, ...]:
    """Job types that V100s can run on gangs of this size."""
    v100 = throughputs.type_index("v100")
    solo = throughputs.solo[0, :, v100]
    return tuple(kind for k, (kind, s) in enumerate(throughputs.configurations) if s == size and solo[k] > 0)


def _pick(options: Sequence[T], draws: FloatArray, shares: Sequence[float] | None = None) -> list[T]:
    """Choose an option for each draw from [0, 1), equally likely unless shares are given."""
    n = len(options)
    # without the last edge: a rounded sum of shares below 1 must not make one option more
    edges = np.arange(1, n) / n if shares is None else np.cumsum(shares)[:-1]
    return [options[i] for i in np.searchsorted(edges, draws, side="right")]
