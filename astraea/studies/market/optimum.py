"""Figs 5 and 6 of [Wang2023]: what the schedulers earn of what an offline optimum earns, on small markets.

The optimum may use every slot until the last job of those schedulers that share has ended. It is seconds of HiGHS for
15 jobs; where the time limit is over, the ratio is to a bound that no plan which ends by then exceeds, and is
thus too small.
"""

from __future__ import annotations

from typing import Any, Final

import pandas as pd

from astraea.experiments.parallel import parallel_map
from astraea.market.metrics import makespan, performance_ratio
from astraea.market.optimum import optimum
from astraea.studies.market.runs import SCHEDULERS, Cell, market_of, market_scale, planned

TIME_LIMIT: Final = 60.0
"""Of one optimum [s]."""

TENANTS: Final = 2


def ratio_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Performance ratio of the four schedulers; parameters as in `market.revenue_table`.

    Returns
    -------
    DataFrame, columns jobs, servers, scheduler, trial, ratio, is_exact
        `is_exact` where the optimum was found, not only a bound of it.
    """
    size = market_scale(scale)
    calls = [
        (trace, scale, Cell("optimum", trial, jobs, servers, tenants=TENANTS))
        for jobs in size.small_jobs for servers in size.small_servers for trial in range(size.trials)
    ]  # fmt: skip
    found = parallel_map(_ratios, calls)
    return pd.DataFrame([row for rows in found for row in rows])


def _ratios(trace: str, scale: str, cell: Cell) -> list[dict[str, Any]]:
    market = market_of(trace, scale, cell)
    plans = {name: planned(market, name) for name in SCHEDULERS}
    horizon = max(makespan(plan) for name, plan in plans.items() if name != "batch-sche")
    best = optimum(market, horizon=horizon, time_limit=TIME_LIMIT)
    return [
        {
            "jobs": cell.jobs,
            "servers": cell.servers,
            "scheduler": name,
            "trial": cell.trial,
            "ratio": performance_ratio(plan, best.bound),
            "is_exact": best.plan is not None,
        }
        for name, plan in plans.items()
    ]
