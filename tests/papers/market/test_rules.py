"""Each rule of the market's statements on tables made by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from papers.rules import Verdict
from papers.statements import evaluate

_, HOLDS, _, PARTLY, NOISE, FAILS, UNTESTED = Verdict
Tables = Mapping[str, pd.DataFrame]


def rows(columns: str, *values: Any) -> pd.DataFrame:
    return pd.DataFrame(values, columns=columns.split())


def small(*jobs: int, drop: float = 0.0, servers: float = 0.0, noise: float = 0.0) -> Tables:
    return {"wang05_small": rows("scheduler jobs servers seed ratio", *(
        ("astraea-market", n, m, k, 0.8 - drop * (n - 5) / 10 + servers * m + 0.001 * k + noise * (k - 1) * (n > 5))
        for n in jobs for m in (5, 45) for k in range(3)))}  # fmt: skip


def revenues(**revenue: float) -> Tables:
    return {"wang04_philly": rows("varied utility value scheduler seed revenue", *(
        ("jobs", "linear", 200, name.replace("_", "-"), k, x + 0.01 * k) for name, x in revenue.items()
        for k in range(3)))}  # fmt: skip


def theta(*revenue: float, seeds: int = 6) -> Tables:
    """Revenues that the seeds multiply, so that one of them decides a mean."""
    return {"wang11_philly": rows("load percent seed revenue", *(
        ("high", p, k, v * 4**k) for p, v in zip((80, 120, 140), revenue, strict=True)
        for k in range(seeds)))}  # fmt: skip


def parts(**fall: float) -> Tables:
    """Fall of each scheduler's part of the optimum from 5 jobs to 15."""
    return {"wang06_small": rows("scheduler jobs servers seed ratio", *(
        (name.replace("_", "-"), n, 5, k, 0.8 - x * (n - 5) / 10 + 0.001 * k * n) for name, x in fall.items()
        for n in (5, 15) for k in range(3)))}  # fmt: skip


def settings(column: str, **values: float) -> Tables:
    return {
        "wang-settings_philly": rows(
            f"setting scheduler seed {column}",
            *(
                ("theta of §4.4", name.replace("_", "-"), k, v + 0.01 * k)
                for name, v in values.items()
                for k in range(3)
            ),
        )
    }


def alphas(**values: tuple[float, float]) -> Tables:
    """Revenue fairness of two tenants under each scheduler, mean over three seeds."""
    return {"wang07_philly": rows("scheduler tenant seed alpha", *(
        (name.replace("_", "-"), u, k, x + 0.3 * (k - 1)) for name, both in values.items() for u, x in enumerate(both)
        for k in range(3)))}  # fmt: skip


def times(varied: str, *seconds: float) -> Tables:
    return {"wang10_philly": rows("varied value seed seconds", *(
        (varied, n, k, x + 0.01 * k) for n, x in enumerate(seconds) for k in range(3)))}  # fmt: skip


@pytest.mark.parametrize(
    ("id", "tables", "verdict"),
    [
        ("wang.f4.jobs.hived", revenues(astraea_market=135, hived=100), HOLDS),
        ("wang.f4.jobs.hived", revenues(astraea_market=105, hived=100), PARTLY),
        ("wang.f4.jobs.hived", revenues(astraea_market=90, hived=100), FAILS),
        ("wang.f4.jobs.hived", revenues(astraea_market=5, hived=-100), PARTLY),  # no ratio, and the right order
        ("wang.f11", theta(-100, -200, -300), HOLDS),  # losses, in the right order
        ("wang.f11", theta(-300, -200, -100), FAILS),
        ("wang.f11", theta(-100, -200, -300, seeds=5), NOISE),  # may be chance
        ("wang.f11", theta(-100, -100, -300), FAILS),  # a tie
        ("wang.f5", small(5, 10, 15), HOLDS),
        ("wang.f5", small(5, 10, 15, drop=0.3), FAILS),
        ("wang.f5.drop", small(5, 10, 15, drop=0.2), HOLDS),
        ("wang.f5.drop", small(5, 10, 15, drop=0.3), FAILS),
        ("wang.f5.drop", small(5, 10), UNTESTED),  # the paper compares 5 and 15 jobs
        ("wang.f5.drop", {"wang05_small": small(5, 15)["wang05_small"].query("servers == 5")}, UNTESTED),
        ("wang.f6.gentle", parts(astraea_market=0.1, batch_sche=0.2, gandiva_fair=0.2, hived=0.2), HOLDS),
        ("wang.f6.gentle", parts(astraea_market=-0.1, batch_sche=0.2, gandiva_fair=0.2, hived=0.2), PARTLY),  # it rises
        ("wang.f6.gentle", parts(astraea_market=0.3, batch_sche=0.2, gandiva_fair=0.2, hived=0.4), FAILS),
        ("wang.f8", settings("variance", astraea_market=1, gandiva_fair=2, hived=3), HOLDS),
        ("wang.twenty.fairness", settings("variance", astraea_market=1, gandiva_fair=1.3, hived=1.3), HOLDS),
        ("wang.twenty.fairness", settings("variance", astraea_market=1, gandiva_fair=1.1, hived=1.3), FAILS),
        ("wang.twenty.revenue", revenues(astraea_market=125, hived=100, gandiva_fair=90, batch_sche=-9), HOLDS),
        ("wang.twenty.revenue", revenues(astraea_market=115, hived=100, gandiva_fair=90, batch_sche=-9), FAILS),
        ("wang.f13.gf", settings("makespan", astraea_market=83, gandiva_fair=100), HOLDS),
        ("wang.f13.gf", settings("makespan", astraea_market=120, gandiva_fair=100), FAILS),
        ("wang.f13.util", settings("peak", astraea_market=1, gandiva_fair=0.4), PARTLY),
        ("wang.f5.jobs", small(5, 10), UNTESTED),
        ("wang.f5.servers", small(5, 15, servers=0.001), HOLDS),
        ("wang.f5.servers", small(5, 15, servers=-0.001), FAILS),
        ("wang.t2.revenue", {"wang-table2_philly": rows("tenants revenue_per_job", (5, 1.0), (8, 1.01))}, HOLDS),
        ("wang.t2.revenue", {"wang-table2_philly": rows("tenants revenue_per_job", (5, 1.0), (8, 1.2))}, FAILS),
        ("wang.t2.revenue", {"wang-table2_philly": rows("tenants revenue_per_job", (5, -1.01), (8, -1.0))}, HOLDS),
        ("wang.t2.revenue", {"wang-table2_philly": rows("tenants revenue_per_job", (5, -1.0), (8, 1.2))}, UNTESTED),
        ("wang.prop.pareto", {"wang-theorems_random": rows("property instances violations",
                                                          ("Pareto efficiency", 10, 0))}, HOLDS),
        ("wang.prop.pareto", {"wang-theorems_random": rows("property instances violations",
                                                          ("Pareto efficiency", 10, 1))}, FAILS),
        ("wang.ex.j22", {"wang-example_example": rows("quantity value", ("interval in which j22 runs", 3))}, HOLDS),
        ("wang.ex.j22", {"wang-example_example": rows("quantity value", ("interval in which j22 runs", 2))}, FAILS),
        ("wang.f4.up_to.hived", revenues(astraea_market=135, hived=100), HOLDS),
        ("wang.f4.up_to.hived", revenues(astraea_market=150, hived=100), HOLDS),  # farther up
        ("wang.f4.up_to.hived", revenues(astraea_market=200, hived=100), PARTLY),
        ("wang.f4.up_to.hived", revenues(astraea_market=20, hived=-10), UNTESTED),
        ("wang.f4.jobs.hived", revenues(astraea_market=-20, hived=-10), FAILS),
        ("wang.f7.batchsche", alphas(batch_sche=(0.95, 1.05)), HOLDS),
        ("wang.f7.batchsche", alphas(batch_sche=(0.85, 1.05)), FAILS),
        ("wang.f7.near", alphas(astraea_market=(0.95, 1.05), gandiva_fair=(1, 2), hived=(1, 0.85)), HOLDS),
        ("wang.f7.near", alphas(astraea_market=(0.95, 1.15), gandiva_fair=(1, 2), hived=(1, 2)), FAILS),
        ("wang.f9.jobs", times("jobs", 1, 2, 3), HOLDS),
        ("wang.f9.jobs", times("jobs", 3, 2, 1), FAILS),
        ("wang.f10", times("servers", 1, 3, 2), PARTLY),
        ("wang.f5.drop", small(5, 15, drop=0.22, noise=0.01), NOISE),
        ("wang.f13.util", settings("peak", astraea_market=0.996, gandiva_fair=0.996), HOLDS),
        ("wang.f13.util", settings("peak", astraea_market=0.5, gandiva_fair=0.97), FAILS),
        ("wang.t2.revenue", {"wang-table2_philly": rows("tenants revenue_per_job", (5, 1.0))}, UNTESTED),
    ],
)  # fmt: skip
def test_each_statement_reaches_its_verdicts(id: str, tables: Tables, verdict: Verdict, tmp_path: Path) -> None:
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    assert evaluate(f"{re.escape(id)}$", tmp_path, committed=False)["verdict"].iloc[0] == verdict


@pytest.mark.parametrize(
    ("id", "tables", "measured", "interval"),
    [
        ("wang.f4.jobs.hived", revenues(astraea_market=5, hived=-100), "no ratio: the market 5, hived -100",
         "the market less hived: 105 to 105 (n = 3)"),
        ("wang.f4.up_to.hived", revenues(astraea_market=135, hived=100), "1.35 x with 200 jobs",
         "1.35 x to 1.35 x (n = 3)"),
        ("wang.f5.drop", small(5, 15, drop=0.2), "0.2 from 5 to 15 jobs with 5 servers", "0.2 to 0.2 (n = 3)"),
        ("wang.f6.gentle", parts(astraea_market=0.1, batch_sche=0.2, gandiva_fair=0.3, hived=0.4),
         "falls by: astraea-market 0.090, batch-sche 0.190, gandiva-fair 0.290, hived 0.390",
         "batch-sche less astraea-market: 0.1 to 0.1 (n = 3)"),
        ("wang.f7.near", alphas(astraea_market=(0.95, 1.15), gandiva_fair=(1, 1), hived=(2, 2)),
         "astraea-market 1, gandiva-fair 2, hived 0", ""),
        ("wang.f7.batchsche", alphas(batch_sche=(0.85, 1.05)), "0.85 to 1.05, 1 of 2 tenants within 0.1 of 1", ""),
        ("wang.f10", times("servers", 1, 2), "1010 ms with 0 servers, 2010 ms with 1 servers",
         "last less first: 1000 ms to 1000 ms (n = 3)"),
        ("wang.f11", theta(-1, -2, -0.5, seeds=2), "80 percent -2.5, 120 percent -5, 140 percent -1.25",
         "80 above 120 in 2 of 2 seeds, 80 above 140 in 0 of 2 seeds"),
        ("wang.f13.util", settings("peak", astraea_market=0.5, gandiva_fair=0.97),
         "astraea-market 52 %, gandiva-fair 99 %", ""),
        ("wang.twenty.revenue", revenues(astraea_market=100, hived=90, gandiva_fair=50, batch_sche=-9),
         "astraea-market 100, batch-sche -8.99, gandiva-fair 50, hived 90",
         "1.2 times hived less the market: 8 to 8.01 (n = 3)"),
        ("wang.t2.revenue", {"wang-table2_philly": rows("tenants revenue_per_job", (5, -3.0), (8, -2.0))}, "1.5 x", ""),
    ],
)  # fmt: skip
def test_what_is_measured_is_said(id: str, tables: Tables, measured: str, interval: str, tmp_path: Path) -> None:
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    found = evaluate(f"{re.escape(id)}$", tmp_path, committed=False).iloc[0]
    assert (found["measured"], found["interval"]) == (measured, interval)
