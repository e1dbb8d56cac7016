"""Statistics of a trace: the numbers of [Ye2022] §3, as pure functions of a `Trace`."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.core.units import DAY, HOUR
from astraea.traces.columns import STATES
from astraea.traces.trace import Trace

#: limits of [Ye2022] Table 1 [s]
RUNNING_TIMES: Final = {"10 min": 600.0, "1 h": HOUR, "6 h": 6 * HOUR, "1 d": DAY, "6 d": 6 * DAY}

#: classes of demand, first and last GPU count
DEMANDS: Final[dict[str, tuple[float, float]]] = {
    "1": (1, 1), "2": (2, 2), "3": (3, 3), "4": (4, 4), "5-7": (5, 7), "8": (8, 8), ">8": (9, np.inf),
}  # fmt: skip


def running_time_table(trace: Trace) -> pd.Series[float]:
    """Share of jobs that run less than each limit of [Ye2022] Table 1 [%]."""
    return pd.Series({label: _percent(trace.duration < limit) for label, limit in RUNNING_TIMES.items()})


def user_shares(trace: Trace) -> pd.Series[float]:
    """Share of GPU service time of the top 1, 5 and 20 % of users (at least one user each) [%]."""
    by_user = pd.Series(trace.gpu_time).groupby(trace.user).sum()
    sums = by_user.sort_values(ascending=False, kind="stable").to_numpy(dtype=np.float64)
    heads = {p: sums[: max(1, round(len(sums) * p / 100))] for p in (1, 5, 20)}
    return pd.Series({f"{p} %": 100.0 * float(head.sum() / sums.sum()) for p, head in heads.items()})


def burstiness(counts: FloatArray) -> pd.Series[float]:
    """Variance over mean of hourly counts (Fano factor; a Poisson process has 1), and their autocorrelation.

    Named `fano`, `lag_1h`, `lag_24h`; NaN if the counts are too few or constant.
    """
    mean = counts.mean() if len(counts) else 0.0
    fano = float(counts.var() / mean) if mean > 0 else np.nan
    return pd.Series({"fano": fano, **{f"lag_{hours}h": pd.Series(counts).autocorr(hours) for hours in (1, 24)}})


def offered_load(trace: Trace) -> float:
    """Number of GPUs that the jobs would keep busy: GPU service time over submission span (NaN below 1 s) [GPU]."""
    return float(trace.gpu_time.sum() / trace.span) if trace.span >= 1 else float("nan")


def suitable_nodes(trace: Trace, gpus_per_node: int = 8) -> int:
    """Return the nodes for an offered load of 1, or more if 99 % of the gangs would not fit their tenants' quotas."""
    whole = trace.demand * trace.tenant_weight.sum() / trace.tenant_weight[trace.tenant]
    largest = float(np.quantile(whole, 0.99, method="higher"))
    gpus = float(np.fmax(offered_load(trace), largest))  # the load is NaN if all jobs come at once
    return max(1, math.ceil(gpus / gpus_per_node - 1e-9))


def describe(trace: Trace) -> pd.DataFrame:
    """Return the numbers of [Ye2022] §3: columns `statistic`, `value`, `unit`; NaN if the trace lacks the data."""
    rows: list[tuple[str, float, str]] = [
        ("jobs", len(trace), "1"),
        ("tenants", len(trace.tenants), "1"),
        ("users", len(set(trace.user)), "1"),
        ("days", trace.span / DAY, "d"),
        ("GPUs demanded, all jobs", float(trace.demand.sum()), "GPU"),
        ("largest gang", float(trace.demand.max()), "GPU"),
        ("offered load", offered_load(trace), "GPU"),
        ("duration, mean", float(trace.duration.mean()), "s"),
        ("duration, median", float(np.median(trace.duration)), "s"),
        ("demand, mean", float(trace.demand.mean()), "GPU"),
        ("demand, median", float(np.median(trace.demand)), "GPU"),
    ]
    rows += [(f"jobs running < {k}", v, "%") for k, v in running_time_table(trace).items()]
    rows += [(f"jobs {state}", _percent(trace.state == state), "%") for state in STATES]  # [Ye2022] §3.1
    classes = {c: (trace.demand >= a) & (trace.demand <= b) for c, (a, b) in DEMANDS.items()}
    rows += [(f"jobs of demand {c}", _percent(which), "%") for c, which in classes.items()]  # Fig 1
    classes[">=8"] = trace.demand >= 8
    gpu_time = {c: float(trace.gpu_time[which].sum() / trace.gpu_time.sum()) for c, which in classes.items()}
    rows += [(f"GPU-time of demand {c}", 100.0 * share, "%") for c, share in gpu_time.items()]  # Fig 2
    single = trace.duration[trace.demand == 1]
    wait = pd.Series(trace.queueing_delay).dropna()
    rows += [
        ("1-GPU jobs running < 1 h", _percent(single < HOUR), "%"),
        ("1-GPU jobs running > 1 d", _percent(single > DAY), "%"),
        ("recorded waiting, mean", wait.mean(), "s"),
        ("recorded waiting, median", wait.median(), "s"),
        ("jobs that waited > 30 min", _percent(wait > 1800), "%"),
    ]
    rows += [(f"GPU-time of the top {k} of users", v, "%") for k, v in user_shares(trace).items()]
    hours = int(trace.span // HOUR)  # full ones
    hour = (trace.submit_time // HOUR).astype(np.int64)
    burst = burstiness(np.bincount(hour[hour < hours], minlength=hours).astype(np.float64))
    rows += [
        ("hourly arrivals, Fano factor", burst["fano"], "1"),
        ("hourly arrivals, autocorrelation at 1 h", burst["lag_1h"], "1"),
        ("hourly arrivals, autocorrelation at 24 h", burst["lag_24h"], "1"),
        ("jobs of history", float(len(trace.history)) if trace.history is not None else 0.0, "1"),
        ("excluded", float(len(trace.excluded_jobs)), "1"),
    ]
    rows += [(f"excluded: {reason}", float(n), "1") for reason, n in exclusion_reasons(trace).items()]
    return pd.DataFrame(rows, columns=["statistic", "value", "unit"])


def exclusion_reasons(trace: Trace) -> pd.Series[int]:
    """Count the excluded rows of each reason, most frequent first."""
    return trace.excluded_jobs["reason"].value_counts().sort_index().sort_values(ascending=False, kind="stable")


def describe_text(trace: Trace) -> str:
    """Format the output of `astraea describe`: what was read, what was excluded and why, the table."""
    lines = [f"{trace.name}: {len(trace)} jobs of {len(trace.tenants)} tenants in {trace.span / DAY:.1f} days"]
    if trace.origin is not None:
        lines[0] += f" from {trace.origin}"
    aside = len(trace.excluded_jobs)
    lines.append(f"excluded: {f'{aside} rows' if aside else 'nothing'}")
    lines += [f"  {n:>8}  {reason}" for reason, n in exclusion_reasons(trace).items()]
    share = 100.0 * trace.tenant_weight / trace.tenant_weight.sum()
    jobs = np.bincount(trace.tenant, minlength=len(trace.tenants))
    lines += ["", f"{'tenant':<24}{'share':>8}{'jobs':>10}"]
    lines += [f"{t:<24}{s:>7.1f}%{n:>10}" for t, s, n in zip(trace.tenants, share, jobs, strict=True)]
    lines += ["", f"{'statistic':<48}{'value':>14}  unit"]
    table = describe(trace)
    for statistic, value, unit in table[~table["statistic"].str.startswith("excluded")].itertuples(index=False):
        lines.append(f"{statistic:<48}{_shown(value):>14}  {'' if unit == '1' else unit}".rstrip())
    return "\n".join(lines) + "\n"


def _shown(value: float) -> str:
    if np.isnan(value):
        return "-"
    return f"{value:.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.4g}"


def _percent(which: Any) -> float:
    """Share of true entries [%]; NaN for an empty array."""
    return 100.0 * float(np.mean(which)) if len(which) else float("nan")
