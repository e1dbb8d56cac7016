"""What an app gains by reporting a larger rho than it has, and what the others lose ([Mahajan2020] §3, §3.3)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.experiments.parallel import parallel_map
from astraea.studies.themis.runs import Cell, ThemisScale, simulated, themis_scale


def lies_table(scale: str = "paper") -> pd.DataFrame:
    """One app after the other multiplies every rho that it reports, under the strawman and under Themis.

    The liars are spread evenly over the order of arrival in one workload of the usual point; all others tell the truth.

    Parameters
    ----------
    scale : {"small", "paper", "full"}
    **computing
        As in `themis.comparison_tables`.

    Returns
    -------
    DataFrame, columns mechanism, f, factor, app, jct, others
        `f` is NaN for the strawman. `jct` is the liar's completion time, `others` the average one of all other apps,
        both relative to the run in which everybody tells the truth: `jct` below 1 is what the lie gains.

    Raises
    ------
    InputError
        If there is no such scale.
    """
    size = themis_scale(scale)
    cells = [Cell("strawman", 0), *(Cell("themis", 0, f=f) for f in size.few_fs)]
    liars = [int(i) for i in (np.arange(size.liars) + 0.5) * size.lying_apps / size.liars]
    lies = [(factor, liar) for factor in size.factors for liar in liars]
    calls = [(size, cell, *lie) for cell in cells for lie in ((1.0, 0), *lies)]  # factor 1 is the truth
    found = iter(parallel_map(_completion_times, calls))
    rows = []
    for cell in cells:
        f = cell.f if cell.scheduler == "themis" else np.nan
        truth = next(found)
        for factor, liar in lies:
            lied, others = next(found), np.arange(len(truth)) != liar
            mine, theirs = lied[liar] / truth[liar], lied[others].mean() / truth[others].mean()
            rows.append((cell.scheduler, f, factor, f"app-{liar}", mine, theirs))
    return pd.DataFrame(rows, columns=["mechanism", "f", "factor", "app", "jct", "others"])


def _completion_times(size: ThemisScale, cell: Cell, factor: float, liar: int) -> FloatArray:
    """JCT of every app if one lies by this factor [s]."""
    smaller = size._replace(apps=size.lying_apps)
    return simulated(smaller, cell, {f"app-{liar}": factor}).jobs["jct"].to_numpy()
