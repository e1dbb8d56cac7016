"""Where finish-time fairness and long-term GPU-time fairness disagree, on the same apps of the same runs.

An app is *late* if it finishes later than its share of the cluster would have let it, by more than what [Ye2022] §6.3
allows in GPU-time: rho = T_shared / T_isolated above 1 / 0.95. It *lacks GPU-time* if its rho_job is below 0.95.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from astraea.core.metrics import SHARING_LOSS
from astraea.themis.metrics import LATE

CASES: Final = ("neither", "late only", "lacks GPU-time only", "both")
PLACED: Final = {0.75: "below 0.75", 0.9: "0.75 to 0.9", 1.0: "0.9 to 1", np.inf: "1"}
"""Upper end of a placement score, not included -> what the group is called."""


def quadrants(apps: pd.DataFrame) -> pd.DataFrame:
    """Share of the apps (a row of `tables.app_table` each) of each scheduler in each of `CASES`; rows add up to 1."""
    case = (apps["finish_time_fairness"] > LATE) + 2 * (apps["rho_job"] < SHARING_LOSS)
    named = case.astype(int).map(dict(enumerate(CASES)))
    table = pd.crosstab(apps["scheduler"], named, normalize="index")
    return table.reindex(columns=list(CASES), fill_value=0.0)


def by_placement(apps: pd.DataFrame) -> pd.DataFrame:
    """What becomes of apps (a row of `tables.app_table` each) by how well their gangs were placed.

    Returns
    -------
    DataFrame, columns scheduler, placement (text), apps, finish_time_fairness, rho_job, late
        Means; `late` is the share of late apps. Groups without apps are left out.
    """
    group = pd.cut(apps["placement"].round(9), [-np.inf, *PLACED], right=False, labels=list(PLACED.values()))
    frame = apps.assign(late=(apps["finish_time_fairness"] > LATE).astype(float))
    averages = {name: (name, "mean") for name in ("finish_time_fairness", "rho_job", "late")}
    means = frame.groupby(["scheduler", group], observed=True).agg(apps=("late", "size"), **averages)
    return means.reset_index().astype({"placement": str})
