"""Tables of [Mahajan2020] §6: schedulers compared, the fairness knob, lease terms, contention, errors of estimates.

All are made of the runs of `themis_runs`, which says what is drawn and how large each scale is. The columns measured
are those of `themis.metrics.rho_summary`.

[Mahajan2020] K. Mahajan et al., Themis: Fair and Efficient GPU Cluster Scheduling, NSDI 2020.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.result import Result
from astraea.studies.themis.runs import SCHEDULERS, Cell, measured, tabulated, themis_scale
from astraea.themis.metrics import rho_summary

APP_COLUMNS: Final = (
    "job_id", "model", "exploration", "gang", "contention", "jct", "finish_time_fairness", "rho_job", "placement",
    "queueing_delay",
)  # fmt: skip

MEASURED: Final = ("max_rho", "jain", "gpu_time", "relative_gpu_time", "placement", "average_jct")
ONE_BIDDER: Final = "themis-one-bidder"


def comparison_tables(scale: str = "paper") -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fig 9 and beyond: every scheduler at the usual point, all apps together and app by app.

    Parameters
    ----------
    scale : {"small", "paper", "full"}
    **computing
        jobs, backend, scheduler: where it is computed; the numbers do not depend on it.

    Returns
    -------
    DataFrame, columns scheduler, trial, and those of `rho_summary`
    DataFrame, columns scheduler, trial, and `APP_COLUMNS`
        One row per app (`themis.record.app_table`): exploration is the number of its jobs, gang the GPUs of each,
        contention the average number of active apps in its life; jct and queueing_delay in s.

    Raises
    ------
    InputError
        If there is no such scale.
    """
    cells = [Cell(scheduler, trial) for scheduler in SCHEDULERS for trial in range(themis_scale(scale).trials)]
    found = measured(scale, cells, _both)
    rows = [{**_who(cell), **summary} for cell, (summary, _) in zip(cells, found, strict=True)]
    parts = [apps.assign(**_who(cell)) for cell, (_, apps) in zip(cells, found, strict=True)]
    apps = pd.concat(parts, ignore_index=True)
    return pd.DataFrame(rows), apps[["scheduler", "trial", *APP_COLUMNS]]


def _who(cell: Cell) -> dict[str, Any]:
    return {"scheduler": cell.scheduler, "trial": cell.trial}


def _both(result: Result) -> tuple[dict[str, float], pd.DataFrame]:
    return rho_summary(result), result.jobs[list(APP_COLUMNS)]


def knob_table(scale: str = "paper") -> pd.DataFrame:
    """Fig 19: Themis with more and fewer apps in its auctions; parameters as in `comparison_tables`.

    Returns
    -------
    DataFrame, columns f, trial, max_rho, jain, gpu_time [GPU-h], relative_gpu_time, placement, average_jct [s]
    """
    size = themis_scale(scale)
    cells = [Cell("themis", trial, f=f) for f in size.fs for trial in range(size.trials)]
    columns = ("f", "trial", *MEASURED)
    return tabulated(scale, cells, columns)


def lease_table(scale: str = "paper") -> pd.DataFrame:
    """Fig 19: lease terms; parameters as in `comparison_tables`.

    Returns
    -------
    DataFrame, columns scheduler, lease_term [s], trial, and those of `knob_table`
        Of Themis, the strawman and Tiresias. A lease term of ``inf`` is one-shot.
    """
    size = themis_scale(scale)
    cells = [
        Cell(scheduler, trial, lease_term=term)
        for scheduler in ("themis", "strawman", "tiresias") for term in size.leases for trial in range(size.trials)
    ]  # fmt: skip
    columns = ("scheduler", "lease_term", "trial", *MEASURED)
    return tabulated(scale, cells, columns)


def contention_table(scale: str = "paper") -> pd.DataFrame:
    """§6, effect of contention: the same apps, arriving faster or slower; parameters as in `comparison_tables`.

    Returns
    -------
    DataFrame, columns scheduler, contention, trial, and those of `knob_table`
        Scheduler `ONE_BIDDER` is Themis with f = 1.
    """
    size = themis_scale(scale)
    cells = [
        Cell(scheduler, trial, contention=contention, f=f)
        for scheduler, f in (*((name, 0.8) for name in SCHEDULERS), ("themis", 1.0))
        for contention in size.contentions for trial in range(size.contention_trials)
    ]  # fmt: skip
    found = tabulated(scale, cells, ("scheduler", "contention", "trial", *MEASURED))
    is_one = np.array([cell.f == 1.0 for cell in cells])
    return found.assign(scheduler=found["scheduler"].mask(is_one, ONE_BIDDER))


def error_table(scale: str = "paper") -> pd.DataFrame:
    """§6, sensitivity: agents whose estimates are wrong; parameters as in `comparison_tables`.

    Returns
    -------
    DataFrame, columns scheduler, error, trial, max_rho, average_jct [s]
        Of those who use rho, Themis and the strawman.
    """
    size = themis_scale(scale)
    cells = [
        Cell(scheduler, trial, error=error)
        for scheduler in ("themis", "strawman") for error in size.errors for trial in range(size.trials)
    ]  # fmt: skip
    return tabulated(scale, cells, ("scheduler", "error", "trial", "max_rho", "average_jct"))
