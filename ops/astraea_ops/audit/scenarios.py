"""The log and its simulations under other schedulers, with the same measures; waits and GPU-time by month; replays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.metrics import average_jct, has_sharing_loss, sharing_loss
from astraea.core.result import Result
from astraea.core.units import DAY, HOUR, MINUTE
from astraea.core.wording import duration_text
from astraea.traces.trace import Trace
from astraea_ops.audit.recorded import NOTICED

SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128)
"""Lower ends of the classes of gangs [GPU]."""

AS_IT_WAS: Final = "as recorded"
FEW: Final = 30
"""Number of jobs below which a mean says little."""

MONTH: Final = 30 * DAY
"""Length of a month of a log without dates [s]."""


def wait(result: Result) -> pd.Series:
    """Return the time until the first start of each job [s]."""
    return result.jobs["first_start_time"] - result.jobs["submit_time"]


def size_of(demand: pd.Series) -> pd.Series:
    """Return the class of each gang: 1, 2-3, 4-7, ... GPUs."""
    names = [*(f"{a}" if a == b - 1 else f"{a}-{b - 1}" for a, b in pairwise(SIZES)), f"{SIZES[-1]}+"]
    return pd.cut(demand, [*SIZES, np.inf], right=False, labels=names)


def overview_row(name: str, result: Result) -> dict[str, object]:
    """Return times [s], sharing_loss as a part of the jobs, and utilization until the last submission."""
    waits = wait(result)
    return {
        "scheduler": name,
        "jobs": len(result.jobs),
        "average_wait": waits.mean(),
        "median_wait": waits.median(),
        "longest_wait": waits.max(),
        "average_jct": average_jct(result),
        "sharing_loss": sharing_loss(result),
        "utilization": use(result, float(result.jobs["submit_time"].max())),
    }


def gains(was: Result, own: Result, others: Mapping[str, Result]) -> pd.DataFrame:
    """Return how many jobs each scheduler would spare a sharing loss, compared with the cluster's own, replayed.

    A job that is owed nothing under one of the two does not count. Intervals are 95 %, of the mean difference over the
    same jobs; `over_log` is the gain over the recorded log; `leases` is true if jobs were interrupted.
    """
    rows = []
    before = has_sharing_loss(own)
    for name, result in others.items():
        spared = (before - has_sharing_loss(result)).dropna()
        mean, n = float(spared.mean()), len(spared)
        half = 1.96 * float(spared.std(ddof=1)) / n**0.5 if n > 1 else float("nan")
        more = float(wait(result).mean() - wait(own).mean())
        over_log = sharing_loss(was) - sharing_loss(result)
        rows.append((name, mean, mean - half, mean + half, over_log, more, bool((result.jobs["leases"] > 1).any())))
    return pd.DataFrame(rows, columns=["scheduler", "gain", "low", "high", "over_log", "more_waiting", "leases"])


def use(result: Result, until: float) -> float:
    """Return the part of the cluster's GPU-time that was held from second 0 to `until`, in [0, 1]; NaN for no time.

    Without grants, GPU-time within the last hour counts as evenly spread.
    """
    if until <= 0:
        return float("nan")
    if result.grants is None:
        hourly = result.timeline.groupby("time")["attained_service"].sum()
        at = [*hourly.index, result.makespan]
        total = np.interp(until, at, [*hourly, result.jobs["attained_service"].sum()])
        return float(total / (result.gpus * until))
    grants = result.grants
    held = (grants["end"].clip(upper=until) - grants["start"].clip(upper=until)) * grants["demand"]
    return float(held.sum() / (result.gpus * until))


def waits_by(results: Mapping[str, Result], by: str) -> pd.DataFrame:
    """Return the average wait of each class of jobs, by "tenant" or "size", under each scheduler, with 95 % intervals.

    Intervals are bootstrap percentiles over jobs. Jobs that come together wait together, so true ones are wider.
    """
    rows = []
    for name, result in results.items():
        classes = result.jobs["tenant"] if by == "tenant" else size_of(result.jobs["demand"])
        for label, part in wait(result).groupby(classes, observed=True, sort=True):
            mean, low, high = _interval(part.to_numpy(dtype=float))
            rows.append((str(label), name, len(part), mean, low, high))
    return pd.DataFrame(rows, columns=[by, "scheduler", "jobs", "mean", "low", "high"])


def _interval(values: np.ndarray) -> tuple[float, float, float]:
    """Return mean and 95 % bootstrap interval."""
    mean, n = float(values.mean()), len(values)
    if n == 1:
        return mean, float("nan"), float("nan")
    if n > 500:  # the normal approximation is as good, and faster
        half = 1.96 * float(values.std(ddof=1)) / np.sqrt(n)
        return mean, mean - half, mean + half
    drawn = np.random.default_rng(0).integers(0, n, (1000, n))
    low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
    return mean, float(low), float(high)


def periods(end: float) -> tuple[FloatArray, str]:
    """Return bounds [s] and name of the periods of a log that ends at `end` [s]: the longest that fits four times."""
    known = {"week": 7 * DAY, "day": DAY, "hour": HOUR, "minute": MINUTE}
    name = next((name for name, length in known.items() if end >= 4 * length), "minute")
    return np.append(np.arange(0.0, end, known[name]), end), name


def owed(
    result: Result, quota: Mapping[str, float], bounds: FloatArray, waiting: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return the GPU-time that tenants got and were owed, exactly, in each period and in total ([Ye2022] Eqs. 8 to 12).

    Periods 1, 2, ... begin and end at `bounds` [s]; period 0 is the whole time. `got` and `owed` are in GPU-h; `owed`
    is the integral of the demand of the tenant's active jobs, also of those still `waiting`, capped at its quota.
    """
    assert result.grants is not None
    jobs = result.jobs[["tenant", "demand", "submit_time", "end_time"]]
    if waiting is not None and len(waiting):
        jobs = pd.concat([jobs, waiting[["tenant", "demand", "submit_time"]].assign(end_time=bounds[-1])])
    grants = result.grants.assign(tenant=result.grants["job_id"].map(result.jobs.set_index("job_id")["tenant"]))
    of_jobs, of_grants = (table.groupby("tenant").indices for table in (jobs, grants))
    rows = []
    for tenant, gpus in quota.items():
        mine, given = jobs.iloc[of_jobs.get(tenant, [])], grants.iloc[of_grants.get(tenant, [])]
        due = _integral(mine["submit_time"], mine["end_time"], mine["demand"], bounds, most=gpus) / HOUR
        got = _integral(given["start"], given["end"], given["demand"], bounds) / HOUR
        rows += [(k, tenant, got[k] - got[k - 1], due[k] - due[k - 1]) for k in range(1, len(bounds))]
        rows.append((0, tenant, got[-1], due[-1]))
    table = pd.DataFrame(rows, columns=["period", "tenant", "got", "owed"]).sort_values("period", kind="stable")
    table["rho"] = table["got"] / table["owed"].where(table["owed"] > 1e-12)
    return table.reset_index(drop=True)


def _integral(start: pd.Series, end: pd.Series, height: pd.Series, at: FloatArray, most: float = np.inf) -> FloatArray:
    """Return the integral from 0 of min(most, sum of the open heights), at the times `at`."""
    time = np.concatenate([[0.0], start, end])
    change = np.concatenate([[0], height, -height])
    order = np.argsort(time, kind="stable")
    time, level = time[order], np.minimum(np.cumsum(change[order]), most)
    total = np.concatenate([[0.0], np.cumsum(np.diff(time) * level[:-1])])
    found: FloatArray = np.interp(at, time, total)
    return found


def over_time(result: Result, waiting: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return GPUs held, and waited for, as means over a thousand equal steps: columns time [s], held, wanted [GPU]."""
    assert result.grants is not None
    grants, jobs = result.grants, result.jobs
    since, until, demand = jobs["submit_time"], jobs["first_start_time"], jobs["demand"]
    end = float(jobs["end_time"].max())
    at = np.linspace(0.0, end, 1001)
    held = np.diff(_integral(grants["start"], grants["end"], grants["demand"], at)) / np.diff(at)
    wanted = np.diff(_integral(since, until, demand, at)) / np.diff(at)
    if waiting is not None and len(waiting):
        ends = pd.Series(np.full(len(waiting), end), dtype=float)
        wanted += np.diff(_integral(waiting["submit_time"], ends, waiting["demand"], at)) / np.diff(at)
    return pd.DataFrame({"time": at[:-1], "held": held, "wanted": wanted})


def by_month(
    trace: Trace, waits: pd.DataFrame, was: Result, quota: dict[str, float], waiting: pd.DataFrame, end: float
) -> pd.DataFrame:
    """Return waits, GPU-time owed and GPU-time attained of each tenant in each calendar month until `end` [s].

    A job counts in the month in which it was submitted: in `jobs` if it started, else in `waiting`, with its wait so
    far. Waits are in s, GPU-time in GPU-h. `waits` are those of `recorded.waits`; those of a tenant that submitted
    nothing are NaN.
    """
    bounds, names = months(trace.origin, end)
    table = owed(was, quota, bounds, waiting)
    table = table[table["period"] > 0].rename(columns={"got": "attained"}).drop(columns="rho")
    at = np.minimum(np.searchsorted(bounds, waits["since"].to_numpy(), side="right"), len(names))
    tenant = np.array(trace.tenants, dtype=object)[waits["tenant"].to_numpy()]
    lasted = (waits["until"] - waits["since"]).to_numpy()
    still = waits["still"].to_numpy(dtype=bool)
    rows = pd.DataFrame({"period": at, "tenant": tenant, "wait": lasted, "jobs": ~still, "waiting": still})
    figures = rows.groupby(["period", "tenant"]).agg(
        jobs=("jobs", "sum"), waiting=("waiting", "sum"), mean_wait=("wait", "mean"), median_wait=("wait", "median"),
        longest_wait=("wait", "max"),
    )  # fmt: skip
    table = table.join(figures, on=["period", "tenant"])
    table[["jobs", "waiting"]] = table[["jobs", "waiting"]].fillna(0).astype(int)
    table["month"] = np.array(names, dtype=object)[table["period"].to_numpy() - 1]
    columns = ["jobs", "waiting", "mean_wait", "median_wait", "longest_wait", "owed", "attained"]
    return table[["month", "tenant", *columns]].reset_index(drop=True)


def months(origin: pd.Timestamp | None, end: float) -> tuple[FloatArray, list[str]]:
    """Return bounds [s] and names of the calendar months of a log that ends at `end` [s]; 30 days if undated."""
    if origin is None:
        bounds = np.append(np.arange(0.0, max(end, 1.0), MONTH), max(end, 1.0))
        return bounds, [str(k) for k in range(1, len(bounds))]
    last = origin + pd.Timedelta(seconds=max(end, 1.0))
    firsts = pd.date_range(origin.normalize().replace(day=1), last, freq="MS", inclusive="left")
    starts = [max((first - origin).total_seconds(), 0.0) for first in firsts]
    return np.array([*starts, max(end, 1.0)]), [f"{first:%Y-%m}" for first in firsts]


class Calibration(NamedTuple):
    """Comparison of recorded and replayed starts."""

    waited: int  #: jobs that waited in the log
    in_order: float  #: part of their pairs that start in the recorded order, in [0, 1]; NaN for fewer than two jobs
    recorded: float  #: average wait of all jobs [s]
    replayed: float  #: the same in the replay [s]
    replays: int = 1  #: number of replays: the wait is their mean, the order that of their median starts

    @property
    def error(self) -> float:
        """Replayed over recorded average wait, less 1; NaN if no job waited."""
        return self.replayed / self.recorded - 1 if self.recorded > 0 else float("nan")

    @property
    def sentence(self) -> str:
        """The comparison as a sentence, which accompanies every answer."""
        if not self.waited:
            return f"No job waited in the log for more than {NOTICED:g} s, so its replay cannot be checked."
        recorded, replayed = duration_text(self.recorded), duration_text(self.replayed)
        much = f"{abs(100 * self.error):.0f} % {'more' if self.error > 0 else 'less'} waiting than"
        if self.error >= 1:
            much = f"{1 + self.error:.1f} times as much waiting as"
        waiting = f"{much} the log shows ({replayed} instead of {recorded} on average)"
        if abs(self.error) < 0.005:
            waiting = f"as much waiting as the log shows ({recorded} on average)"
        order = ""
        if self.waited > 1 and not math.isnan(self.in_order):
            part = f"{100 * self.in_order:.0f} % of the pairs of the {self.waited:,} jobs that waited"
            order = f", and {part} start in the recorded order"
        many = f"{self.replays} replays with random fractions of seconds: mean wait, order of median starts"
        mean = f" ({many})" if self.replays > 1 else ""
        return f"Replaying the cluster's own scheduler gives {waiting}{order}{mean}."


def calibration(log: Result, *replays: Result) -> Calibration:
    """Compare a log with the mean waits and median starts of some replays, for the jobs that all of them have."""
    jobs = log.jobs[["job_id", "submit_time", "first_start_time"]]
    for k, replay in enumerate(replays):
        jobs = jobs.merge(wait(replay).rename(k).to_frame().assign(job_id=replay.jobs["job_id"]), on="job_id")
    submit, start = (jobs[name].to_numpy(dtype=float) for name in ("submit_time", "first_start_time"))
    replayed = jobs[list(range(len(replays)))].to_numpy(dtype=float)
    waited = start - submit > NOTICED
    order = in_order(start[waited], (submit + np.median(replayed, axis=1))[waited])
    return Calibration(int(waited.sum()), order, float((start - submit).mean()), float(replayed.mean()), len(replays))


def in_order(one: FloatArray, other: FloatArray) -> float:
    """Return the part of the pairs with different times in `one` that have the same order in `other`, in [0, 1].

    Pairs with equal times in `other` count half. Takes n (log n)^2 steps.
    """
    apart = len(one) * (len(one) - 1) // 2 - _ties(one)
    if apart == 0:
        return float("nan")
    same = _ties(other) - _ties(np.stack([one, other], axis=1))
    # sorted by `one`, and by `other` within equal times, so that no pair of equal times is an inversion
    against = _inversions(np.unique(other, return_inverse=True)[1][np.lexsort((other, one))])
    return (apart - against - 0.5 * same) / apart


def _ties(times: FloatArray) -> int:
    """Return the number of pairs of equal rows."""
    counts = np.unique(times, return_counts=True, axis=0)[1]
    return int((counts * (counts - 1) // 2).sum())


def _inversions(ranks: IntArray) -> int:
    """Return the number of pairs of which the later is smaller, found by the highest bit in which they differ."""
    count = 0
    for bit in reversed(range(int(ranks.max(initial=0)).bit_length())):
        ranks = ranks[np.argsort(ranks >> (bit + 1), kind="stable")]  # equal in all higher bits, in their order
        first = np.searchsorted(ranks >> (bit + 1), ranks >> (bit + 1))
        ones = (ranks >> bit) & 1
        before = np.cumsum(ones) - ones
        count += int((before - before[first])[ones == 0].sum())
    return count
