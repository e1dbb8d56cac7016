"""The papers' rules against tables made by hand: every rule that grades in its own way reaches every verdict it has.

What rules measure on real tables, and say of it, is compared with the committed pages (`tests/papers/gallery`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from papers.claims.evaluate import evaluate
from papers.judging import Verdict
from papers.ye2022.rules import SEVEN

HOLDS, DIRECTION, OTHERWISE, NOT_YET = Verdict

Tables = Mapping[str, pd.DataFrame]
Judge = Callable[..., dict[str, tuple[str, str, str]]]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """Write tables, and give (verdict, measured, note) of some statements."""

    def judged(tables: Tables, *ids: str) -> dict[str, tuple[str, str, str]]:
        for name, table in tables.items():
            table.to_csv(tmp_path / f"{name}.csv", index=False)
        found = evaluate(tmp_path, f"(?:{'|'.join(map(re.escape, ids))})$")
        return {id: tuple(row) for id, *row in found[["id", "verdict", "measured", "note"]].to_numpy().tolist()}

    return judged


def rows(columns: str, *values: Any) -> pd.DataFrame:
    return pd.DataFrame(values, columns=columns.split())


def schedulers(column: str, **values: float) -> pd.DataFrame:
    """Two seeds around each value."""
    return rows(f"scheduler seed {column}", *((s.replace("_", "-"), k, v * (1 + d)) for s, v in values.items()
                for k, d in enumerate((-0.01, 0.01))))  # fmt: skip


def loads(column: str, rates: tuple[float, ...] = (1.0, 2.0), **values: tuple[float, ...]) -> pd.DataFrame:
    """The values of each policy at each rate."""
    return rows(f"policy jobs_per_hour seed {column}", *((p.replace("_", "-"), r, 0, v) for p, at in values.items()
                for r, v in zip(rates, at, strict=True)))  # fmt: skip


def running(**medians: float) -> Tables:
    return {"fig03_venus": rows("demand running_time share", *((d.strip("_"), m * f, s) for d, m in medians.items()
                                for f, s in ((0.1, 0.1), (1, 0.5), (10, 1.0))))}  # fmt: skip


def two_tenants(a: list[float], b: list[float]) -> Tables:
    return {"fig04_venus": pd.DataFrame({"tenant": [*"aaabbb"], "day": [1, 2, 3] * 2, "utilization": a + b})}


def fifo(late: list[float], wait: list[float], slow: list[float]) -> Tables:
    columns = {"pending_over_30min": late, "average_pending_time": wait, "slowdown_over_5": slow}
    return {"table05_venus": pd.DataFrame({"demand": ["1", "<4", ">=4"], "seed": 0, **columns})}


def six_gpus(other: str, ours: str) -> Tables:
    """Ten-minute rounds: `1` is the large job, `2` the two small ones."""
    orders = {"finish-time-fairness": other, "astraea": ours}
    jobs = {"1": [("Job1", 6)], "2": [("Job2", 3), ("Job3", 3)]}
    return {"fig06_example": rows("mechanism job_id demand start end", *(
        (name, job, demand, 600 * k, 600 * (k + 1)) for name, order in orders.items()
        for k, turn in enumerate(order) for job, demand in jobs[turn]))}  # fmt: skip


def leases(*jct: float, terms: tuple[float, ...] = (300, 600, 900, 1200, 1800, 3600)) -> Tables:
    return {"fig09_venus": pd.DataFrame({"lease_term": terms, "seed": 0, "average_jct": jct})}


FULL = dict(zip((s.replace("-", "_") for s in SEVEN), (1, 3, 4, 5, 6, 7, 8), strict=True))
SOME = {s: FULL[s] for s in ("astraea", "tiresias_l", "yarn_cs")}


def seven(**values: float) -> Tables:
    return {"fig13_venus": schedulers("average_jct", **values)}


def lead(venus: float, philly: float, **others: float) -> Tables:
    losses = others or dict.fromkeys(FULL, 0.4)
    return {f"table10_{name}": schedulers("sharing_loss", **{**losses, "astraea": x})
            for name, x in (("venus", venus), ("philly", philly))}  # fmt: skip


def sizes(astraea: list[float], tiresias: list[float]) -> Tables:
    return {"fig14_venus": rows("scheduler nodes_percent average_jct sharing_loss", *(
        (s, p, v, v) for s, values in (("astraea", astraea), ("tiresias-l", tiresias))
        for p, v in zip((60, 80, 100), values, strict=True)))}  # fmt: skip


def knob(max_rho: tuple[float, ...], gpu_time: tuple[float, ...]) -> Tables:
    return {"themis19_apps": pd.DataFrame({"f": (0, 0.4, 0.8, 1.0), "max_rho": max_rho, "gpu_time": gpu_time})}


def bills(cost: float, slo: float, missed: float, missed_slo: float = 0.0) -> Tables:
    return {"gavel-cost_cost": rows("policy cost missed", ("max-throughput", 1.0, 0.0), ("min-cost", 1 / cost, missed),
                                    ("min-cost-slo", 1 / slo, missed_slo))}  # fmt: skip


def revenues(ours: float, theirs: float) -> Tables:
    table = rows("varied value utility scheduler trial revenue", *(
        (varied, n, utility, s, k, (r if utility == "linear" else -r) * (n + k)) for varied in ("jobs", "servers")
        for n in (1, 3) for utility in ("linear", "convex") for s, r in (("astraea-market", ours), ("hived", theirs))
        for k in (0, 1)))  # fmt: skip
    return {"wang04_philly": table.assign(ideal_revenue=table["revenue"] + 3, floored_revenue=table["revenue"] + 1)}


def ratios(few: float, many: float, others: float = 0.5, **changed: float) -> Tables:
    table = rows("jobs servers scheduler trial ratio", *(
        (n, s, name, 0, r if name == "astraea-market" else changed.get(name, others) if n == 5 else others)
        for n, r in ((5, few), (15, many)) for s in (5, 25)
        for name in ("astraea-market", "gandiva-fair", "hived", "batch-sche")))  # fmt: skip
    return {"wang05_small": table, "wang06_small": table}


def fairness(batch: tuple[float, ...], ours: tuple[float, ...]) -> Tables:
    alphas = {"batch-sche": batch, "astraea-market": ours, "gandiva-fair": (0.5, 1.5), "hived": (0.8, 1.2)}
    return {"wang07_philly": rows("scheduler trial tenant alpha", *(
        (s, 0, u, a) for s, values in alphas.items() for u, a in enumerate(values)))}  # fmt: skip


def prices(*high: float) -> Tables:
    found = [("high", p, r) for p, r in zip((60, 80, 100, 120, 140, 160), high, strict=True)]
    return {"wang11_philly": rows("load percent revenue", *found, ("moderate", 80, 0.0), ("moderate", 120, 9.0))}


def hours(ours: int, theirs: float = 1.0) -> Tables:
    """Astraea uses all for some hours, Gandiva a part of it for a hundred."""
    return {"wang13_philly": rows("scheduler trial hour utilization", *(
        (s, 0, t, used * (t <= n)) for s, n, used in (("astraea-market", ours, 1.0), ("gandiva-fair", 100, theirs))
        for t in range(1, 121)))}  # fmt: skip


def tenants(revenue: float, variance: float) -> Tables:
    return {"wang-table2_philly": rows("tenants revenue_per_job variance", (5, 1, 1), (14, revenue, variance))}


def violated(tried: int, failed: int) -> Tables:
    row = ("truth is a best response", tried, failed)
    return {"themis-properties_random": rows("property instances violations", row)}


def example(off: float) -> Tables:
    table = pd.DataFrame({"quantity": "LAS het. allocation", "paper": [1.0, 0.45], "value": [1.0, 0.45 + 0.01 * off]})
    return {"gavel-examples_example": table}


def throughput(lost: float) -> Tables:
    totals = {"hierarchical": 10 * (1 - lost / 100), "hierarchical-het": 10.0}
    return {"gavel11_hierarchy": rows("policy jobs total", *(row for p, total in totals.items()
                                      for row in ((p, 1, 1.0), (p, 18, total), (p, 18, total))))}  # fmt: skip


def packed(single: float, multiple: float) -> Tables:
    found = (("gavel08_continuous-single", single), ("gavel09_continuous-multiple", multiple))
    return {name: loads("average_jct", gandiva=(1.0, r), las_het_ss=(1.0, 1.0)) for name, r in found}


def allox(moderate: float, high: float) -> Tables:
    table = loads("average_jct", (1.0, 2.0, 3.0), allox=(1.0, 1.0, 1.0), las_het=(1.0, moderate, high))
    return {"gavel08_continuous-single": table}


def estimates(estimated: float, none: float) -> Tables:
    table = loads("average_jct", oracle=(1.0, 1.0), estimated=(1.0, estimated), none=(1.0, none))
    return {"gavel14_continuous-single": table}


def solved(jobs: int, seconds: float) -> Tables:
    return {"gavel12_scaling": pd.DataFrame({"policy": "las-het-ss", "jobs": [8, jobs], "seconds": [0.1, seconds]})}


FIFO, SIX = ("ye.f5.g4", "ye.f5.slow"), ("ye.f6.b.job1", "ye.f6.b.job23", "ye.f6.c")
SIZES, RATIOS = ("ye.f14.jct", "ye.f14.loss", "ye.f14.size"), ("wang.f5", "wang.f5.drop", "wang.f6")
FAIR, HOURS = ("wang.f7.batchsche", "wang.f8"), ("wang.f13.gf", "wang.f13.util")
COST, TENANTS = ("gavel.cost", "gavel.cost.slos"), ("wang.t2.revenue", "wang.t2.var")

CASES: list[tuple[str | tuple[str, ...], Tables, Verdict | tuple[Verdict, ...]]] = [
    ("ye.f3.larger", running(_1=100, _4=200, _8=400), HOLDS),
    ("ye.f3.larger", running(_1=100, _4=400, _8=300), DIRECTION),
    ("ye.f3.larger", running(_1=400, _8=100), OTHERWISE),
    ("ye.f4.a", two_tenants([0.4, 0.7, 0.99], [0.95, 0.9, 0.49]), HOLDS),
    ("ye.f4.a", two_tenants([0.4, 0.7, 0.85], [0.95, 0.9, 0.60]), DIRECTION),
    ("ye.f4.a", two_tenants([0.4, 0.3, 0.20], [0.95, 0.9, 0.60]), OTHERWISE),
    (FIFO, fifo([0.044, 0.1, 0.3], [1e3, 1e3, 9e3], [0, 0.2, 0.3]), (HOLDS, HOLDS)),
    (FIFO, fifo([0.07, 0.4, 0.3], [1e3, 1e3, 9e3], [0, 0, 0]), (DIRECTION, OTHERWISE)),
    (FIFO, fifo([0.7, 0.4, 0.3], [1e3, 9e3, 1e3], [0, 0, 0.1]), (OTHERWISE, HOLDS)),
    (SIX, six_gpus("12121212", "122122"), (HOLDS, HOLDS, HOLDS)),
    (SIX, six_gpus("121221121212", "1222112"), (DIRECTION, DIRECTION, OTHERWISE)),
    (SIX, six_gpus("22222111", "12121212"), (OTHERWISE, OTHERWISE, OTHERWISE)),
    ("ye.f9.jct", leases(9, 8, 7, 6.9, 8, 9), HOLDS),
    ("ye.f9.jct", leases(9, 5, 6, terms=(60, 300, 1800)), DIRECTION),  # below the range
    ("ye.f9.jct", leases(9, 8, 7, 6, 5, 4), OTHERWISE),  # at the end
    ("ye.f10.astraea", lead(0.072, 0.1, yarn_cs=0.7), HOLDS),
    ("ye.f10.astraea", lead(0.2, 0.1, yarn_cs=0.8), DIRECTION),  # as the paper against YARN-CS
    ("ye.f10.astraea", lead(0.9, 0.1, yarn_cs=0.8), OTHERWISE),
    ("ye.f13", seven(**FULL), HOLDS),
    ("ye.f13", seven(**FULL | {"hived": 0.5}), DIRECTION),
    ("ye.f13", seven(**FULL | {"astraea": 9}), OTHERWISE),
    ("ye.f13", seven(**SOME, fifo=0.1), NOT_YET),  # three of the seven, of which FIFO is none
    ("ye.f13", seven(**SOME | {"astraea": 9}), OTHERWISE),
    ("ye.f10.philly", lead(0.2, 0.1), HOLDS),
    ("ye.f10.philly", lead(0.1, 0.2), OTHERWISE),
    ("ye.f10.philly", lead(0.2, 0.1, yarn_cs=0.5), NOT_YET),
    (SIZES, sizes([5, 4, 3], [6, 5, 4]), (HOLDS, HOLDS, HOLDS)),
    (SIZES, sizes([5, 5.2, 3], [6, 5, 4]), (DIRECTION, DIRECTION, DIRECTION)),
    (SIZES, sizes([7, 8, 9], [6, 5, 4]), (OTHERWISE, OTHERWISE, OTHERWISE)),
    ("themis.f08", knob((2.0, 1.5, 1.0, 1.0), (100, 101, 102, 110)), HOLDS),  # at 0.8
    ("themis.truth", violated(2000, 0), HOLDS),
    ("themis.truth", violated(2000, 1), OTHERWISE),
    ("themis.truth", violated(0, 0), NOT_YET),
    ("gavel.f8.gandiva", packed(2.2, 2.1), HOLDS),
    ("gavel.f8.gandiva", packed(2.2, 1.6), DIRECTION),
    ("gavel.f8.gandiva", packed(3.0, 1.1), OTHERWISE),
    ("gavel.f8.allox", allox(1.05, 0.8), HOLDS),
    ("gavel.f8.allox", allox(1.05, 1.2), DIRECTION),
    ("gavel.f8.allox", allox(1.3, 1.1), OTHERWISE),
    ("gavel.f14", estimates(1.05, 1.3), HOLDS),
    ("gavel.f14", estimates(1.2, 1.3), DIRECTION),
    ("gavel.f14", estimates(1.3, 1.2), OTHERWISE),
    ("gavel.f11", throughput(18.5), HOLDS),
    ("gavel.f11", throughput(30), DIRECTION),
    ("gavel.f11", throughput(5), OTHERWISE),
    ("gavel.f12.ss", solved(512, 90.0), HOLDS),
    ("gavel.f12.ss", solved(512, 700.0), OTHERWISE),
    ("gavel.f12.ss", solved(64, 1.0), NOT_YET),
    (COST, bills(1.4, 1.23, 0.35), (HOLDS, HOLDS)),
    (COST, bills(1.25, 1.23, 0.25, 0.015), (DIRECTION, DIRECTION)),
    (COST, bills(1.1, 1.23, 0.1, 0.1), (OTHERWISE, OTHERWISE)),
    ("gavel.s41", example(0.9), HOLDS),
    ("gavel.s41", example(-1.8), DIRECTION),
    ("gavel.s41", example(2.5), OTHERWISE),
    ("wang.f4.jobs.hived", revenues(1.35, 1.0), HOLDS),
    ("wang.f4.jobs.hived", revenues(1.0, -1.0), DIRECTION),  # no ratio
    ("wang.f4.jobs.hived", revenues(-2.0, -1.0), OTHERWISE),
    (RATIOS, ratios(0.9, 0.7), (HOLDS, HOLDS, HOLDS)),
    (RATIOS, ratios(0.9, 0.55), (OTHERWISE, DIRECTION, HOLDS)),
    (RATIOS, ratios(0.9, 0.4, hived=1.0), (OTHERWISE, OTHERWISE, OTHERWISE)),
    (FAIR, fairness((0.95, 1.05, 1.0), (0.9, 1.1)), (HOLDS, HOLDS)),
    (FAIR, fairness((0.95, 1.05, 2.0), (0.7, 1.3)), (DIRECTION, OTHERWISE)),
    (FAIR, fairness((0.5, 1.05, 2.0), (0.4, 1.6)), (OTHERWISE, OTHERWISE)),
    ("wang.f7.batchsche", fairness((np.nan,), (1.0, 1.0)), NOT_YET),
    ("wang.f11", prices(0, 5, 9, 5, 4, 3), HOLDS),
    ("wang.f11", prices(0, 5, 9, 6, 4, 3), DIRECTION),
    ("wang.f11", prices(0, 5, 0, 6, 7, 3), OTHERWISE),
    (HOURS, hours(83), (HOLDS, HOLDS)),
    (HOURS, hours(67, 0.5), (DIRECTION, DIRECTION)),
    (TENANTS, tenants(1.069, 1.131), (HOLDS, HOLDS)),
    (TENANTS, tenants(1.3, 1.27), (OTHERWISE, DIRECTION)),
    (TENANTS, tenants(-1.0, 3.0), (OTHERWISE, OTHERWISE)),
]


@pytest.mark.parametrize(("ids", "tables", "verdicts"), CASES)
def test_rules(judge: Judge, ids: Any, tables: Tables, verdicts: Any) -> None:
    named, expected = ((ids,), (verdicts,)) if isinstance(ids, str) else (ids, verdicts)
    found = judge(tables, *named)
    assert tuple(found[id][0] for id in named) == expected


def test_what_is_missing_is_said(judge: Judge) -> None:
    assert judge({}, "gavel.f8.jct")["gavel.f8.jct"][2] == "gavel08_continuous-single.csv is not there"
    frame = loads("average_jct", las=(1.0, 9.0), las_het=(1.0, 1.0))
    of = "gavel.f8.jct"
    absent = judge({"gavel08_continuous-single": frame[frame["policy"] == "las"]}, of)[of]
    assert absent[::2] == (NOT_YET, "las-het is not among the policies of gavel08_continuous-single.csv")
    # policies are compared where all were simulated
    low = frame[(frame["policy"] == "las") | (frame["jobs_per_hour"] == 1)]
    assert judge({"gavel08_continuous-single": low}, of)[of][:2] == (OTHERWISE, "1 x at 1 jobs/h")
    apart = frame[(frame["policy"] == "las") == (frame["jobs_per_hour"] == 2)]
    assert judge({"gavel08_continuous-single": apart}, of)[of][0] == NOT_YET
