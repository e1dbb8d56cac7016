"""The statements of Themis against tables made by hand: every rule reaches every verdict that it has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import pytest
from judging import Judge

from astraea.core.errors import InputError
from papers.judging import Verdict

HOLDS, DIRECTION, OTHERWISE, NOT_YET = Verdict

BASELINES = ("tiresias", "optimus", "gandiva-packing", "slaq")
TRUTH = "truth is a best response"


@pytest.fixture
def judge(judge_all: Judge) -> Judge:
    """(verdict, measured, note) of these statements, with tables as stem__trace."""
    return partial(judge_all, "themis.")


def rhos(*values: float) -> pd.DataFrame:
    """Largest rho of Themis and its baselines; two trials around each."""
    names = ("themis", *BASELINES)[: len(values)]
    return pd.DataFrame(
        [{"scheduler": s, "trial": k, "max_rho": x + d} for s, x in zip(names, values, strict=True)
         for k, d in enumerate((-0.1, 0.1))]
    )  # fmt: skip


def knob(max_rho: Sequence[float], gpu_time: Sequence[float], fs: Sequence[float] = (0, 0.4, 0.8, 1.0)) -> pd.DataFrame:
    """Two trials around each value, from the largest f to the smallest."""
    rows = [(f, k, r * (1 + d), g * (1 - d)) for f, r, g in zip(fs, max_rho, gpu_time, strict=True)
            for k, d in enumerate((-0.1, 0.1))]  # fmt: skip
    return pd.DataFrame(rows[::-1], columns=["f", "trial", "max_rho", "gpu_time"])


def leases(max_rho: Sequence[float]) -> pd.DataFrame:
    """Themis; a single auction and the strawman would say the opposite."""
    terms = [10800.0 / 2**k for k in range(len(max_rho))][::-1]
    rows = [("themis", t, x) for t, x in zip(terms, max_rho, strict=True)]
    rows += [("themis", float("inf"), 0.0), *(("strawman", t, 1e6 / t) for t in terms)]
    return pd.DataFrame(rows, columns=["scheduler", "lease_term", "max_rho"])


def test_without_tables_nothing_is_judged(judge: Judge) -> None:
    found = judge()
    assert {verdict for verdict, _, _ in found.values()} == {NOT_YET}
    assert found["themis.truth"][2] == "themis-properties_random.csv is not there"


@pytest.mark.parametrize(("rho", "verdict"), [(0.9, HOLDS), (1.2, HOLDS), (1.3, DIRECTION), (1.41, OTHERWISE)])
def test_bound(judge: Judge, rho: float, verdict: str) -> None:
    found = judge(themis09__apps=rhos(rho))
    assert found["themis.rho"][:2] == (verdict, f"{rho:g}")
    assert found["themis.max"][::2] == (NOT_YET, "tiresias is not among the schedulers of themis09_apps.csv")


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([1.2, 1.3, 1.4, 1.5, 1.6], HOLDS),
        ([1.2, 1.3, 1.4, 1.5, 1.1], DIRECTION),
        ([1.2, 1.3, 1.4, 1.1, 1.1], OTHERWISE),
    ],
)
def test_lowest_of_five(judge: Judge, values: list[float], verdict: str) -> None:
    others = rhos(1.0).assign(scheduler="strawman")  # is not among the four
    found = judge(themis09__apps=pd.concat([rhos(*values), others]))["themis.max"]
    assert found[0] == verdict
    assert found[1].startswith("themis 1.2, tiresias 1.3, optimus 1.4, ") and "strawman" not in found[1]


def test_the_knob(judge: Judge) -> None:
    def verdicts(max_rho: Sequence[float], gpu_time: Sequence[float]) -> tuple[str, str]:
        found = judge(themis19__apps=knob(max_rho, gpu_time))
        return found["themis.f19.f"][0], found["themis.f19.gpu"][0]

    assert verdicts([3, 2, 1.5, 1.5], [100, 110, 120, 121]) == (HOLDS, HOLDS)
    assert verdicts([3, 2, 1.5, 1.7], [100, 120, 110, 121]) == (DIRECTION, DIRECTION)
    assert verdicts([1.5, 2, 3, 3.1], [120, 110, 100, 119]) == (OTHERWISE, OTHERWISE)
    found = judge(themis19__apps=knob([3, 2, 1.5, 1.5], [100, 110, 120, 121]))
    assert found["themis.f19.f"][1] == "3 at f = 0, 2 at f = 0.4, 1.5 at f = 0.8, 1.5 at f = 1"
    assert found["themis.f19.gpu"][1].endswith(", 121 GPU-h at f = 1")
    one = judge(themis19__apps=knob([3], [100], [0.8]))
    assert {one[id][0] for id in ("themis.f19.f", "themis.f19.gpu", "themis.f08")} == {NOT_YET}


@pytest.mark.parametrize(
    ("fs", "max_rho", "gpu_time", "verdict"),
    [
        ((0, 0.4, 0.8, 1.0), (2.0, 1.5, 1.0, 1.0), (100, 101, 102, 110), HOLDS),  # at 0.8
        ((0, 0.4, 0.6, 1.0), (2.0, 1.5, 1.0, 1.0), (100, 101, 102, 110), HOLDS),  # at 0.6
        ((0, 0.4, 0.8, 1.0), (2.0, 1.1, 1.0, 1.0), (100, 101, 120, 130), DIRECTION),  # at 0.4
        ((0, 0.4, 0.8, 1.0), (2.0, 1.5, 1.1, 1.0), (100, 101, 102, 103), OTHERWISE),  # at 1
        ((0, 0.4, 0.8, 1.0), (1.0, 1.0, 1.0, 1.0), (100, 101, 102, 103), OTHERWISE),  # at 0
    ],
)
def test_the_trade_off(
    judge: Judge, fs: Sequence[float], max_rho: Sequence[float], gpu_time: Sequence[float], verdict: str
) -> None:
    products = [r / min(max_rho) * g / min(gpu_time) for r, g in zip(max_rho, gpu_time, strict=True)]
    lowest = fs[products.index(min(products))]
    got, shown, _ = judge(themis19__apps=knob(max_rho, gpu_time, fs))["themis.f08"]
    assert got == verdict
    assert shown.startswith(f"lowest at f = {lowest:g} with {min(products):.3f}; ") and shown.count(" at ") == 4


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([1.1, 1.2, 1.3, 1.4], HOLDS),
        ([1.1, 1.3, 1.2, 1.4], DIRECTION),
        ([1.4, 1.3, 1.2, 1.1], OTHERWISE),
        ([1.1], NOT_YET),
    ],
)
def test_shorter_leases(judge: Judge, values: list[float], verdict: str) -> None:
    got, shown, _ = judge(themis19_lease__apps=leases(values))["themis.f19.lease"]
    assert got == verdict
    if got != NOT_YET:
        assert shown == ", ".join(f"{x:g} at {t} s" for x, t in zip(values, (1350, 2700, 5400, 10800), strict=True))


def test_truth(judge: Judge) -> None:
    table = pd.DataFrame(
        {"property": [TRUTH, f"{TRUTH}, without payments"], "instances": [2000, 2000], "violations": [0, 300]}
    )
    found = judge(themis_properties__random=table)["themis.truth"]
    assert found[:2] == (HOLDS, "violated in 0 of 2,000 random auctions")
    assert judge(themis_properties__random=table.assign(violations=1))["themis.truth"][0] == OTHERWISE
    assert judge(themis_properties__random=table.assign(instances=0))["themis.truth"][0] == NOT_YET
    assert judge(themis_properties__random=table.iloc[1:])["themis.truth"][0] == NOT_YET


def test_a_lost_column_is_said(judge: Judge) -> None:
    with pytest.raises(InputError, match=r"themis19_apps\.csv: column 'gpu_time' is missing"):
        judge(themis19__apps=knob([2, 1], [1, 1], [0, 1]).drop(columns="gpu_time"))
