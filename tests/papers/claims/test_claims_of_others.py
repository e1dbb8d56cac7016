"""The rules of Gavel's and of the market's statements against tables made by hand: each reaches its verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from judged_tables import Tables, judged, loads, rows

from papers.judging import Verdict
from papers.market.study.tables import DRAWN, THETA_OF_44, USUAL

HOLDS, _, DIRECTION, OTHERWISE, NOT_YET = Verdict


def bills(cost: float, slo: float, missed: float, missed_slo: float = 0.0) -> Tables:
    return {"gavel-cost_cost": rows("policy cost missed", ("max-throughput", 1.0, 0.0), ("min-cost", 1 / cost, missed),
                                    ("min-cost-slo", 1 / slo, missed_slo))}  # fmt: skip


def revenues(ours: float, theirs: float, least: float = 0.1) -> Tables:
    """With convex utility the sign is another one; `least` is of the other schedulers."""
    earned = {"astraea-market": ours, "hived": theirs, "gandiva-fair": -least, "batch-sche": -least}
    table = rows("varied value utility scheduler trial revenue", *(
        (varied, n, utility, s, k, (r if utility == "linear" else -r) * (n + k)) for varied in ("jobs", "servers")
        for n in (1, 3) for utility in ("linear", "convex") for s, r in earned.items() for k in (0, 1)))  # fmt: skip
    return {"wang04_philly": table.assign(ideal_revenue=table["revenue"] + 3, floored_revenue=table["revenue"] + 1)}


def ratios(few: float, many: float, others: float = 0.5, more: float = 0.0, **changed: float) -> Tables:
    """Revenues of the others: with few jobs `changed`, or as with many; with many servers everybody has `more`."""
    few_of = {"astraea-market": few} | {name.replace("_", "-"): x for name, x in changed.items()}
    table = rows("jobs servers scheduler trial ratio", *(
        (n, s, name, 0, more * (s == 25) + (few_of.get(name, others) if n == 5 else
                                            many if name == "astraea-market" else others))
        for n in (5, 15) for s in (5, 25)
        for name in ("astraea-market", "gandiva-fair", "hived", "batch-sche")))  # fmt: skip
    return {"wang05_small": table, "wang06_small": table}


def fairness(
    batch: tuple[float, ...], ours: tuple[float, ...], hived: tuple[float, ...] = (0.8, 1.2), printed: float = 0.0
) -> Tables:
    """`printed` is our variance with the theta of the paper; those of the others are 1 there."""
    alphas = {"batch-sche": batch, "astraea-market": ours, "gandiva-fair": (0.5, 1.5), "hived": hived}
    variances = {"astraea-market": printed, "gandiva-fair": 1.0, "hived": 1.0}
    return {"wang07_philly": rows("scheduler trial tenant alpha", *(
                (s, 0, u, a) for s, values in alphas.items() for u, a in enumerate(values))),
            "wang-settings_philly": rows("setting figure scheduler value", *(
                (THETA_OF_44, "Fig 8, variance", s, x) for s, x in variances.items()))}  # fmt: skip


def planned(few: float, many: float) -> Tables:
    return {"wang09_philly": rows("jobs servers trial seconds_per_job", (10, 1, 0, few), (20, 1, 0, many))}


def prices(*high: float) -> Tables:
    found = [("high", p, r) for p, r in zip((60, 80, 100, 120, 140, 160), high, strict=True)]
    return {"wang11_philly": rows("load percent revenue", *found, ("moderate", 80, 0.0), ("moderate", 120, 9.0))}


def hours(ours: int, theirs: float = 1.0) -> Tables:
    """Astraea uses all for some hours, Gandiva a part of it for a hundred, as requested; drawn, nothing is in use."""
    return {"wang13_philly": rows("setting scheduler trial hour utilization", *(
        (setting, s, 0, t, used * (t <= n) * (setting == USUAL)) for s, n, used in (("astraea-market", ours, 1.0),
        ("gandiva-fair", 100, theirs)) for t in range(1, 121) for setting in (USUAL, DRAWN)))}  # fmt: skip


def tenants(revenue: float, variance: float) -> Tables:
    return {"wang-table2_philly": rows("tenants revenue_per_job variance", (5, 1, 1), (14, revenue, variance))}


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


def served(ours: float, theirs: float) -> Tables:
    """Ours at the highest load, theirs at the load before."""
    table = loads("average_jct", (1.0, 2.0, 3.0), las=(2.0, theirs, 20.0), las_het=(1.0, 4.0, ours))
    return {"gavel08_continuous-single": table}


def tails(ours: float, theirs: float) -> Tables:
    """The largest hundredth is ten times the 99th percentile, ours and theirs alike."""
    return {"gavel08_continuous-single": rows("policy jct share", *(
        (p, x * f, s) for p, x in (("las-het", ours), ("allox", theirs)) for f, s in ((0.1, 0.5), (1, 0.99), (10, 1.0))
    ))}  # fmt: skip


def table3(ours: float, theirs: float, fair: float) -> Tables:
    """Simulated makespans, 18 and 21.5 h on the cluster, and a JCT of 5.2 h there, as under LAS het. here."""
    return {"gavel-table3_physical-cluster": rows("trace policy physical drawn",
        ("static", "makespan-het", 18.0, ours), ("static", "gandiva", 21.5, theirs),
        ("continuous", "las-het", 3.6, 3.6), ("continuous", "las", 5.0, fair))}  # fmt: skip


def mechanism(*ratios: float) -> Tables:
    table = loads("average_jct", rounds=(ratios[0], ratios[1]), ideal=(1.0, 1.0))
    return {"gavel13b_continuous-single": table}


def estimates(estimated: float, none: float) -> Tables:
    table = loads("average_jct", oracle=(1.0, 1.0), estimated=(1.0, estimated), none=(1.0, none))
    return {"gavel14_continuous-single": table}


def solved(jobs: int, seconds: float) -> Tables:
    table = pd.DataFrame({"policy": "las-het-ss", "jobs": [8, jobs, 4096], "seconds": [0.1, seconds, 0.1]})
    return {"gavel12_scaling": table.assign(variables=["a job", "a job", "a class"])}


RATIOS, RATIO_TRENDS = ("wang.f5", "wang.f5.drop", "wang.f6"), ("wang.f5.jobs", "wang.f5.servers", "wang.f6.gentle")
FAIR, HOURS = ("wang.f7.batchsche", "wang.f7.near", "wang.f8"), ("wang.f13.gf", "wang.f13.util")
COST, TENANTS = ("gavel.cost", "gavel.cost.slos"), ("wang.t2.revenue", "wang.t2.var")
TABLE3 = ("gavel.t3.agree", "gavel.t3.gain")

CASES: list[tuple[str | tuple[str, ...], Tables, Verdict | tuple[Verdict, ...]]] = [
    ("gavel.f8.gandiva", packed(2.2, 2.1), HOLDS),
    ("gavel.f8.gandiva", packed(2.2, 1.6), DIRECTION),
    ("gavel.f8.gandiva", packed(3.0, 1.1), OTHERWISE),
    ("gavel.f8.gandiva", packed(2.2, 5.0), OTHERWISE),  # more than twice as far from 1
    ("gavel.f8.allox", allox(0.96, 0.8), HOLDS),
    ("gavel.f8.allox", allox(1.05, 1.09), DIRECTION),
    ("gavel.f8.allox", allox(0.8, 0.8), OTHERWISE),  # no match
    ("gavel.f8.allox", allox(1.05, 1.2), OTHERWISE),
    ("gavel.f8.load", served(8.0, 9.0), HOLDS),
    ("gavel.f8.load", served(9.5, 9.0), DIRECTION),
    ("gavel.f8.load", served(19.0, 9.0), OTHERWISE),  # lower at each load, by less than a step
    ("gavel.f8.tail", tails(5.0, 9.0), HOLDS),
    ("gavel.f8.tail", tails(9.5, 9.0), DIRECTION),
    ("gavel.f8.tail", tails(12.0, 9.0), OTHERWISE),
    (TABLE3, table3(18.5, 22.0, 5.1), (HOLDS, HOLDS)),
    (TABLE3, table3(18.5, 22.0, 4.6), (DIRECTION, HOLDS)),
    (TABLE3, table3(18.5, 18.6, 4.0), (OTHERWISE, OTHERWISE)),
    ("gavel.f13b", mechanism(0.96, 1.04), HOLDS),
    ("gavel.f13b", mechanism(0.93, 1.04), DIRECTION),
    ("gavel.f13b", mechanism(1.0, 1.2), OTHERWISE),
    ("gavel.f14", estimates(1.05, 1.3), HOLDS),
    ("gavel.f14", estimates(1.08, 1.3), DIRECTION),
    ("gavel.f14", estimates(1.05, 1.0), DIRECTION),
    ("gavel.f14", estimates(1.2, 1.3), OTHERWISE),
    ("gavel.f11", throughput(18.5), HOLDS),
    ("gavel.f11", throughput(25), DIRECTION),
    ("gavel.f11", throughput(40), OTHERWISE),
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
    ("wang.f4.jobs.hived", revenues(1.0, -1.0), OTHERWISE),  # no ratio
    ("wang.f4.jobs.hived", revenues(-2.0, -1.0), OTHERWISE),
    ("wang.f4.up_to.hived", revenues(1.35, 1.0), HOLDS),
    ("wang.f4.up_to.hived", revenues(1.2, 1.0), DIRECTION),
    ("wang.f4.up_to.hived", revenues(1.1, 1.0), OTHERWISE),
    ("wang.f4.up_to.hived", revenues(1.1, -1.0), OTHERWISE),
    ("wang.f4.jobs.convex", revenues(-1.2, -1.0, least=-2.0), HOLDS),
    ("wang.f4.jobs.convex", revenues(-1.0, -1.05, least=-2.0), DIRECTION),
    ("wang.f4.jobs.convex", revenues(-1.0, -1.2, least=-2.0), OTHERWISE),
    (RATIOS, ratios(0.9, 0.7), (HOLDS, HOLDS, HOLDS)),
    (RATIOS, ratios(0.9, 0.55), (DIRECTION, DIRECTION, HOLDS)),
    (RATIOS, ratios(0.9, 0.4, hived=1.0), (OTHERWISE, OTHERWISE, OTHERWISE)),
    (RATIO_TRENDS, ratios(0.9, 0.7), (HOLDS, OTHERWISE, OTHERWISE)),  # the others keep all
    (RATIO_TRENDS, ratios(0.7, 0.9, more=0.1), (OTHERWISE, HOLDS, HOLDS)),
    (RATIO_TRENDS, ratios(0.9, 0.7, hived=0.7, batch_sche=0.7, gandiva_fair=0.7), (HOLDS, OTHERWISE, HOLDS)),
    (RATIO_TRENDS, ratios(0.9, 0.7, hived=0.6, batch_sche=0.7, gandiva_fair=0.7), (HOLDS, OTHERWISE, DIRECTION)),
    (FAIR, fairness((0.95, 1.05, 1.0), (0.9, 1.1)), (HOLDS, HOLDS, HOLDS)),
    (FAIR, fairness((0.95, 1.05, 1.0), (0.9, 1.1), printed=30.0), (HOLDS, HOLDS, DIRECTION)),
    (FAIR, fairness((0.95, 1.05, 2.0), (0.7, 1.3)), (DIRECTION, DIRECTION, OTHERWISE)),
    (FAIR, fairness((0.5, 1.05, 2.0), (0.4, 1.6), (1.0, 1.0)), (OTHERWISE, OTHERWISE, OTHERWISE)),
    ("wang.f7.batchsche", fairness((np.nan,), (1.0, 1.0)), NOT_YET),
    ("wang.f9.jobs", planned(1.0, 2.0), HOLDS),
    ("wang.f9.jobs", planned(1.0, 0.2), OTHERWISE),
    ("wang.f11", prices(0, 5, 9, 4, 4, 3), HOLDS),
    ("wang.f11", prices(0, 5, 9, 5, 4, 3), DIRECTION),
    ("wang.f11", prices(0, 5, 9, 6, 4, 3), OTHERWISE),
    ("wang.f11", prices(-9, -5, -9, -6, -7, -8), OTHERWISE),  # no revenue
    (HOURS, hours(83), (HOLDS, HOLDS)),
    (HOURS, hours(70, 0.5), (DIRECTION, DIRECTION)),
    (TENANTS, tenants(1.069, 1.131), (HOLDS, HOLDS)),
    (TENANTS, tenants(1.3, 1.27), (OTHERWISE, DIRECTION)),
    (TENANTS, tenants(1.01, 1.05), (OTHERWISE, OTHERWISE)),  # much nearer to 1 than the paper's
    (TENANTS, tenants(-1.0, 3.0), (OTHERWISE, OTHERWISE)),
]


@pytest.mark.parametrize(("ids", "tables", "verdicts"), CASES)
def test_rules(tmp_path: Path, ids: Any, tables: Tables, verdicts: Any) -> None:
    named, expected = ((ids,), (verdicts,)) if isinstance(ids, str) else (ids, verdicts)
    found = judged(tmp_path, tables, *named)
    assert tuple(found[id][0] for id in named) == expected


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    assert judged(tmp_path, {}, "gavel.f8.jct")["gavel.f8.jct"][2] == "gavel08_continuous-single.csv is not there"
    frame = loads("average_jct", las=(1.0, 9.0), las_het=(1.0, 1.0))
    of = "gavel.f8.jct"
    absent = judged(tmp_path, {"gavel08_continuous-single": frame[frame["policy"] == "las"]}, of)[of]
    assert absent[::2] == (NOT_YET, "las-het is not among the policies of gavel08_continuous-single.csv")
    # policies are compared where all were simulated
    low = frame[(frame["policy"] == "las") | (frame["jobs_per_hour"] == 1)]
    assert judged(tmp_path, {"gavel08_continuous-single": low}, of)[of][:2] == (OTHERWISE, "1 x at 1 jobs/h")
    apart = frame[(frame["policy"] == "las") == (frame["jobs_per_hour"] == 2)]
    assert judged(tmp_path, {"gavel08_continuous-single": apart}, of)[of][0] == NOT_YET
