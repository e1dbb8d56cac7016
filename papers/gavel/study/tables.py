"""Tables behind the figures of Gavel's evaluation, and sentences that hold for any scale."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from astraea.core.metrics import SHARING_LOSS
from astraea.core.result import Result
from astraea.core.units import HOUR
from astraea.experiments.grid import Grid
from papers.gavel.generators import HIGH_PRIORITY
from papers.gavel.policy_calls import PRICES
from papers.gavel.study.runs import GAVEL_SCALES, TOLD
from papers.gavel.throughputs.estimator import Estimator
from papers.gavel.throughputs.table import Throughputs
from papers.scales import at_scale


def speeds(throughputs: Throughputs) -> pd.DataFrame:
    """Return the speed and the price of each job type on one GPU of each type; index job type.

    For each accelerator type: `<type>`, its speed relative to the first type, and `<type> per $`, the steps that a
    dollar buys there, relative to the type where it buys most; `fastest` and `cheapest` name a type.
    """
    kinds = [kind for kind, size in throughputs.configurations if size == 1]
    speed = np.array([throughputs.alone(kind, 1) for kind in kinds])
    bought = speed / np.array([PRICES[t] for t in throughputs.types])
    types = np.array(throughputs.types)
    columns: dict[str, Any] = {t: speed[:, j] / speed[:, 0] for j, t in enumerate(types)}
    columns |= {f"{t} per $": bought[:, j] / bought.max(axis=1) for j, t in enumerate(types)}
    columns |= {"fastest": types[speed.argmax(axis=1)], "cheapest": types[bought.argmax(axis=1)]}
    return pd.DataFrame(columns, index=pd.Index(kinds, name="job type"))


def colocation(throughputs: Throughputs, accelerator: str) -> pd.DataFrame:
    """Fig 15: throughput of each of two job types on one shared GPU, relative to itself alone there.

    Columns job, beside, and normalized: the throughput of `job` next to `beside` over that alone; NaN if they cannot
    share the GPU.
    """
    j = throughputs.type_index(accelerator)
    kinds = [kind for kind, size in throughputs.configurations if size == 1]
    number = np.array([throughputs.kind(kind, 1) for kind in kinds])
    first, second = np.repeat(number, len(kinds)), np.tile(number, len(kinds))
    speed = throughputs.pairs(first, second)[:, :, j]
    normalized = np.where((speed > 0).all(axis=1), speed[:, 0] / throughputs.solo[0, first, j], np.nan)
    columns = {"job": np.repeat(kinds, len(kinds)), "beside": np.tile(kinds, len(kinds)), "normalized": normalized}
    return pd.DataFrame(columns)


def steady(jobs: pd.DataFrame) -> dict[str, Any]:
    """Measure jobs in the steady state: JCT [s], finish-time fairness, sharing loss, and JCT by priority."""
    high = jobs["weight"] == HIGH_PRIORITY
    return {
        "average_jct": float(jobs["jct"].mean()),
        "average_ftf": float(jobs["finish_time_fairness"].mean()),
        "sharing_loss": float((jobs["rho_job"] < SHARING_LOSS).mean()),
        "high_jct": float(jobs.loc[high, "jct"].mean()),
        "low_jct": float(jobs.loc[~high, "jct"].mean()),
    }


def by_gang(jobs: pd.DataFrame) -> dict[str, Any]:
    """Average JCT [s]: of all, of gangs, and of jobs on one GPU."""
    gang = jobs["demand"] > 1
    parts = {"average_jct": jobs, "gang_jct": jobs[gang], "single_jct": jobs[~gang]}
    return {name: float(part["jct"].mean()) for name, part in parts.items()}


def bill(result: Result) -> dict[str, Any]:
    """Cost of all jobs [$], and share of those that missed their deadline."""
    met = result.jobs["slo_met"].astype(bool)
    return {"cost": float(result.jobs["cost"].sum()), "missed": float((~met).mean())}


def load_figures(grid: Grid, measured: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables of a figure of average JCT over load; `measured` of the last jobs count.

    One row per run; and one row per measured job of the runs with the highest rate of arrival.
    """

    def both(result: Result) -> pd.DataFrame:
        jobs = result.jobs.tail(measured)
        return jobs[["jct", "finish_time_fairness"]].assign(**steady(jobs))

    found = grid.table(both)  # one pass, as every result is read from a file
    jobs = found[[*grid.index, "jct", "finish_time_fairness"]]
    runs = found.drop(columns=["jct", "finish_time_fairness"]).drop_duplicates([*grid.index])
    return runs.reset_index(drop=True), jobs[jobs["jobs_per_hour"] == jobs["jobs_per_hour"].max()]


def against_short_rounds(table: pd.DataFrame) -> pd.DataFrame:
    """Fig 13a: the length of a round in words, `round`, and the change of average JCT from 6 min [%], `change`."""
    named = table.assign(round=[f"{length / 60:g} min" for length in table["round_length"]])
    short = named[named["round"] == "6 min"].set_index("jobs_per_hour")["average_jct"]
    return named.assign(change=100 * (named["average_jct"] / named["jobs_per_hour"].map(short) - 1))


def lost_by_spreading(table: pd.DataFrame) -> pd.DataFrame:
    """Return the increase of average JCT on servers of several sizes over gangs that are never spread [%].

    Index jobs_per_hour, a column per size of a server [GPU].
    """
    by_size = table.pivot_table(index="jobs_per_hour", columns="server_gpus", values="average_jct")
    return 100 * (by_size.drop(columns=1).div(by_size[1], axis=0) - 1)


def told_of_placement(table: pd.DataFrame) -> pd.DataFrame:
    """Average JCT [h] by what LAS het. is told of placement, and that of `aware` over the others'."""
    told = table.pivot_table(index="jobs_per_hour", columns="told", values="average_jct")[list(TOLD)] / HOUR
    return told.assign(**{f"aware over {name}": told["aware"] / told[name] for name in ("blind", "strict")})


def worth_sharing(table: pd.DataFrame) -> pd.Series[float]:
    """Work that two jobs do on one GPU, in GPUs: the two cells of `colocation` that mirror each other, added."""
    kept = table.set_index(["job", "beside"])["normalized"]
    return kept + kept.swaplevel().reindex(kept.index)


def tenants_words(means: pd.DataFrame) -> pd.DataFrame:
    """Return means of `tenants.both_papers` in h and %, with readable column names."""
    hours, shares = ("average_jct", "p99_jct", "makespan"), ("sharing_loss", "sharing_loss_95")
    shown = means.assign(**{c: means[c] / HOUR for c in hours})
    lost = [c for c in shown.columns.astype(str) if c.endswith(shares)]
    shown = shown.assign(**{c: 100 * shown[c] for c in lost})
    return shown.set_axis([
        "JCT [h]", "JCT, p99 [h]", "slowdown", "slowdown, p99", "FTF", "FTF, worst", "makespan [h]",
        "jobs < 0.95 [%]", "tenants < 1 [%]", "tenants < 0.95 [%]",
        "jobs < 0.95, eff. [%]", "tenants < 1, eff. [%]", "tenants < 0.95, eff. [%]",
    ], axis=1)  # fmt: skip


def times_less(table: pd.DataFrame, column: str, baseline: str, policies: Sequence[str]) -> pd.DataFrame:
    """Return a baseline's means over seeds divided by the policies'; index jobs_per_hour, columns policies."""
    wide = table.pivot_table(index="jobs_per_hour", columns="policy", values=column)
    return pd.DataFrame({name: wide[baseline] / wide[name] for name in policies})


def estimate_errors(throughputs: Throughputs, fractions: Sequence[float], every: Sequence[int]) -> pd.DataFrame:
    """Return the errors of estimates for pairs that were never measured ([Narayanan2020] §3.3).

    Every k-th job type is a reference, for each k of `every`; `fractions` are parts of a new job's measurements. In the
    columns references, fraction and error, `error` is the mean absolute error of a normalized throughput over the job
    types that are no reference, over all where all are.
    """
    kinds, rows = [kind for kind, size in throughputs.configurations if size == 1], []
    for k, fraction in product(every, fractions):
        found = Estimator(throughputs, kinds[::k], fraction=fraction, seed=0).errors()
        new = found.drop(kinds[::k]) if k > 1 else found
        rows.append((len(kinds[::k]), fraction, float(new.mean())))
    return pd.DataFrame(rows, columns=["references", "fraction", "error"])


def limits(scale: str, throughputs: Throughputs) -> list[str]:
    """List, in sentences, where a scale is smaller than the paper's evaluation."""
    here, paper = at_scale(GAVEL_SCALES, scale), GAVEL_SCALES["paper"]
    sentences = [
        f"Throughputs: {Path(throughputs.name).name}"
        + (", rounded facts and three rules, no measurements." if throughputs.name == "the compact table" else ".")
    ]
    rows: list[tuple[str, Any, Any]] = [
        ("GPUs of each type", here.workers, paper.workers),
        ("seeds", here.seeds, paper.seeds),
    ]
    for what, load, whole in (("one GPU each", here.single, paper.single), ("gangs", here.multiple, paper.multiple)):
        rows += [
            (f"rates of arrival, {what} [1/h]", load.rates, whole.rates),
            (f"jobs before those that are measured, {what}", load.before, whole.before),
            (f"jobs that are measured, {what}", load.measured, whole.measured),
        ]
    for what, mine, theirs in (*rows, ("jobs of a static trace", here.static, paper.static)):
        same = "as at scale paper" if mine == theirs else f"at scale paper {_shown(theirs)}"
        sentences.append(f"{what}: {_shown(mine)} ({same})")
    return sentences


def _shown(value: int | Sequence[float]) -> str:
    return f"{value:,}" if isinstance(value, int) else ", ".join(dict.fromkeys(f"{v:g}" for v in value))
