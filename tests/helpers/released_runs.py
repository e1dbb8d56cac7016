"""A folder of reference results, as the naive twin of the released simulator makes it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from released_twin import Job, Simulator

NODES = 2
ORDERS = {"astraea-repaired": "fairness", "tiresias": "2das", "themis": "themis"}


def write_runs(folder: Path, runs: tuple[str, ...] = tuple(ORDERS)) -> Path:
    """40 jobs of two tenants on 16 GPUs, and what the twin makes of them."""
    rows = [(k, "uv"[k % 2], [1, 2, 4, 1, 8][k % 5], 40 * k, 300 + 97 * (k * k % 31)) for k in range(40)]
    head = ["job_id", "user", "num_gpu", "submit_time", "duration"]
    jobs = pd.DataFrame(rows, columns=head)
    shown = jobs.assign(iterations=100, model_name="alexnet", interval=1, expect_time=jobs["duration"])
    shown.to_csv(folder / "w.input.csv.gz", index=False)
    for run in runs:
        twins = [Job(str(k), "uv".index(user), *rest) for k, user, *rest in rows]
        Simulator(twins, [8, 8], 16, ORDERS[run], run != "astraea-repaired").run()
        table = jobs[["job_id", "submit_time", "duration"]].assign(
            end_time=[j.end for j in twins],
            fairness=[round(j.fairness, 4) for j in twins],
            lease_expiry_cnt=[j.lease_ends for j in twins],
            preempt_cnt=[j.preemptions for j in twins],
        )
        table.to_csv(folder / f"w_n{NODES}_{run}.csv.gz", index=False)
    return folder
