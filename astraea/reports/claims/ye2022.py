"""Each statement of [Ye2022] that is checked: its rule, and the table and column that it is measured on."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from astraea.reports.claims.rules import (
    DIRECTION,
    HOLDS,
    NOT_YET,
    OTHERWISE,
    SEVEN,
    Judged,
    Missing,
    Rule,
    Tables,
    by_lease,
    lease_trend,
    lowest,
    most,
    number,
    over,
    scheduler_share,
    sizes,
    trend,
    value,
    weakest,
    windows,
)  # fmt: skip

DAY: Final = 86_400


def _running(limit: int) -> Rule:
    """Table 1: jobs that run less than `limit` [s]."""

    def measure(tables: Tables, trace: str) -> float:
        frame = tables("table1", trace, "limit", "share")
        return 100 * _mean(frame.loc[frame["limit"] == limit, "share"])

    return value("table1", measure, 2.0)


def _jobs(table: str, points: float, *, state: str = "", demand: Sequence[str] = ()) -> Rule:
    """Figs 1 and 2: share of the jobs, or of the GPU time, of a state or of some demands."""

    def measure(tables: Tables, trace: str) -> float:
        frame = tables(table, trace, "demand", "state", "share")
        chosen = (frame["state"] == state) if state else frame["demand"].isin(demand)
        repeated = frame["seed"].nunique() if "seed" in frame else 1
        return 100 * float(frame.loc[chosen, "share"].sum()) / repeated

    return value(table, measure, points)


def _single_gpu(limit: int, longer: bool) -> Rule:
    """Fig 3: 1-GPU jobs that run less, or longer, than `limit` [s]."""

    def measure(tables: Tables, trace: str) -> float:
        share = _at(tables("fig03", trace, "demand", "running_time", "share"), "1", limit)
        return 100 * (1 - share if longer else share)

    return value("fig03", measure, 2.0)


def _at(frame: pd.DataFrame, demand: str, x: float) -> float:
    """Distribution function of a class at x."""
    part = frame[(frame["demand"] == demand) & (frame["running_time"] <= x)]
    if not (frame["demand"] == demand).any():
        raise Missing(f"there is no job of demand {demand}")
    return float(part["share"].max()) if len(part) else 0.0


def _larger_run_longer(tables: Tables, trace: str, id: str) -> Judged:
    """Fig 3: no distribution function lies above that of a smaller demand, by more than 2 points, anywhere."""
    frame = tables("fig03", trace, "demand", "running_time", "share")
    classes = sorted(frame["demand"].unique(), key=lambda c: (c.startswith(">"), float(c.strip("><=").split("-")[0])))
    grid = np.unique(frame["running_time"])
    curves = [np.array([_at(frame, c, x) for x in grid]) for c in classes]
    worst = max((float((b - a).max()) for a, b in itertools.pairwise(curves)), default=np.nan)
    ends = float((curves[-1] - curves[0]).mean())
    shown = f"a larger class lies above a smaller one by at most {100 * max(worst, 0):.3g} points"
    return shown, HOLDS if worst <= 0.02 else DIRECTION if ends < 0 else OTHERWISE


def _roles_swap(tables: Tables, trace: str, id: str) -> Judged:
    """Fig 4: one below 50 %, another above 90 %; on a later day the roles are swapped."""
    wide = tables("fig04", trace, "tenant", "day", "utilization").pivot_table(
        index="day", columns="tenant", values="utilization"
    )
    found = OTHERWISE, "no day with one virtual cluster below 50 % and another above 90 %"
    for low, high in itertools.permutations(wide.columns, 2):
        for day in wide.index[(wide[low] < 0.5) & (wide[high] > 0.9)]:
            later = wide.loc[wide.index > day]
            swapped = later.index[(later[low] > 0.9) & (later[high] < 0.5)]
            shown = f"day {day:g}: {low} {100 * wide[low][day]:.0f} %, {high} {100 * wide[high][day]:.0f} %"
            if len(swapped):
                then = swapped[0]
                return (
                    f"{shown}; day {then:g}: {100 * later[low][then]:.0f} %, {100 * later[high][then]:.0f} %",
                    HOLDS,
                )
            if (later[low] > later[high]).any():
                found = DIRECTION, f"{shown}; on a later day {low} is the higher one"
    return found[1], found[0]


def _fifo(tables: Tables, trace: str, column: str) -> pd.Series[float]:
    """Fig 5: mean over seeds of each class of demand under FIFO."""
    return tables("table05", trace, "demand", column).groupby("demand")[column].mean()


def _large_wait_longer(tables: Tables, trace: str, id: str) -> Judged:
    """Fig 5a: jobs of 4 GPUs and more wait longer on average, and more often over half an hour."""
    late, wait = (_fifo(tables, trace, c) for c in ("pending_over_30min", "average_pending_time"))
    right = [bool(x[">=4"] > x["<4"]) for x in (late, wait)]
    shown = f"on average {wait['>=4'] / 3600:.2f} h against {wait['<4'] / 3600:.2f} h"
    shown += f", over 30 min {100 * late['>=4']:.3g} % against {100 * late['<4']:.3g} %"
    return shown, HOLDS if all(right) else DIRECTION if any(right) else OTHERWISE


def _some_slow(tables: Tables, trace: str, id: str) -> Judged:
    """Fig 5b."""
    share = _fifo(tables, trace, "slowdown_over_5")
    worst = float(share.max())
    return f"{100 * worst:.3g} % of the jobs of demand {share.idxmax()}", HOLDS if worst > 0 else OTHERWISE


def _lowest_lease(tables: Tables, trace: str, id: str) -> Judged:
    """Fig 9: average JCT falls, then rises."""
    jct = by_lease(tables, trace, "average_jct")
    term, paper = float(jct.index[int(jct.argmin())]), tables.paper[id]
    inside = jct.index[0] < term < jct.index[-1]
    verdict = HOLDS if inside and paper / 2 <= term <= 2 * paper else DIRECTION if inside else OTHERWISE
    ends = f"{jct.iloc[0] / 3600:.2f} h at {jct.index[0]:g} s and {jct.iloc[-1] / 3600:.2f} h at {jct.index[-1]:g} s"
    return f"lowest at {term:g} s with {jct.min() / 3600:.2f} h; {ends}", verdict


def _900_is_close(tables: Tables, trace: str, id: str) -> Judged:
    """§6.2: 900 s against 1200 s."""
    jct = by_lease(tables, trace, "average_jct")
    if not {900.0, 1200.0} <= set(jct.index):
        raise Missing("900 s and 1200 s are not among the lease terms")
    ratio, bound = float(jct[900.0] / jct[1200.0]), tables.paper[id]
    return number(ratio, ""), HOLDS if ratio <= bound else DIRECTION if ratio <= 2 * bound - 1 else OTHERWISE


def _overhead(tables: Tables, trace: str) -> float:
    """§6.4: overhead at 900 s."""
    share = by_lease(tables, trace, "overhead_share")
    if 900.0 not in share.index:
        raise Missing("900 s is not among the lease terms")
    return 100 * float(share[900.0])


def _larger_in_philly(tables: Tables, trace: str, id: str) -> Judged:
    """Fig 10: sharing-loss jobs of the others over ASTRAEA's, geometric mean, in Philly against Venus."""
    loss = {t: tables.by_scheduler("table10", t, "sharing_loss") for t in ("venus", "philly")}
    others = [n for n in SEVEN[1:] if all(n in x for x in loss.values())]
    if not others or not all("astraea" in x for x in loss.values()):
        raise Missing("there is nothing to compare with")
    ratio = {t: float(np.exp(np.log(x[others] / x["astraea"]).mean())) for t, x in loss.items()}
    verdict = HOLDS if ratio["philly"] > ratio["venus"] else OTHERWISE
    if verdict == HOLDS and len(others) < len(SEVEN) - 1:
        verdict = NOT_YET
    shown = f"{ratio['philly']:.3g} x in Philly, {ratio['venus']:.3g} x in Venus ({len(others) + 1} of 7 there)"
    return shown, verdict


def _mean(values: pd.Series[float]) -> float:
    if values.empty:
        raise Missing("a row that is needed is not there")
    return float(values.mean())


def _pending_single(tables: Tables, trace: str) -> float:
    return 100 * float(_fifo(tables, trace, "pending_over_30min")["1"])


def _beats_tiresias(wide: pd.DataFrame) -> str:
    return most((wide["astraea"] < wide["tiresias-l"]).tolist())


def _both_fall(wide: pd.DataFrame) -> str:
    return weakest([trend(wide[n].tolist(), rising=False) for n in ("astraea", "tiresias-l")])


_LIMITS: Final = {"10min": 600, "1h": 3600, "6h": 21_600, "1d": DAY, "6d": 6 * DAY}

RULES: Final[dict[str, Rule]] = {
    **{f"ye.t1.{t}.{name}": _running(s) for t in ("philly", "venus") for name, s in _LIMITS.items()},
    **{f"ye.s31.{state}": _jobs("fig01", 2.0, state=state) for state in ("completed", "cancelled", "failed")},
    "ye.f1.g1": _jobs("fig01", 2.0, demand=["1"]),
    "ye.f1.g8": _jobs("fig01", 2.0, demand=["8"]),
    "ye.f1.gt8": _jobs("fig01", 2.0, demand=[">8"]),
    "ye.f2.g1": _jobs("fig02", 3.0, demand=["1"]),
    "ye.f2.ge8": _jobs("fig02", 3.0, demand=["8", ">8"]),
    "ye.f3.g1.1h": _single_gpu(3600, longer=False),
    "ye.f3.g1.1d": _single_gpu(DAY, longer=True),
    "ye.f3.larger": Rule("fig03", _larger_run_longer),
    "ye.f4.a": Rule("fig04", _roles_swap),
    "ye.f5.g1.30m": value("table05", _pending_single),
    "ye.f5.g4": Rule("table05", _large_wait_longer),
    "ye.f5.slow": Rule("table05", _some_slow),
    "ye.f6.b.job1": windows("finish-time-fairness", ["Job1"], 20),
    "ye.f6.b.job23": windows("finish-time-fairness", ["Job2", "Job3"], 20),
    "ye.f6.c": windows("astraea", ["Job1", "Job2", "Job3"], 30),
    "ye.f9.jct": Rule("fig09", _lowest_lease),
    "ye.f9.overhead": lease_trend("overhead_share", rising=False),
    "ye.f9.fair": lease_trend("sharing_loss", rising=True),
    "ye.f9.900": Rule("fig09", _900_is_close),
    "ye.s64.overhead": value("fig09", _overhead),
    **{
        f"ye.f10.{n}": scheduler_share("table10", "sharing_loss", n, "ye.f10") for n in ("astraea", "themis", "yarn-cs")
    },
    "ye.f10.themis.ratio": over("table10", "sharing_loss", "themis"),
    "ye.f10.yarn.ratio": over("table10", "sharing_loss", "yarn-cs"),
    "ye.f10.best": lowest("table10", "sharing_loss"),
    "ye.f10.philly": Rule("table10", _larger_in_philly, pair=True),
    **{
        f"ye.f11.{n.replace('-f', '_f')}": scheduler_share("table11", "tenant_sharing_loss", n, "ye.f11")
        for n in ("astraea", "allox", "gandiva-fair", "tiresias-l", "yarn-cs")
    },
    "ye.f11.max": over("table11", "tenant_sharing_loss", "largest"),
    "ye.f11.min": over("table11", "tenant_sharing_loss", "allox"),
    "ye.f12": lowest("table12", "average_slowdown"),
    "ye.f13": lowest("fig13", "average_jct"),
    "ye.f14.jct": sizes(["average_jct"], _beats_tiresias),
    "ye.f14.loss": sizes(["sharing_loss"], _beats_tiresias),
    "ye.f14.size": sizes(["average_jct", "sharing_loss"], _both_fall),
}  # fmt: skip
"""Statement -> how it is checked; a statement that is not here is "not yet"."""
