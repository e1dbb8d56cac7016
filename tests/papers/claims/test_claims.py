"""The papers' statements against tables made by hand: every rule reaches every verdict that it has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from papers.claims import evaluate
from papers.judging import Verdict
from papers.ye2022.rules import SEVEN

HOLDS, DIRECTION, OTHERWISE, NOT_YET = Verdict

Judge = Callable[..., dict[tuple[str, str], tuple[str, str]]]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """Write tables, evaluate, and give (verdict, measured) by (id, trace)."""

    def judged(**tables: pd.DataFrame) -> dict[tuple[str, str], tuple[str, str]]:
        for name, table in tables.items():
            table.to_csv(tmp_path / f"{name}.csv", index=False)
        found = evaluate.evaluate(tmp_path)
        return {(r.id, r.trace): (r.verdict, r.measured) for r in found.itertuples()}

    return judged


def schedulers(column: str, **values: float) -> pd.DataFrame:
    """Two seeds around each value."""
    return pd.DataFrame(
        [{"scheduler": s.replace("_", "-"), "seed": k, column: v * (1 + d)} for s, v in values.items()
         for k, d in enumerate((-0.01, 0.01))]
    )  # fmt: skip


def leases(jct: dict[int, float], overhead: dict[int, float], loss: dict[int, float]) -> pd.DataFrame:
    rows = [
        {"lease_term": t, "seed": s, "average_jct": jct[t], "overhead_share": overhead[t], "sharing_loss": loss[t]}
        for t in jct for s in (0, 1)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_without_tables_nothing_is_judged(judge: Judge) -> None:
    assert {verdict for verdict, _ in judge().values()} == {NOT_YET}


@pytest.mark.parametrize(("share", "verdict"), [(0.69, HOLDS), (0.653, HOLDS), (0.60, DIRECTION), (0.4, OTHERWISE)])
def test_share_of_jobs(judge: Judge, share: float, verdict: str) -> None:
    table = pd.DataFrame({"limit": [600, 600, 3600], "seed": [0, 1, 0], "share": [share - 0.01, share + 0.01, 0.9]})
    assert judge(table1_venus=table)["ye.t1.venus.10min", "venus"] == (verdict, f"{100 * share:.3g} %")


def test_demands_and_states(judge: Judge) -> None:
    rows = [(d, s, w * v) for d, w in (("1", 0.53), ("4", 0.14), ("8", 0.22), (">8", 0.11))
            for s, v in (("completed", 0.52), ("cancelled", 0.28), ("failed", 0.20))]  # fmt: skip
    found = judge(fig01_venus=pd.DataFrame(rows, columns=["demand", "state", "share"]))
    assert found["ye.f1.g1", "venus"] == (HOLDS, "53 %")
    assert found["ye.f1.gt8", "venus"][0] == found["ye.s31.failed", "venus"][0] == HOLDS
    service = pd.DataFrame({"demand": ["1", "8", ">8"], "state": "completed", "share": [0.16, 0.44, 0.40]})
    found = judge(fig02_venus=service)
    assert found["ye.f2.g1", "venus"] == (OTHERWISE, "16 %")
    assert found["ye.f2.ge8", "venus"] == (HOLDS, "84 %")


def running(**medians: float) -> pd.DataFrame:
    rows = [(d.strip("_"), m * f, s) for d, m in medians.items() for f, s in ((0.1, 0.1), (1, 0.5), (10, 1.0))]
    return pd.DataFrame(rows, columns=["demand", "running_time", "share"])


@pytest.mark.parametrize(
    ("medians", "verdict"),
    [
        ({"_1": 100, "_4": 200, "_8": 400}, HOLDS),
        ({"_1": 100, "_4": 400, "_8": 300}, DIRECTION),
        ({"_1": 400, "_8": 100}, OTHERWISE),
    ],
)
def test_larger_jobs_run_longer(judge: Judge, medians: dict[str, float], verdict: str) -> None:
    found = judge(fig03_venus=running(**medians))
    assert found["ye.f3.larger", "venus"][0] == verdict


def test_single_gpu_jobs(judge: Judge) -> None:
    points = [("1", 3600.0, 0.88), ("1", 86_400.0, 0.9575), ("1", 1e6, 1.0), ("8", 3600.0, 0.1)]
    found = judge(fig03_venus=pd.DataFrame(points, columns=["demand", "running_time", "share"]))
    assert found["ye.f3.g1.1h", "venus"] == (HOLDS, "88 %")
    assert found["ye.f3.g1.1d", "venus"] == (DIRECTION, "4.25 %")
    found = judge(fig03_venus=pd.DataFrame(points[3:], columns=["demand", "running_time", "share"]))
    assert found["ye.f3.g1.1h", "venus"][0] == NOT_YET


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        ([0.4, 0.7, 0.99], [0.95, 0.9, 0.49], HOLDS),
        ([0.4, 0.7, 0.99], [0.95, 0.9, 0.60], DIRECTION),
        ([0.4, 0.7, 0.85], [0.95, 0.9, 0.60], DIRECTION),
        ([0.4, 0.3, 0.20], [0.95, 0.9, 0.60], OTHERWISE),
        ([0.6, 0.3, 0.95], [0.95, 0.9, 0.60], OTHERWISE),
    ],
)
def test_roles_swap(judge: Judge, a: list[float], b: list[float], verdict: str) -> None:
    table = pd.DataFrame({"tenant": ["a"] * 3 + ["b"] * 3, "day": [1, 2, 3] * 2, "utilization": a + b})
    assert judge(fig04_venus=table)["ye.f4.a", "venus"][0] == verdict


@pytest.mark.parametrize(
    ("late", "wait", "slow", "verdicts"),
    [
        ([0.044, 0.1, 0.3], [1e3, 1e3, 9e3], [0, 0.2, 0.3], [HOLDS, HOLDS, HOLDS]),
        ([0.07, 0.4, 0.3], [1e3, 1e3, 9e3], [0, 0, 0], [DIRECTION, DIRECTION, OTHERWISE]),
        ([0.7, 0.4, 0.3], [1e3, 9e3, 1e3], [0, 0, 0.1], [OTHERWISE, OTHERWISE, HOLDS]),
    ],
)
def test_fifo(judge: Judge, late: list[float], wait: list[float], slow: list[float], verdicts: list[str]) -> None:
    columns = {"pending_over_30min": late, "average_pending_time": wait, "slowdown_over_5": slow}
    found = judge(table05_venus=pd.DataFrame({"demand": ["1", "<4", ">=4"], "seed": 0, **columns}))
    assert [found[f"ye.f5.{n}", "venus"][0] for n in ("g1.30m", "g4", "slow")] == verdicts


def rounds(mechanism: str, order: str) -> pd.DataFrame:
    """Ten-minute rounds: `1` is the large job, `2` the two small ones."""
    rows = [(mechanism, job, demand, 600 * k, 600 * (k + 1), "start") for k, turn in enumerate(order)
            for job, demand in ([("Job1", 6)] if turn == "1" else [("Job2", 3), ("Job3", 3)])]  # fmt: skip
    return pd.DataFrame(rows, columns=["mechanism", "job_id", "demand", "start", "end", "kind"])


@pytest.mark.parametrize(
    ("other", "ours", "verdicts"),
    [
        ("12121212", "122122", [HOLDS, HOLDS, HOLDS]),
        ("121221121212", "1222112", [DIRECTION, DIRECTION, OTHERWISE]),
        ("22222111", "12121212", [OTHERWISE, OTHERWISE, OTHERWISE]),
    ],
)
def test_six_gpus(judge: Judge, other: str, ours: str, verdicts: list[str]) -> None:
    table = pd.concat([rounds("finish-time-fairness", other), rounds("astraea", ours)])
    found = judge(fig06_example=table)
    assert [found[f"ye.f6.{n}", "example"][0] for n in ("b.job1", "b.job23", "c")] == verdicts


def test_lease_terms(judge: Judge) -> None:
    terms = (300, 600, 900, 1200, 1800, 3600)

    def of(*values: float) -> dict[int, float]:
        return dict(zip(terms, values, strict=True))

    ids = ("f9.jct", "f9.900", "f9.overhead", "f9.fair", "s64.overhead")

    def verdicts(*tables: dict[int, float]) -> list[str]:
        found = judge(fig09_philly=leases(*tables), fig09_venus=leases(*tables))
        assert found["ye.f9.jct", "philly"] == found["ye.f9.jct", "venus"]  # a shape is checked on every trace
        assert ("ye.s64.overhead", "philly") not in found  # a value is not
        return [found[f"ye.{n}", "venus"][0] for n in ids]

    good = of(9, 8, 7, 6.9, 8, 9), of(0.03, 0.02, 0.0085, 0.008, 0.005, 0.004), of(0.1, 0.1, 0.12, 0.14, 0.2, 0.3)
    assert verdicts(*good) == [HOLDS] * 5
    fair = of(9, 6, 7, 6.5, 8, 9), of(0.03, 0.02, 0.03, 0.008, 0.005, 0.004), of(0.1, 0.2, 0.12, 0.14, 0.2, 0.3)
    assert verdicts(*fair)[:4] == [HOLDS, DIRECTION, DIRECTION, DIRECTION]
    early = of(9, 9, 9, 8, 6, 9), of(0.03, 0.02, 0.015, 0.008, 0.005, 0.004), of(0.3, 0.1, 0.1, 0.1, 0.1, 0.1)
    assert verdicts(*early) == [HOLDS, OTHERWISE, HOLDS, OTHERWISE, DIRECTION]
    bad = of(9, 8, 7, 6, 5, 4), of(0.3, 0.4, 0.6, 0.6, 0.6, 0.9), of(0.3, 0.2, 0.1, 0.1, 0.1, 0.1)
    assert verdicts(*bad) == [OTHERWISE, OTHERWISE, OTHERWISE, OTHERWISE, OTHERWISE]
    assert verdicts(of(9, 5, 5.9, 6, 7, 8), *good[1:])[0] == HOLDS
    late = {60: 9.0, 300: 5.0, 1800: 6.0}
    found = judge(fig09_venus=leases(late, late, late))
    assert found["ye.f9.jct", "venus"][0] == DIRECTION
    assert found["ye.f9.900", "venus"][0] == NOT_YET


def test_scheduler_shares(judge: Judge) -> None:
    found = judge(table10_venus=schedulers("sharing_loss", astraea=0.072, yarn_cs=0.70))
    assert found["ye.f10.astraea", "venus"] == (HOLDS, "7.2 %")
    assert found["ye.f10.yarn.ratio", "venus"] == (HOLDS, "9.72 x")
    assert found["ye.f10.themis", "venus"][0] == found["ye.f10.themis.ratio", "venus"][0] == NOT_YET
    found = judge(table10_venus=schedulers("sharing_loss", astraea=0.2, yarn_cs=0.8))
    assert found["ye.f10.astraea", "venus"][0] == found["ye.f10.yarn.ratio", "venus"][0] == DIRECTION
    found = judge(table10_venus=schedulers("sharing_loss", astraea=0.9, yarn_cs=0.8))
    assert found["ye.f10.astraea", "venus"][0] == found["ye.f10.yarn.ratio", "venus"][0] == OTHERWISE


def test_best_of_seven(judge: Judge) -> None:
    seven = dict(zip((s.replace("-", "_") for s in SEVEN), (1, 3, 4, 5, 6, 7, 8), strict=True))
    assert judge(fig13_venus=schedulers("average_jct", **seven))["ye.f13", "venus"][0] == HOLDS
    found = judge(fig13_venus=schedulers("average_jct", **{**seven, "hived": 0.5}))
    assert found["ye.f13", "venus"][0] == DIRECTION
    found = judge(fig13_venus=schedulers("average_jct", **{**seven, "astraea": 9}))
    assert found["ye.f13", "venus"][0] == OTHERWISE
    some = {s: seven[s] for s in ("astraea", "tiresias_l", "yarn_cs")}
    found = judge(fig13_venus=schedulers("average_jct", **some, fifo=0.1))  # FIFO is none of the seven
    assert found["ye.f13", "venus"][0] == NOT_YET
    assert "3 of 7" in found["ye.f13", "venus"][1]
    found = judge(fig13_venus=schedulers("average_jct", **{**some, "astraea": 9}))
    assert found["ye.f13", "venus"][0] == OTHERWISE


def test_lead_is_larger_in_philly(judge: Judge) -> None:
    full = {s.replace("-", "_"): 0.4 for s in SEVEN}

    def verdict(venus: float, philly: float, **others: float) -> str:
        others = others or full
        tables = {
            t: schedulers("sharing_loss", **{**others, "astraea": x}) for t, x in (("venus", venus), ("philly", philly))
        }
        return judge(table10_venus=tables["venus"], table10_philly=tables["philly"])["ye.f10.philly", "philly"][0]

    assert verdict(0.2, 0.1) == HOLDS
    assert verdict(0.1, 0.2) == OTHERWISE
    assert verdict(0.2, 0.1, yarn_cs=0.5) == NOT_YET


def test_cluster_sizes(judge: Judge) -> None:
    def table(astraea: list[float], tiresias: list[float]) -> pd.DataFrame:
        rows = [
            {"scheduler": s, "nodes_percent": p, "seed": 0, "average_jct": 3600 * v, "sharing_loss": v / 100}
            for s, values in (("astraea", astraea), ("tiresias-l", tiresias))
            for p, v in zip((60, 80, 100), values, strict=True)
        ]
        return pd.DataFrame(rows)

    def verdicts(*values: list[float]) -> list[str]:
        found = judge(fig14_venus=table(*values))
        return [found[f"ye.f14.{n}", "venus"][0] for n in ("jct", "loss", "size")]

    assert verdicts([5, 4, 3], [6, 5, 4]) == [HOLDS, HOLDS, HOLDS]
    assert verdicts([5, 5.2, 3], [6, 5, 4]) == [DIRECTION, DIRECTION, DIRECTION]
    assert verdicts([7, 8, 9], [6, 5, 4]) == [OTHERWISE, OTHERWISE, OTHERWISE]


def test_real_traces_are_checked_too(judge: Judge) -> None:
    table = schedulers("sharing_loss", astraea=0.07, yarn_cs=0.7)
    found = judge(**{"table10_helios-venus": table, "table10_my-log": table})
    assert found["ye.f10.astraea", "helios-venus"][0] == HOLDS
    assert ("ye.f10.astraea", "my-log") not in found
    assert found["ye.f10.best", "my-log"][0] == NOT_YET
