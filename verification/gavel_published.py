"""Average JCTs that Gavel's authors published with their code, and the same runs here.

The notebooks beside the released simulator print the average JCT of jobs 4,000 to 4,999 of seed 0, on 36 V100s, 36
P100s and 36 K80s. For gangs they are probably from an older version of the code: on a trace of gangs, averages of the
released code and ours differ by 2.4 % under LAS het. (`verification`), while the published average is 13 % above ours.
The differences of that version are unknown. With an earlier engine, which ends within 0.1 points of this one here, we
tried one change at a time. The table shows how far LAS het. and LAS het. with sharing then are from the published
averages (-11.7 and -15.1 % without a change):

    no GPUs beyond the allocation           -11.7  -14.7
    rounds of 12 minutes                    -11.3  -14.7
    solved at every change                  -14.1  -16.1
    the first gang that does not fit blocks  -8.3  -14.4
    20 s lost in each preemption             -6.0  -14.0   jobs on one GPU then miss theirs, by +6 % instead of +2 %
    gangs as slow as on scattered GPUs     +151.1 +109.7

FIFO agrees within 0.4 % by chance: with 20 s lost it is 14 % below, with 40 s 27 % above.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import joblib
import numpy as np
import pandas as pd

from papers.gavel.simulate import AS_RELEASED, simulate
from papers.gavel.throughputs.table import Throughputs
from verification.gavel_generator import released_continuous

SYSTEMS: Final = {
    "FIFO": "fifo-released",
    "LAS": "las",
    "LAS het.": "las-het",
    "LAS het. + SS": "las-het-ss",
    "Gandiva": "gandiva-released",
    "AlloX": "allox",
    "FTF het.": "ftf-het",
}
"""Names in the notebooks -> the same here."""

AVERAGES: Final[dict[tuple[str, float], tuple[float | None, ...]]] = {
    ("single", 0.4): (17.58, 23.26, 17.58, 18.42, 17.58, 17.58, 17.58),
    ("single", 4.0): (25.38, 23.49, 16.82, 16.96, 18.88, 17.13, 17.57),
    ("single", 5.2): (151.67, 63.78, 22.02, 19.14, 34.32, 21.96, None),
    ("multiple", 2.0): (37.56, 28.91, 21.90, 20.85, 25.16, None, 21.80),
}
"""Continuous-single or -multiple, and jobs per hour -> average JCT under each of `SYSTEMS` [h]."""

FIRST: Final = 4000
LAST: Final = 4999
"""The last of the jobs from `FIRST` on that are averaged."""

WORKERS: Final = (36, 36, 36)
CLOSE: Final = 0.1
"""Relative difference that counts as agreement."""


def verify_published(throughputs: str | Path, *, only: tuple[tuple[str, float, str], ...] = ()) -> pd.DataFrame:
    """Simulate the runs behind the published averages, in parallel.

    Parameters
    ----------
    throughputs : path
        The measured ones.
    only : tuple of (workload, jobs per hour, system)
        Only these; all if empty.

    Returns
    -------
    DataFrame, columns workload, jobs_per_hour, system, average_jct, published_jct, difference, agrees
        Times in h; the difference is relative to the published average.
    """
    cells = [
        (workload, rate, system, value)
        for (workload, rate), row in AVERAGES.items()
        for system, value in zip(SYSTEMS, row, strict=True)
        if value is not None and (not only or (workload, rate, system) in only)
    ]
    table = Throughputs.read(throughputs)
    calls = (joblib.delayed(_average)(number, table, *cell[:3]) for number, cell in enumerate(cells))
    found = dict(joblib.Parallel(n_jobs=-1)(calls))
    frame = pd.DataFrame(cells, columns=["workload", "jobs_per_hour", "system", "published_jct"])
    frame.insert(3, "average_jct", [found[number] for number in range(len(cells))])
    frame["difference"] = frame["average_jct"] / frame["published_jct"] - 1
    frame["agrees"] = frame["difference"].abs() <= CLOSE
    return frame


def _average(number: int, throughputs: Throughputs, workload: str, rate: float, system: str) -> tuple[int, float]:
    """Average JCT of one run [h]."""
    # arrivals go on while the last measured jobs run
    drawn = released_continuous(6000, rate, throughputs, multiple=workload == "multiple", seed=0)
    result = simulate(drawn, throughputs, WORKERS, SYSTEMS[system], AS_RELEASED, until=LAST + 1)
    return number, float(np.mean(result.jobs["jct"].iloc[FIRST:])) / 3600


def shown_published(table: pd.DataFrame) -> str:
    """Write the comparison for a person: ours, theirs behind it, and the difference."""
    cells = [
        f"{ours:.2f} ({theirs:.2f}) {100 * off:+.1f} %"
        for ours, theirs, off in zip(table["average_jct"], table["published_jct"], table["difference"], strict=True)
    ]
    rows = table["workload"] + ", " + table["jobs_per_hour"].map("{:g}/h".format)
    wide = pd.DataFrame({"run": rows, "system": table["system"], "cell": cells})
    systems = [name for name in SYSTEMS if name in set(table["system"])]
    wide = wide.pivot_table(index="system", columns="run", values="cell", aggfunc="first")
    wide = wide.reindex(systems)[list(dict.fromkeys(rows))]
    good = int(table["agrees"].sum())
    return (
        f"average JCT [h] of jobs {FIRST:,} to {LAST:,}:\n{wide.fillna('').to_string()}\n\n{good} of {len(table)} "
        f"published averages are met within {100 * CLOSE:g} %."
    )
