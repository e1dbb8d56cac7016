"""Each statement of [Mahajan2020] that is checked: its rule, and the table and column that it is measured on.

The rules are those of `evaluate`, between means over trials; ``<=`` is about the mean over trials of the largest
rho of a run. A trade-off needs one number: the largest rho times the GPU-time, both relative to their smallest over f.
``shape`` is about where that product is lowest. As f is a part, it holds if that is inside the range and at most 0.2
from the paper's value, and in direction if it is inside the range. ``property`` holds if no counter-example is known.

[Mahajan2020] K. Mahajan et al., Themis: Fair and Efficient GPU Cluster Scheduling, NSDI 2020.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from astraea.reports.claims.rules import (
    DIRECTION,
    HOLDS,
    OTHERWISE,
    Judged,
    Missing,
    Rule,
    Tables,
    most,
    no_counter_example,
    number,
    trend,
)  # fmt: skip

BASELINES: Final = ("tiresias", "optimus", "gandiva-packing", "slaq")
TRUTH: Final = "truth is a best response"
NEAR: Final = 0.2
"""Distance of f at which the paper's value is met."""


def _max_rho(tables: Tables, trace: str, *names: str) -> pd.Series[float]:
    """Mean over trials of the largest rho, by scheduler."""
    got = tables.by_scheduler("themis09", trace, "max_rho")
    for name in names:
        if name not in got:
            raise Missing(f"{name} is not among the schedulers of themis09_{trace}.csv")
    return got[list(names)]


def _bounded(tables: Tables, trace: str, id: str) -> Judged:
    """Fig 9: Themis is fair."""
    got, bound = float(_max_rho(tables, trace, "themis").iloc[0]), tables.paper[id]
    return number(got, ""), HOLDS if got <= bound else DIRECTION if got <= 2 * bound - 1 else OTHERWISE


def _lowest(tables: Tables, trace: str, id: str) -> Judged:
    """Fig 9: Themis against the four baselines."""
    got = _max_rho(tables, trace, "themis", *BASELINES)
    shown = ", ".join(f"{name} {number(x, '')}" for name, x in got.items())
    return shown, most([bool(got["themis"] < got[name]) for name in BASELINES])


def _by_f(tables: Tables, trace: str, *columns: str) -> pd.DataFrame:
    """Fig 19: means over trials, by f in ascending order."""
    return tables("themis19", trace, "f", *columns).groupby("f")[list(columns)].mean().sort_index()


def knob_trend(column: str, unit: str, rising: bool) -> Rule:
    """``monotone`` over the fairness knob f."""

    def check(tables: Tables, trace: str, id: str) -> Judged:
        got = _by_f(tables, trace, column)[column]
        shown = ", ".join(f"{number(x, unit)} at f = {f:g}" for f, x in got.items())
        return shown, trend(got.tolist(), rising)

    return Rule("themis19", check)


def _trade_off(tables: Tables, trace: str, id: str) -> Judged:
    """Fig 19 and §4: where the product of the largest rho and the GPU-time is lowest."""
    got = _by_f(tables, trace, "max_rho", "gpu_time")
    if len(got) < 3:
        raise Missing("there are fewer than three values of f")
    product = (got / got.min()).prod(axis=1)
    f = float(got.index[int(product.argmin())])
    is_inside = got.index[0] < f < got.index[-1]
    near = is_inside and abs(f - tables.paper[id]) <= NEAR + 1e-9
    rest = ", ".join(f"{x:.3f} at {k:g}" for k, x in product.items() if k != f)
    shown = f"lowest at f = {f:g} with {product.min():.3f}; {rest}"
    return shown, HOLDS if near else DIRECTION if is_inside else OTHERWISE


def _shorter_is_fairer(tables: Tables, trace: str, id: str) -> Judged:
    """Fig 19: Themis, all lease terms but that without end."""
    frame = tables("themis19-lease", trace, "scheduler", "lease_term", "max_rho")
    frame = frame[(frame["scheduler"] == "themis") & np.isfinite(frame["lease_term"])]
    got = frame.groupby("lease_term")["max_rho"].mean().sort_index()
    return ", ".join(f"{number(x, '')} at {t:g} s" for t, x in got.items()), trend(got.tolist(), rising=True)


THEMIS_RULES: Final[dict[str, Rule]] = {
    "themis.rho": Rule("themis09", _bounded),
    "themis.max": Rule("themis09", _lowest),
    "themis.f19.f": knob_trend("max_rho", "", rising=False),
    "themis.f19.gpu": knob_trend("gpu_time", "GPU-h", rising=True),
    "themis.f19.lease": Rule("themis19-lease", _shorter_is_fairer),
    "themis.f08": Rule("themis19", _trade_off),
    "themis.truth": no_counter_example("themis-properties", TRUTH, "auctions"),
}
"""Statement -> how it is checked."""
