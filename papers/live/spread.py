"""Completion times as running times spread: ASTRAEA under leases, and Slurm's fair share without preemption.

Only the work itself takes time here, so the difference comes from the rule and not from its price.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.intervals import mean_interval
from astraea.core.metrics import average_jct, sharing_loss
from astraea.core.wording import listed
from astraea.traces.trace import Trace
from papers import charts
from papers.live.compared import SYSTEMS
from papers.live.tables import CLUSTER, HALF_LIFE, INTERVAL, LEASE, PASS, SHARES

SPREADS: Final = (0.0, 0.6, 1.2, 1.8, 2.4)  # standard deviation of log service; 0.6 in the experiment
SEEDS: Final = 20
JOBS: Final = 60
GAP: Final = 2.75  # between submissions, on average, as in the experiment [s]
LOAD: Final = 1.2  # what jobs ask for while they are submitted, over the GPUs: the average of the five repetitions
POLICIES: Final = {
    "astraea": get_policy("astraea").with_parameters(lease_term=LEASE),
    "slurm": get_policy("slurm").with_parameters(interval=PASS, half_life=HALF_LIFE),
}


def spread_jobs(spread: float, seed: int) -> Trace:
    """Jobs of the experiment's tenants and demands, with service times that spread so much, all at the load `LOAD`."""
    rng = np.random.default_rng(seed)
    demand = rng.choice((1, 2, 4, 8), JOBS, p=(0.3, 0.25, 0.25, 0.2))
    service = np.exp(spread * rng.standard_normal(JOBS))
    service *= LOAD * CLUSTER.gpus * JOBS * GAP / (demand * service).sum()
    columns = {
        "job_id": [str(k) for k in range(JOBS)], "tenant": rng.choice(list(SHARES), JOBS, p=(0.4, 0.3, 0.3)),
        "demand": demand, "submit_time": np.sort(rng.uniform(0, JOBS * GAP, JOBS)), "duration": service,
        "time_limit": 2 * service.max(),
    }  # fmt: skip
    return Trace.from_frame(pd.DataFrame(columns), name=f"spread {spread:g}, seed {seed}", weights=SHARES)


def spread_table() -> pd.DataFrame:
    """Average JCT [s] and sharing loss of both systems; columns spread, seed, system, jct, loss."""
    settings, rows = Settings(interval=INTERVAL, checkpoint_overhead=0, restart_overhead=0), []
    for spread in SPREADS:
        for seed in range(SEEDS):
            jobs = spread_jobs(spread, seed)
            for system, policy in POLICIES.items():
                result = simulate(jobs, CLUSTER, policy, settings=settings)
                rows.append((spread, seed, system, average_jct(result), sharing_loss(result)))
    return pd.DataFrame(rows, columns=["spread", "seed", "system", "jct", "loss"])


def spread_picture(table: pd.DataFrame) -> Figure:
    """Means over seeds of `spread_table`, a line for each system."""
    fig, axes = charts.panels(columns=2, width=3.4, height=2.5)
    means = {column: table.pivot_table(column, "spread", "system") for column in ("jct", "loss")}
    for (system, (name, color)), mark in zip(SYSTEMS.items(), ("o-", "s--"), strict=True):
        for ax, column, factor in zip(axes, ("jct", "loss"), (1, 100), strict=True):
            ax.plot(SPREADS, factor * means[column][system].to_numpy(), mark, color=color, label=name, markersize=4)
    for ax, label in zip(axes, ("Average JCT [s]", "Jobs with loss [%]"), strict=True):
        ax.set(xlabel="Standard deviation of log service", ylabel=label)
        ax.set_ylim(bottom=0)
    charts.title(axes[0], "(a) completion times")
    charts.title(axes[1], "(b) sharing loss")
    jct, loss = _where_lower(table, "jct"), _where_lower(table, "loss")
    return charts.legend(fig, columns=2, headline=f"ASTRAEA has the lower JCT at {jct}, the lower loss at {loss}")


def _where_lower(table: pd.DataFrame, column: str) -> str:
    """The spreads at which ASTRAEA is lower by more than the seeds differ: the paired 95 % interval excludes 0."""
    wide = table.pivot_table(column, ["spread", "seed"], "system")
    minus = (wide["astraea"] - wide["slurm"]).rename("minus").reset_index()
    found = mean_interval(minus, "spread", "minus")
    spreads = found["spread"][found["high"] < 0]
    return f"{'a spread' if len(spreads) == 1 else 'spreads'} of {listed(spreads)}" if len(spreads) else "no spread"
