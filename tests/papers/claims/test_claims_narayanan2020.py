"""Gavel's statements against tables made by hand: every rule reaches every verdict that it has."""

from __future__ import annotations

from functools import partial

import pandas as pd
import pytest
from judging import Judge

from astraea.core.errors import InputError
from papers.judging import Verdict

HOLDS, DIRECTION, OTHERWISE, NOT_YET = Verdict

HOUR = 3600.0


@pytest.fixture
def judge(judge_all: Judge) -> Judge:
    """(verdict, measured, note) of these statements, with tables as stem__trace."""
    return partial(judge_all, "gavel.")


def loads(column: str, rates: tuple[float, ...] = (1.0, 2.0), **values: tuple[float, ...]) -> pd.DataFrame:
    """Two seeds around the values of each policy at each rate, and a point of a distribution function."""
    rows = [
        {"policy": p.replace("_", "-"), "jobs_per_hour": r, "seed": k, column: v * (1 + d)}
        for p, at in values.items() for r, v in zip(rates, at, strict=True) for k, d in enumerate((-0.01, 0.01))
    ]  # fmt: skip
    return pd.DataFrame([*rows, {"policy": next(iter(values)), "jct": 1.0, "share": 1.0}])


def test_without_tables_nothing_is_judged(judge: Judge) -> None:
    found = judge()
    assert {verdict for verdict, _, _ in found.values()} == {NOT_YET}
    assert found["gavel.f8.jct"][2] == "gavel08_continuous-single.csv is not there"


RATIOS = [
    ("gavel.f8.jct", "gavel08__continuous_single", "average_jct", "las", "las_het", 3.5, 2.0),
    ("gavel.f9.jct", "gavel09__continuous_multiple", "average_jct", "las", "las_het", 2.2, 1.6),
    ("gavel.f10.jct", "gavel10__continuous_multiple", "average_jct", "ftf", "ftf_het", 3.0, 1.8),
    ("gavel.f10.ftf", "gavel10__continuous_multiple", "average_ftf", "ftf", "ftf_het", 2.8, 1.8),
    ("gavel.f16", "gavel16__continuous_single", "average_jct", "fifo", "fifo_het", 2.7, 1.8),
    ("gavel.f16.ss", "gavel16__continuous_single", "average_jct", "fifo", "fifo_het_ss", 3.8, 2.0),
    ("gavel.f20.high", "gavel20__continuous_multiple", "high_jct", "las", "las_het", 1.5, 1.3),
    ("gavel.f20.low", "gavel20__continuous_multiple", "low_jct", "las", "las_het", 2.7, 1.8),
]


@pytest.mark.parametrize(("id", "table", "column", "baseline", "better", "paper", "half"), RATIOS)
def test_ratios_over_load(
    judge: Judge, id: str, table: str, column: str, baseline: str, better: str, paper: float, half: float
) -> None:
    def at(ratio: float) -> tuple[str, str, str]:
        frame = loads(column, **{baseline: (HOUR, ratio * HOUR), better: (HOUR, HOUR)})
        for other in {"average_jct", "average_ftf"} - {column} if table.startswith("gavel10") else ():
            frame[other] = frame[column]
        for other in {"high_jct", "low_jct"} - {column} if table.startswith("gavel20") else ():
            frame[other] = frame[column]
        return judge(**{table: frame})[id]

    assert at(0.92 * paper)[0] == at(2 * paper)[0] == HOLDS
    assert at(paper)[1] == f"{paper:.3g} x at 2 jobs/h"
    assert at(half)[0] == DIRECTION
    assert at(1.02)[0] == at(0.9)[0] == OTHERWISE
    only = judge(**{table: loads(column, **{baseline: (1.0, 2.0)})}) if table[5:7] in ("08", "09", "16") else None
    if only:
        assert only[id][0] == NOT_YET and "is not among the policies" in only[id][2]


def test_policies_are_compared_where_all_were_simulated(judge: Judge) -> None:
    frame = loads("average_jct", las=(HOUR, 9 * HOUR), las_het=(HOUR, HOUR))
    only_low = frame[~((frame["policy"] == "las-het") & (frame["jobs_per_hour"] == 2))]
    assert judge(gavel08__continuous_single=only_low)["gavel.f8.jct"][:2] == (OTHERWISE, "1 x at 1 jobs/h")
    apart = frame[(frame["policy"] == "las") == (frame["jobs_per_hour"] == 2)]
    assert judge(gavel08__continuous_single=apart)["gavel.f8.jct"][0] == NOT_YET


def test_a_lost_column_is_said(judge: Judge) -> None:
    frame = loads("average_jct", las=(1.0, 1.0), las_het=(1.0, 1.0)).drop(columns="average_jct")
    with pytest.raises(InputError, match=r"gavel08_continuous-single\.csv: column 'average_jct' is missing"):
        judge(gavel08__continuous_single=frame)


@pytest.mark.parametrize(
    ("single", "multiple", "verdict"),
    [(2.2, 2.1, HOLDS), (2.2, 1.6, DIRECTION), (1.6, 1.6, DIRECTION), (3.0, 1.1, OTHERWISE)],
)
def test_packing_needs_both_traces(judge: Judge, single: float, multiple: float, verdict: str) -> None:
    one, two = (loads("average_jct", gandiva=(1.0, r), las_het_ss=(1.0, 1.0)) for r in (single, multiple))
    assert judge(gavel08__continuous_single=one)["gavel.f8.gandiva"][0] == NOT_YET
    found = judge(gavel08__continuous_single=one, gavel09__continuous_multiple=two)["gavel.f8.gandiva"]
    assert found[:2] == (verdict, f"single {single:.3g} x, multiple {multiple:.3g} x")


@pytest.mark.parametrize(
    ("moderate", "high", "verdict"),
    [(1.05, 0.8, HOLDS), (1.05, 1.2, DIRECTION), (1.3, 0.9, DIRECTION), (1.3, 1.1, OTHERWISE)],
)
def test_allox(judge: Judge, moderate: float, high: float, verdict: str) -> None:
    frame = loads("average_jct", (1.0, 2.0, 3.0), allox=(1.0, 1.0, 1.0), las_het=(1.0, moderate, high))
    assert judge(gavel08__continuous_single=frame)["gavel.f8.allox"][0] == verdict


def batch(**makespans: float) -> pd.DataFrame:
    """Two seeds of 400 jobs; with 100, everybody is as fast."""
    return pd.DataFrame(
        [{"policy": p.replace("_", "-"), "jobs": n, "seed": k, "makespan": (v if n == 400 else 1.0) * (1 + d)}
         for p, v in makespans.items() for n in (100, 400) for k, d in enumerate((-0.1, 0.1))]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("id", "baseline", "values"),
    [
        ("gavel.f19.fifo", "fifo", {2.5: HOLDS, 2.7: HOLDS, 1.9: DIRECTION, 4.0: DIRECTION, 1.3: OTHERWISE}),
        ("gavel.f19.gandiva", "gandiva", {1.4: HOLDS, 1.25: DIRECTION, 1.05: OTHERWISE, 0.9: OTHERWISE}),
    ],
)
def test_makespan(judge: Judge, id: str, baseline: str, values: dict[float, str]) -> None:
    for ratio, verdict in values.items():
        found = judge(gavel19__static_multiple=batch(**{baseline: ratio, "makespan_het": 1.0}))
        assert found[id][:2] == (verdict, f"{ratio:.3g} x")
    assert judge(gavel19__static_multiple=batch(makespan_het=1.0))[id][0] == NOT_YET


@pytest.mark.parametrize(
    ("less", "verdict"), [(8, HOLDS), (9.5, HOLDS), (5, DIRECTION), (15, DIRECTION), (2, OTHERWISE)]
)
def test_makespan_of_sharing(judge: Judge, less: float, verdict: str) -> None:
    table = batch(makespan_het=1.0, makespan_het_ss=1 - less / 100)
    assert judge(gavel19__static_multiple=table)["gavel.f19.ss"][0] == verdict


def bills(cost: float, slo: float, missed: float, missed_slo: float = 0.0) -> pd.DataFrame:
    rows = [("max-throughput", 1.0, 0.0), ("min-cost", 1 / cost, missed), ("min-cost-slo", 1 / slo, missed_slo)]
    return pd.DataFrame(rows, columns=["policy", "cost", "missed"])


def test_cost(judge: Judge) -> None:
    cases = [
        (bills(1.4, 1.23, 0.35), (HOLDS, HOLDS, HOLDS)),
        (bills(1.25, 1.4, 0.25), (DIRECTION, DIRECTION, DIRECTION)),
        (bills(1.4, 1.23, 0.35, 0.015), (HOLDS, HOLDS, DIRECTION)),
        (bills(1.1, 1.23, 0.1, 0.1), (OTHERWISE, OTHERWISE, OTHERWISE)),
        (bills(0.9, 0.9, 0.8), (OTHERWISE, OTHERWISE, OTHERWISE)),
    ]
    for table, verdicts in cases:
        found = judge(gavel_cost__cost=table)
        assert tuple(found[id][0] for id in ("gavel.cost", "gavel.cost.slo", "gavel.cost.slos")) == verdicts
    found = judge(gavel_cost__cost=bills(1.4, 1.23, 0.35).iloc[:2])
    assert found["gavel.cost"][0] == HOLDS
    assert found["gavel.cost.slos"][::2] == (NOT_YET, "min-cost-slo is not among the policies of gavel-cost_cost.csv")


@pytest.mark.parametrize(
    ("lost", "verdict"), [(17, HOLDS), (18.5, HOLDS), (10, DIRECTION), (30, DIRECTION), (5, OTHERWISE)]
)
def test_static_partition(judge: Judge, lost: float, verdict: str) -> None:
    rows = [(p, n, total) for p, total in (("hierarchical", 10 * (1 - lost / 100)), ("hierarchical-het", 10.0))
            for n, total in ((1, 1.0), (18, total), (18, total))]  # fmt: skip
    table = pd.DataFrame(rows, columns=["policy", "jobs", "total"])
    assert judge(gavel11__hierarchy=table)["gavel.f11"][0] == verdict
    assert judge(gavel11__hierarchy=table[table["policy"] == "hierarchical"])["gavel.f11"][0] == NOT_YET


@pytest.mark.parametrize(
    ("id", "policy", "jobs"), [("gavel.f12.hier", "hierarchical-het", 2048), ("gavel.f12.ss", "las-het-ss", 512)]
)
def test_solve_times(judge: Judge, id: str, policy: str, jobs: int) -> None:
    def at(n: int, seconds: float) -> tuple[str, str, str]:
        table = pd.DataFrame({"policy": policy, "jobs": [8, n], "seconds": [0.1, seconds]})
        return judge(gavel12__scaling=table)[id]

    assert at(jobs, 90.0)[:2] == (HOLDS, f"90 s for {jobs} jobs")
    assert at(jobs, 700.0)[0] == OTHERWISE
    assert at(64, 1.0) == (NOT_YET, "", "measured: 1 s for 64 jobs")
    empty = judge(gavel12__scaling=pd.DataFrame({"policy": ["other"], "jobs": [8], "seconds": [0.1]}))
    assert empty[id] == (NOT_YET, "", f"{policy} is not among the policies of gavel12_scaling.csv")


@pytest.mark.parametrize(
    ("hours", "verdict"),
    [
        ((10, 10.5, 11, 12), HOLDS),
        ((10, 9.95, 11, 12), HOLDS),
        ((10, 9.5, 11, 12), DIRECTION),
        ((12, 11, 10, 9), OTHERWISE),
    ],
)
def test_rounds(judge: Judge, hours: tuple[float, ...], verdict: str) -> None:
    table = pd.DataFrame({"round_length": [360.0, 720, 1440, 2880], "average_jct": [HOUR * h for h in hours]})
    found = judge(gavel13a__continuous_single=table)["gavel.f13a"]
    assert found[:2] == (verdict, f"{hours[0]:.2f} h at 360 s, {hours[-1]:.2f} h at 2880 s")
    assert judge(gavel13a__continuous_single=table.iloc[:1])["gavel.f13a"][0] == NOT_YET


@pytest.mark.parametrize(("ratio", "verdict"), [(0.97, HOLDS), (1.04, HOLDS), (1.08, DIRECTION), (1.2, OTHERWISE)])
def test_ideal(judge: Judge, ratio: float, verdict: str) -> None:
    table = loads("average_jct", ideal=(1.0, 1.0), rounds=(0.9, ratio))
    assert judge(gavel13b__continuous_single=table)["gavel.f13b"][:2] == (verdict, f"{ratio:.3g} at 2 jobs/h")
    alone = judge(gavel13b__continuous_single=table[table["policy"] == "rounds"])
    assert alone["gavel.f13b"][0] == NOT_YET


@pytest.mark.parametrize(
    ("estimated", "none", "verdict"),
    [(1.05, 1.3, HOLDS), (1.05, 1.02, DIRECTION), (1.2, 1.3, DIRECTION), (1.3, 1.2, OTHERWISE)],
)
def test_estimates(judge: Judge, estimated: float, none: float, verdict: str) -> None:
    table = loads(
        "average_jct", oracle=(HOUR, HOUR), estimated=(HOUR, estimated * HOUR), none=(HOUR, none * HOUR)
    )  # fmt: skip
    found = judge(gavel14__continuous_single=table)["gavel.f14"]
    assert found[:2] == (verdict, f"oracle 1.00 h, estimated {estimated:.2f} h, none {none:.2f} h")
    assert judge(gavel14__continuous_single=table[table["policy"] != "none"])["gavel.f14"][0] == NOT_YET


@pytest.mark.parametrize(
    ("id", "quantity", "paper", "slack"),
    [
        ("gavel.s41", "LAS het. allocation", 0.45, 0.01),
        ("gavel.s41.gain", "gain over isolated", 10.0, 1.0),
        ("gavel.s43", "water filling", 0.33, 0.01),
    ],
)
def test_examples(judge: Judge, id: str, quantity: str, paper: float, slack: float) -> None:
    for off, verdict in ((0.0, HOLDS), (0.9, HOLDS), (-1.8, DIRECTION), (2.5, OTHERWISE)):
        table = pd.DataFrame({"quantity": quantity, "paper": [1.0, paper], "value": [1.0, paper + off * slack]})
        assert judge(gavel_examples__example=table)[id][0] == verdict
    assert judge(gavel_examples__example=table.assign(quantity="other"))[id][0] == NOT_YET
