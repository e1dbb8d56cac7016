"""The rules of ASTRAEA's and Themis' statements on tables made by hand: each reaches every verdict that it has.

Their measures and verdicts on real tables are compared with the committed pages (`tests/papers/gallery`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from judged_tables import Tables, judged, rows, schedulers

from papers.judging import Verdict
from papers.ye2022.rules import SEVEN

HOLDS, OF_THOSE, DIRECTION, OTHERWISE, NOT_YET = Verdict


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


def losing(**values: float) -> Tables:
    """The others of the seven have 3 to 8."""
    return {"table11_venus": schedulers("tenant_sharing_loss", **FULL | values)}


def cases(*q1: float, median: float = 1.0) -> Tables:
    """A quarter of each tenant's cases is below this; half of them are below `median`."""
    return {"fig11_venus": rows("scheduler tenant q1 median", *(
        ("astraea", u, x, median) for u, x in enumerate(q1)))}  # fmt: skip


def knob(max_rho: tuple[float, ...], gpu_time: tuple[float, ...]) -> Tables:
    return {"themis19_apps": pd.DataFrame({"f": (0, 0.4, 0.8, 1.0), "max_rho": max_rho, "gpu_time": gpu_time})}


def violated(tried: int, failed: int) -> Tables:
    row = ("truth is a best response", tried, failed)
    return {"themis-properties_random": rows("property instances violations", row)}


FIFO, SIX = ("ye.f5.g4", "ye.f5.slow"), ("ye.f6.b.job1", "ye.f6.b.job23", "ye.f6.c")
SIZES = ("ye.f14.jct", "ye.f14.loss", "ye.f14.size")
TENANTS_LOSE = ("ye.f11.all", "ye.f11.best", "ye.f11.worst", "ye.f11.max", "ye.f11.min")

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
    ("ye.f9.jct", leases(9, 8, 7, 6.9, 7, 7), DIRECTION),  # flat to one end
    ("ye.f9.jct", leases(7, 7, 6.9, 7, 7, 7), OTHERWISE),  # flat
    ("ye.f9.900", leases(9, 8, 7, 7.3, 8, 9), HOLDS),
    ("ye.f9.900", leases(9, 8, 7, 7.5, 8, 9), DIRECTION),  # 900 s are better by 7 %
    ("ye.f9.900", leases(9, 8, 7, 8.0, 8, 9), OTHERWISE),
    ("ye.f10.astraea", lead(0.072, 0.1, yarn_cs=0.7), HOLDS),
    ("ye.f10.astraea", lead(0.12, 0.1, yarn_cs=0.8), DIRECTION),  # as the paper against YARN-CS
    ("ye.f10.astraea", lead(0.12, 0.1, yarn_cs=0.1), OTHERWISE),  # not in its order
    ("ye.f10.astraea", lead(0.2, 0.1, yarn_cs=0.8), OTHERWISE),  # in its order, three times as much
    ("ye.f13", seven(**FULL), HOLDS),
    ("ye.f13", seven(**FULL | {"hived": 0.95}), DIRECTION),
    ("ye.f13", seven(**FULL | {"hived": 0.5}), OTHERWISE),
    ("ye.f13", seven(**SOME, fifo=0.1), OF_THOSE),  # three of the seven, of which FIFO is none
    ("ye.f13", seven(**SOME | {"astraea": 9}), OTHERWISE),
    ("ye.f13.rival", seven(**FULL | {"tiresias_l": 2}), HOLDS),  # of the six rivals
    ("ye.f13.rival", seven(**SOME), OF_THOSE),
    ("ye.f10.philly", lead(0.2, 0.1), HOLDS),
    ("ye.f10.philly", lead(0.1, 0.2), OTHERWISE),
    ("ye.f10.philly", lead(0.2, 0.1, yarn_cs=0.5), OF_THOSE),
    (TENANTS_LOSE, losing(astraea=1, allox=1.3, tiresias_l=9), (HOLDS, HOLDS, HOLDS, HOLDS, HOLDS)),
    (TENANTS_LOSE, losing(astraea=4.4, allox=3.2, tiresias_l=7.5),
     (OTHERWISE, DIRECTION, DIRECTION, OTHERWISE, OTHERWISE)),
    ("ye.f11.most", cases(1, 1, 0.9), HOLDS),
    ("ye.f11.most", cases(1, 0.9, 0.9), DIRECTION),
    ("ye.f11.most", cases(0.9, 0.9, 0.9, median=0.95), OTHERWISE),
    (SIZES, sizes([5, 4, 3], [6, 5, 4]), (HOLDS, HOLDS, HOLDS)),
    (SIZES, sizes([5, 5.2, 3], [6, 5, 4]), (DIRECTION, DIRECTION, DIRECTION)),
    (SIZES, sizes([5, 5.8, 3], [6, 5, 4]), (OTHERWISE, OTHERWISE, DIRECTION)),
    (SIZES, sizes([7, 8, 9], [6, 5, 4]), (OTHERWISE, OTHERWISE, OTHERWISE)),
    (SIZES, sizes([5, 3.001, 3], [6, 3, 3]), (HOLDS, HOLDS, HOLDS)),  # at two sizes nobody waits
    (SIZES, sizes([4, 3, 2], [4, 3, 2]), (NOT_YET, NOT_YET, HOLDS)),
    ("themis.f08", knob((2.0, 1.5, 1.0, 1.0), (100, 101, 102, 110)), HOLDS),  # at 0.8
    ("themis.f08", knob((2.0, 1.5, 1.0, 1.0), (100, 101, 102, 105)), DIRECTION),  # 3 % below its neighbour
    ("themis.truth", violated(2000, 0), HOLDS),
    ("themis.truth", violated(2000, 1), OTHERWISE),
    ("themis.truth", violated(0, 0), NOT_YET),
]


@pytest.mark.parametrize(("ids", "tables", "verdicts"), CASES)
def test_rules(tmp_path: Path, ids: Any, tables: Tables, verdicts: Any) -> None:
    named, expected = ((ids,), (verdicts,)) if isinstance(ids, str) else (ids, verdicts)
    found = judged(tmp_path, tables, *named)
    assert tuple(found[id][0] for id in named) == expected
