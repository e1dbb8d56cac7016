"""How much a recommended lease term hangs on overheads and load ([Ye2022] §6.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.experiments.grid import Grid
from astraea.experiments.run import Run
from astraea.studies.ye2022.evaluation import LARGE
from astraea.studies.ye2022.lease_term import lease_means, recommended_term
from astraea.traces.trace import Trace

SWEPT_TERMS: Final = (300.0, 600.0, 900.0, 1800.0, 3600.0)
"""Lease terms of the sensitivity sweep [s]."""

OVERHEADS: Final = (0.5, 2.0, 4.0)
"""Factors on the checkpoint and restart overheads in the sensitivity sweep."""

LOADS: Final = (0.8, 1.2)
"""Factors on the rate of arrival in the sensitivity sweep."""

SWEPT_JOBS: Final = 10_000
"""Jobs of the sensitivity sweep where a trace has more than `LARGE`."""

def recommendations(frame: pd.DataFrame, by: str) -> pd.DataFrame:
    """Recommended lease term of each case, with what it costs.

    Returns
    -------
    DataFrame, index `by`, columns recommended, best [s], then the average JCT [s], overhead and sharing loss there
    """
    rows = {}
    for case, part in frame.groupby(by, sort=False):
        term, _ = recommended_term(part)
        means, best = lease_means(part)
        rows[case] = {"recommended": term, "best": best, **means.loc[term]}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(by)


def sensitivity_grid(trace: Trace, cluster: Cluster) -> Grid:
    """ASTRAEA with a few lease terms when overheads are smaller or larger, or jobs come slower or faster.

    One thing is changed at a time; the unchanged case comes first. Of a trace with more than `LARGE` jobs, the first
    `SWEPT_JOBS` are taken. Columns of the index: what, overheads, load (factors), lease_term [s].
    """
    jobs = trace.head(SWEPT_JOBS) if len(trace) > LARGE else trace
    usual = Settings()
    cases = [("as it is", 1.0, 1.0)]
    cases += [(f"overheads × {f:g}", f, 1.0) for f in OVERHEADS] + [(f"load × {f:g}", 1.0, f) for f in LOADS]
    runs, rows = [], []
    for what, overheads, load in cases:
        settings = replace(
            usual,
            checkpoint_overhead=overheads * usual.checkpoint_overhead,
            restart_overhead=overheads * usual.restart_overhead,
        )
        loaded = jobs if load == 1 else jobs.scale_load(load)
        for term in SWEPT_TERMS:
            runs.append(Run(loaded, cluster, get_policy("astraea")(lease_term=term), settings=settings))
            rows.append({"what": what, "overheads": overheads, "load": load, "seed": 0, "lease_term": term})
    return Grid(runs, pd.DataFrame(rows))
