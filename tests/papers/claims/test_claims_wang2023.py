"""The other Astraea's statements against tables made by hand: every rule reaches every verdict that it has."""

from __future__ import annotations

from functools import partial

import pandas as pd
import pytest
from judging import Judge

from astraea.core.errors import InputError
from papers.claims.evaluate import STATEMENTS, read_claims
from papers.judging import Verdict
from papers.market.study.example import example_table
from papers.market.study.tables import DRAWN, USUAL

HOLDS, DIRECTION, OTHERWISE, NOT_YET = Verdict

FOUR = ("astraea-market", "gandiva-fair", "hived", "batch-sche")


@pytest.fixture
def judge(judge_all: Judge) -> Judge:
    """(verdict, measured, note) of these statements, with tables as stem__trace."""
    return partial(judge_all, "wang.")


def test_without_tables_nothing_is_judged(judge: Judge) -> None:
    found = judge()
    assert {verdict for verdict, _, _ in found.values()} == {NOT_YET}
    assert found["wang.f6"][2] == "wang06_small.csv is not there"


def test_worked_example(judge: Judge) -> None:
    table = example_table()
    found = judge(wang_example__example=table)
    mine = [id for id in found if id.startswith(("wang.eq8", "wang.ex."))]
    assert {found[id][0] for id in mine} == {HOLDS} and len(mine) == 8
    printed = dict(zip(table["quantity"], table["paper"], strict=True))
    stated = read_claims().set_index("id")["value"]
    given = {id: STATEMENTS[id].where["quantity"] for id in mine if id != "wang.ex.j22"}
    assert {id: printed[quantity] for id, quantity in given.items()} == stated[list(given)].astype(float).to_dict()
    assert found["wang.ex.u2.income"][1] == "8" and found["wang.ex.j22"][1] == "runs in interval 5"
    off = judge(wang_example__example=table.assign(value=table["value"].where(table["paper"].notna(), 2.0) + 1e-6))
    assert {off[id][0] for id in mine if id != "wang.ex.j22"} == {OTHERWISE}
    assert judge(wang_example__example=table.assign(value=2.0))["wang.ex.j22"][0] == OTHERWISE
    assert judge(wang_example__example=table.iloc[1:])["wang.eq8"][0] == NOT_YET


def revenues(**values: float) -> pd.DataFrame:
    """Two values of what is varied; convex utility says the opposite. Ideal revenue is 3 more each, floored 1 more."""
    table = pd.DataFrame(
        [(varied, n, utility, s.replace("_", "-"), k, (r if utility == "linear" else -r) * (n + k))
         for varied in ("jobs", "servers") for n in (1, 3) for utility in ("linear", "convex")
         for s, r in values.items() for k in (0, 1)],
        columns=["varied", "value", "utility", "scheduler", "trial", "revenue"],
    )  # fmt: skip
    return table.assign(ideal_revenue=table["revenue"] + 3, floored_revenue=table["revenue"] + 1)


@pytest.mark.parametrize(
    ("id", "baseline", "paper"),
    [
        ("wang.f4.jobs.batchsche", "batch_sche", 1.58),
        ("wang.f4.servers.batchsche", "batch_sche", 1.63),
        ("wang.f4.jobs.gandiva_fair", "gandiva_fair", 1.24),
        ("wang.f4.servers.gandiva_fair", "gandiva_fair", 1.22),
        ("wang.f4.jobs.hived", "hived", 1.35),
        ("wang.f4.servers.hived", "hived", 1.46),
    ],
)
def test_revenue(judge: Judge, id: str, baseline: str, paper: float) -> None:
    def at(ours: float, theirs: float) -> tuple[str, str]:
        return judge(wang04__philly=revenues(astraea_market=ours, **{baseline: theirs}))[id][:2]

    # over the two numbers and trials, 1, 2, 3 and 4 times each, and four times what is added
    beside = f"ideal over floored {(10 * paper + 12) / 14:.3g}, ideal over ideal {(10 * paper + 12) / 22:.3g}"
    assert at(paper, 1.0) == (HOLDS, f"{paper} x; {beside}")
    assert at(2 * paper, 1.0)[0] == DIRECTION
    assert at(1.01, 1.0)[0] == at(0.9, 1.0)[0] == OTHERWISE
    assert at(1.0, -1.0)[0] == DIRECTION and "no ratio" in at(1.0, -1.0)[1]
    assert at(-2.0, -1.0)[0] == OTHERWISE
    assert judge(wang04__philly=revenues(astraea_market=1.0))[id][0] == NOT_YET


def test_ideal_revenue_of_one_side_is_never_enough(judge: Judge) -> None:
    table = revenues(astraea_market=1.0, gandiva_fair=1.0).assign(ideal_revenue=1.24, floored_revenue=1.0)
    verdict, measured, _ = judge(wang04__philly=table)["wang.f4.jobs.gandiva_fair"]
    assert verdict == OTHERWISE and measured == "1 x; ideal over floored 1.24, ideal over ideal 1"


def ratios(few: float, many: float, others: float = 0.5) -> pd.DataFrame:
    rows = [(n, s, name, 0, r if name == FOUR[0] else others)
            for n, r in ((5, few), (15, many)) for s in (5, 25) for name in FOUR]  # fmt: skip
    return pd.DataFrame(rows, columns=["jobs", "servers", "scheduler", "trial", "ratio"])


def test_performance_ratio(judge: Judge) -> None:
    def at(*values: float) -> list[str]:
        table = ratios(*values)
        found = judge(wang05__small=table, wang06__small=table)
        return [found[id][0] for id in ("wang.f5", "wang.f5.drop", "wang.f6")]

    assert at(0.9, 0.7) == [HOLDS, HOLDS, HOLDS]
    assert at(0.9, 0.55) == [OTHERWISE, DIRECTION, HOLDS]
    assert at(0.9, 0.4) == [OTHERWISE, OTHERWISE, OTHERWISE]
    assert at(0.7, 0.7, 0.8) == [HOLDS, HOLDS, OTHERWISE]
    three = ratios(0.9, 0.7)
    three.loc[(three["scheduler"] == "hived") & (three["jobs"] == 5), "ratio"] = 1.0
    one_low = ratios(0.9, 0.9)
    one_low.loc[(one_low["scheduler"] == FOUR[0]) & (one_low["jobs"] == 5) & (one_low["servers"] == 5), "ratio"] = 0.5
    assert judge(wang06__small=three)["wang.f6"][0] == DIRECTION
    assert judge(wang05__small=one_low)["wang.f5"][0] == DIRECTION
    assert judge(wang05__small=ratios(0.9, 0.7).query("jobs == 5"))["wang.f5.drop"][0] == NOT_YET
    assert judge(wang06__small=ratios(0.9, 0.7).query("scheduler != 'hived'"))["wang.f6"][0] == NOT_YET


def fairness(**alphas: tuple[float, ...]) -> pd.DataFrame:
    """Two trials around the values of each tenant."""
    rows = [(s.replace("_", "-"), k, u, a + d) for s, values in alphas.items()
            for k, d in enumerate((-0.01, 0.01)) for u, a in enumerate(values)]  # fmt: skip
    return pd.DataFrame(rows, columns=["scheduler", "trial", "tenant", "alpha"])


def test_fairness(judge: Judge) -> None:
    def at(batch: tuple[float, ...], ours: tuple[float, float]) -> list[str]:
        table = fairness(batch_sche=batch, astraea_market=ours, gandiva_fair=(0.5, 1.5), hived=(0.8, 1.2))
        found = judge(wang07__philly=table)
        return [found["wang.f7.batchsche"][0], found["wang.f8"][0]]

    assert at((0.95, 1.05, 1.0), (0.9, 1.1)) == [HOLDS, HOLDS]
    assert at((0.95, 1.05, 2.0), (0.7, 1.3)) == [DIRECTION, OTHERWISE]
    assert at((0.5, 1.05, 2.0), (0.4, 1.6)) == [OTHERWISE, OTHERWISE]
    nan = judge(wang07__philly=fairness(batch_sche=(float("nan"),), astraea_market=(1.0, 1.0)))
    assert nan["wang.f7.batchsche"][0] == nan["wang.f8"][0] == NOT_YET
    assert nan["wang.f7.batchsche"][2] == "batch-sche has no revenue fairness: its total revenue is not above 0"


def test_time(judge: Judge) -> None:
    for seconds, verdict in ((1.5, HOLDS), (3.0, DIRECTION), (4.0, OTHERWISE)):
        table = pd.DataFrame({"jobs": [1, 2, 2], "servers": 1, "seconds_per_job": [1e-3, seconds - 0.01, seconds]})
        assert judge(wang09__philly=table)["wang.f9"][0] == verdict


def test_theta(judge: Judge) -> None:
    def at(*high: float) -> str:
        rows = [("high", p, r) for p, r in zip((60, 80, 100, 120, 140, 160), high, strict=True)]
        rows += [("moderate", 80, 0.0), ("moderate", 120, 9.0)]
        return judge(wang11__philly=pd.DataFrame(rows, columns=["load", "percent", "revenue"]))["wang.f11"][0]

    assert at(0, 5, 9, 5, 4, 3) == HOLDS
    assert at(0, 5, 9, 6, 4, 3) == DIRECTION
    assert at(0, 5, 0, 6, 7, 3) == OTHERWISE
    only = pd.DataFrame({"load": ["high"], "percent": [80], "revenue": [1.0]})
    assert judge(wang11__philly=only)["wang.f11"][0] == NOT_YET


def test_admission(judge: Judge) -> None:
    for cost, verdict in ((0.0, HOLDS), (1.0, DIRECTION)):
        table = pd.DataFrame({"ideal": [1.0] * 3, "cost": [cost, 0.5, 0.5]})
        assert judge(wang12__philly=table)["wang.f12"][0] == verdict
    assert judge(wang12__philly=table.assign(cost=2.0))["wang.f12"][:2] == (OTHERWISE, "0 of 3 jobs")


def hours(used: float = 1.0, **lengths: int) -> pd.DataFrame:
    """With D_j as requested; drawn, nothing is in use."""
    rows = [(setting, s.replace("_", "-"), k, t, used * (t <= n) * (setting == USUAL)) for s, n in lengths.items()
            for k in (0, 1) for t in range(1, 201) for setting in (USUAL, DRAWN)]  # fmt: skip
    return pd.DataFrame(rows, columns=["setting", "scheduler", "trial", "hour", "utilization"])


@pytest.mark.parametrize(
    ("ours", "gandiva", "hived"),
    [
        (83, HOLDS, OTHERWISE),
        (78, HOLDS, DIRECTION),
        (67, DIRECTION, HOLDS),
        (99, OTHERWISE, OTHERWISE),
        (120, OTHERWISE, OTHERWISE),
    ],
)
def test_makespan(judge: Judge, ours: int, gandiva: str, hived: str) -> None:
    found = judge(wang13__philly=hours(astraea_market=ours, gandiva_fair=100, hived=100))
    assert found["wang.f13.gf"][:2] == (gandiva, f"{ours / 100:.3g} x")
    assert found["wang.f13.hived"][0] == hived


def test_utilization(judge: Judge) -> None:
    full, half = hours(astraea_market=10, gandiva_fair=10), hours(0.5, astraea_market=10, gandiva_fair=10)
    assert judge(wang13__philly=full)["wang.f13.util"][0] == HOLDS
    one = pd.concat([full[full["scheduler"] == FOUR[0]], half[half["scheduler"] != FOUR[0]]])
    assert judge(wang13__philly=one)["wang.f13.util"][0] == DIRECTION
    assert judge(wang13__philly=half)["wang.f13.util"][:2] == (
        OTHERWISE, "astraea-market 50 %, gandiva-fair 50 %",
    )  # fmt: skip
    assert judge(wang13__philly=full)["wang.f13.hived"][0] == NOT_YET


def test_tenants(judge: Judge) -> None:
    def at(revenue: float, variance: float) -> list[str]:
        table = pd.DataFrame({"tenants": [5, 14], "revenue_per_job": [1, revenue], "variance": [1, variance]})
        found = judge(wang_table2__philly=table)
        return [found["wang.t2.revenue"][0], found["wang.t2.var"][0]]

    assert at(1.069, 1.131) == at(1.0, 1.2) == [HOLDS, HOLDS]
    assert at(1.3, 1.27) == [OTHERWISE, DIRECTION]
    assert at(-1.0, 3.0) == [OTHERWISE, OTHERWISE]
    assert judge(wang_table2__philly=pd.DataFrame({"tenants": [5], "revenue_per_job": [1.0], "variance": [1.0]}))[
        "wang.t2.var"
    ][0] == NOT_YET  # fmt: skip


def test_properties(judge: Judge) -> None:
    names = ["sharing incentive", "strategy-proofness", "Pareto efficiency"]
    table = pd.DataFrame({"property": names, "instances": 10, "violations": [0, 1, 10]})
    found = judge(wang_properties__random=table)
    verdicts = [found[f"wang.prop.{id}"][:2] for id in ("sharing", "strategy-proofness", "pareto")]
    assert verdicts == [
        (HOLDS, "violated in 0 of 10 random markets"),
        (OTHERWISE, "violated in 1 of 10 random markets"),
        (OTHERWISE, "violated in 10 of 10 random markets"),
    ]
    assert judge(wang_properties__random=table.iloc[:1])["wang.prop.pareto"][0] == NOT_YET
    assert judge(wang_properties__random=table.assign(instances=0))["wang.prop.sharing"][0] == NOT_YET


def test_a_lost_column_is_said(judge: Judge) -> None:
    with pytest.raises(InputError, match=r"wang04_philly\.csv: column 'revenue' is missing"):
        judge(wang04__philly=revenues(astraea_market=1.0).drop(columns="revenue"))
