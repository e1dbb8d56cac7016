"""How each statement of [Ye2022] is measured and judged; `astraea.reports.claims.evaluate` says the rules in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from astraea.core.errors import InputError

HOLDS: Final = "holds"
DIRECTION: Final = "holds in direction"
OTHERWISE: Final = "does not hold"
NOT_YET: Final = "not yet"

SEVEN: Final = ("astraea", "hived", "allox", "tiresias-l", "themis", "gandiva-fair", "yarn-cs")
"""Schedulers of the evaluation, [Ye2022] §6.1.5."""

Judged = tuple[str, str]
"""What was measured, as text, and the verdict."""


class Missing(Exception):
    """A table or a scheduler is not there."""


class Tables:
    """The tables of a folder, and the papers' values by statement."""

    def __init__(self, folder: Path, paper: Mapping[str, float]) -> None:
        self.folder = folder
        self.paper = paper
        self._read = cache(self._load)

    def traces(self, table: str) -> list[str]:
        """Names of the traces that have this table, those of the paper first."""
        names = [p.stem.removeprefix(f"{table}_") for p in self.folder.glob(f"{table}_*.csv")]
        return sorted(names, key=lambda t: (t not in ("venus", "philly"), t != "venus", t))

    def __call__(self, table: str, trace: str, *columns: str) -> pd.DataFrame:
        """One table, with these columns checked; raises `Missing` or `InputError`."""
        frame = self._read(self.folder / f"{table}_{trace}.csv")
        lost = [c for c in columns if c not in frame]
        if lost:
            raise InputError(
                f"{table}_{trace}.csv: column {lost[0]!r} is missing; found {', '.join(map(str, frame.columns))}"
            )
        return frame.dropna(subset=list(columns), how="any")

    def _load(self, path: Path) -> pd.DataFrame:
        if not path.is_file():
            raise Missing(f"{path.name} is not there")
        return pd.read_csv(path, dtype={"demand": str, "job_id": str, "tenant": str, "scheduler": str})

    def by_scheduler(self, table: str, trace: str, column: str) -> pd.Series[float]:
        """Mean over seeds of each scheduler."""
        return self(table, trace, "scheduler", column).groupby("scheduler")[column].mean()


SIX_GPUS: Final = 6
"""GPUs of the example of Fig 6."""


@dataclass(frozen=True)
class Rule:
    """One statement: the table whose traces it is checked on, and how it is judged.

    `check` takes the tables, a trace and the statement's identifier, gives what was measured and the verdict, and
    raises `Missing`. With `pair` it compares traces and is checked once.
    """

    table: str
    check: Callable[[Tables, str, str], Judged]
    pair: bool = False


def value(table: str, measure: Callable[[Tables, str], float], points: float | None = None, unit: str = "%") -> Rule:
    """``=``: within `points` of the paper's value, or 10 % of it if none are given."""

    def check(tables: Tables, trace: str, id: str) -> Judged:
        paper, got = tables.paper[id], measure(tables, trace)
        slack = points if points is not None else 0.1 * paper
        near = abs(got - paper) <= slack + 1e-9
        alike = _odds_alike(got, paper) if unit == "%" else half_as_much(got, paper)
        return number(got, unit), HOLDS if near else DIRECTION if alike else OTHERWISE

    return Rule(table, check)


def _odds_alike(a: float, b: float) -> bool:
    """Whether the odds of two shares [%] differ by less than a factor of 2."""
    return a * (100 - b) < 2 * b * (100 - a) and b * (100 - a) < 2 * a * (100 - b)


def half_as_much(ratio: float, paper: float) -> bool:
    """Whether a ratio is on the same side of 1 as the paper's and at least half as far from it, in logarithms."""
    return ratio > 0 and float(np.log(ratio) / np.log(paper)) >= 0.5


def scheduler_share(table: str, column: str, scheduler: str, family: str) -> Rule:
    """``=`` for a share that the paper gives for several schedulers, the statements `family.<scheduler>`."""

    def check(tables: Tables, trace: str, id: str) -> Judged:
        got = 100 * tables.by_scheduler(table, trace, column)
        if scheduler not in got:
            raise Missing(f"{scheduler} is not among the schedulers")
        paper = _family(tables, family)
        own = paper.pop(scheduler)
        if abs(got[scheduler] - own) <= 0.1 * own:
            verdict = HOLDS
        else:
            there = [n for n in paper if n in got]
            same = [(got[scheduler] < got[n]) == (own < paper[n]) for n in there]
            verdict = DIRECTION if there and all(same) else OTHERWISE
        return number(got[scheduler], "%"), verdict

    return Rule(table, check)


def _family(tables: Tables, family: str) -> dict[str, float]:
    """Schedulers for which the paper gives a value, and the value."""
    ids = {n: f"{family}.{n.replace('-f', '_f')}" for n in SEVEN}
    return {n: tables.paper[id] for n, id in ids.items() if id in tables.paper}


def over(table: str, column: str, baseline: str) -> Rule:
    """``=`` for a baseline's value over ASTRAEA's; `baseline` may be "largest": of all seven that are there."""

    def measure(tables: Tables, trace: str) -> float:
        got = tables.by_scheduler(table, trace, column)
        for name in ("astraea", *(() if baseline == "largest" else (baseline,))):
            if name not in got:
                raise Missing(f"{name} is not among the schedulers")
        others = [n for n in SEVEN if n in got and n != "astraea"] if baseline == "largest" else [baseline]
        return float(got[others].max() / got["astraea"])

    return value(table, measure, unit="x")


def lowest(table: str, column: str) -> Rule:
    """``ordering``: ASTRAEA has the lowest value of all seven schedulers."""

    def check(tables: Tables, trace: str, id: str) -> Judged:
        got = tables.by_scheduler(table, trace, column)
        if "astraea" not in got:
            raise Missing("astraea is not among the schedulers")
        others = [n for n in SEVEN[1:] if n in got]
        verdict = most([bool(got["astraea"] < got[n]) for n in others])
        if verdict == HOLDS and len(others) < len(SEVEN) - 1:
            verdict = NOT_YET
        shown = ", ".join(f"{n} {_shown(got[n], column)}" for n in ("astraea", *others))
        return f"{shown} ({len(others) + 1} of 7 there)", verdict

    return Rule(table, check)


def no_counter_example(table: str, name: str, what: str) -> Rule:
    """``property``: no random instance has it violated; the trace of such a table is ``random``."""

    def check(tables: Tables, _: str, id: str) -> Judged:
        frame = tables(table, "random", "property", "instances", "violations")
        found = frame[frame["property"] == name]
        if found.empty:
            raise Missing(f"{name!r} is not among the properties of {table}_random.csv")
        tried, failed = (int(found[column].iloc[0]) for column in ("instances", "violations"))
        if tried < 1:
            raise Missing("no instance was tried")
        return f"violated in {failed:,} of {tried:,} random {what}", HOLDS if failed == 0 else OTHERWISE

    return Rule(table, check, pair=True)


def most(comparisons: Sequence[bool]) -> str:
    """Verdict of an ordering that is made of several comparisons."""
    if not comparisons:
        raise Missing("there is nothing to compare with")
    right = sum(comparisons)
    return HOLDS if right == len(comparisons) else DIRECTION if right > len(comparisons) / 2 else OTHERWISE


def trend(values: Sequence[float], rising: bool) -> str:
    """Verdict of ``monotone`` for values in the order of what grows."""
    y = np.asarray(values, dtype=float) * (1 if rising else -1)
    if len(y) < 2:
        raise Missing("there is one point only")
    if (np.diff(y) >= -0.01 * abs(y[0])).all() and y[-1] > y[0]:
        return HOLDS
    ranks = pd.Series(y).rank().to_numpy()
    right = y[-1] > y[0] and float(np.corrcoef(np.arange(len(y)), ranks)[0, 1]) >= 0.5
    return DIRECTION if right else OTHERWISE


def weakest(verdicts: Sequence[str]) -> str:
    """Verdict of a statement that is made of several."""
    return max(verdicts, key=(HOLDS, DIRECTION, OTHERWISE).index)


def by_lease(tables: Tables, trace: str, column: str) -> pd.Series[float]:
    """Mean over seeds for each lease term that every seed has, in ascending order."""
    return tables("fig09", trace, "lease_term", column).groupby("lease_term")[column].mean().sort_index()


def lease_trend(column: str, rising: bool) -> Rule:
    """``monotone`` over the lease term."""

    def check(tables: Tables, trace: str, id: str) -> Judged:
        got = by_lease(tables, trace, column)
        first, last = (f"{_shown(got.iloc[k], column)} at {got.index[k]:g} s" for k in (0, -1))
        return f"{first}, {last}", trend(got.tolist(), rising)

    return Rule("fig09", check)


def sizes(columns: Sequence[str], judge: Callable[[pd.DataFrame], str]) -> Rule:
    """A statement about ASTRAEA and Tiresias-L at every cluster size; `judge` sees sizes x schedulers."""

    def check(tables: Tables, trace: str, id: str) -> Judged:
        frame = tables("fig14", trace, "scheduler", "nodes_percent", *columns)
        verdicts, shown = [], []
        for column in columns:
            wide = frame.pivot_table(index="nodes_percent", columns="scheduler", values=column).sort_index()
            for name in ("astraea", "tiresias-l"):
                if name not in wide:
                    raise Missing(f"{name} is not among the schedulers")
                ends = [f"{_shown(wide[name].loc[p], column)} at {p:g} %" for p in wide.index[[0, -1]]]
                shown.append(f"{name} {ends[0]}, {ends[1]}")
            verdicts.append(judge(wide))
        return "; ".join(shown), weakest(verdicts)

    return Rule("fig14", check)


def windows(mechanism: str, jobs: Sequence[str], minutes: float) -> Rule:
    """``=`` for the share of GPU time that each job gets in every window of the six-GPU example (Fig 6)."""

    def check(tables: Tables, trace: str, id: str) -> Judged:
        grants = tables("fig06", trace, "mechanism", "job_id", "demand", "start", "end")
        grants = grants[grants["mechanism"] == mechanism]
        if grants.empty:
            raise Missing(f"{mechanism} is not among the mechanisms")
        last = float(grants.groupby("job_id")["end"].max().min())
        shares = []  # of each window, those of the jobs
        for start in np.arange(0.0, last - 60 * minutes + 1e-6, 60.0):
            held = (grants["end"].clip(upper=start + 60 * minutes) - grants["start"].clip(lower=start)).clip(lower=0)
            service = (held * grants["demand"].astype(float)).groupby(grants["job_id"]).sum()
            shares.append([100 * service.get(j, 0.0) / (SIX_GPUS * 60 * minutes) for j in jobs])
        if not shares:
            raise Missing("the example is over before the first window is")
        off = np.array(shares) - tables.paper[id]
        always, on_average = bool((abs(off) <= 0.5).all()), bool((abs(off.mean(axis=0)) <= 0.5).all())
        verdict = HOLDS if always else DIRECTION if on_average else OTHERWISE
        low, high = number(np.min(shares), "%"), number(np.max(shares), "%")
        return (low if low == high else f"{low} to {high}"), verdict

    return Rule("fig06", check)


def number(x: float, unit: str) -> str:
    """Write a value and its unit for a person."""
    return f"{x:.3g} {unit}".strip() if abs(x) < 100 else f"{x:.0f} {unit}"


def _shown(x: float, column: str) -> str:
    """Write a value of a table for a person."""
    if column in ("average_jct", "average_pending_time"):
        return f"{x / 3600:.2f} h"
    return f"{x:.3g}" if column == "average_slowdown" else f"{100 * x:.3g} %"
