"""ASTRAEA as written against ASTRAEA as released: which variants are compared, and what is measured of each.

The variants lead from Algorithms 1 and 2 ([Ye2022] §5.2), one option at a time, to the rules of the simulator that the
authors released. Where that one has no cost of checkpoints and restarts, the same is simulated with and without.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster import Cluster
from astraea.engine.state import HOUR, quotas
from astraea.evaluation import Grid, load_workload, seeds
from astraea.evaluation_tables import fairness_figures, long_form
from astraea.experiments import Run
from astraea.metrics import average_jct, average_slowdown, overhead_share
from astraea.policies import get_policy
from astraea.result import Result
from astraea.simulate import Settings, simulate
from astraea.trace import Trace

DAY: Final = 86_400.0
MINUTE: Final = 60.0

NO_COST: Final = Settings(checkpoint_overhead=0.0, restart_overhead=0.0)
"""As in the released simulator."""

OPTIONS: Final[dict[str, float]] = {
    "tenant_window": DAY, "idle_guard": 0.2, "starvation": 6 * HOUR, "early_lease": 300.0,
}  # fmt: skip
"""Parameters of `astraea` that come closest to a rule of the released code, with its values."""


class Variant(NamedTuple):
    """One scheduler to compare: its name in figures, the policy with its parameters, and what is simulated besides.

    With `minutes`, the trace is that of `whole_minutes`.
    """

    name: str
    policy: str
    parameters: Mapping[str, Any]
    settings: Settings = Settings()
    minutes: bool = False


WRITTEN, ALL_FOUR, RELEASED, SKIPPED = "as written", "all four options", "as released", "skipped neighbour"
_SKIP: Final = {"skipped_neighbour": "true"}

VARIANTS: Final = (
    Variant(WRITTEN, "astraea", {}),
    Variant("last 24 h", "astraea", {"tenant_window": OPTIONS["tenant_window"]}),
    Variant("idle guard", "astraea", {"idle_guard": OPTIONS["idle_guard"]}),
    Variant("starvation queue", "astraea", {"starvation": OPTIONS["starvation"]}),
    Variant("early leases", "astraea", {"early_lease": OPTIONS["early_lease"]}),
    Variant(ALL_FOUR, "astraea", OPTIONS),
    Variant(RELEASED, "astraea-released", {}),
    Variant(SKIPPED, "astraea-released", _SKIP),
    Variant("no delay jobs", "astraea-released", {"delay_threshold": 0}),
    Variant("order 2das", "astraea-released", {"job_order": "2das"}),
    Variant("order themis", "astraea-released", {"job_order": "themis"}),
    Variant("order fifo", "astraea-released", {"job_order": "fifo"}),
)  # fmt: skip
"""With overheads; in the order of the figures. Themis' order knows true remaining times, as in the released code."""

FREE_VARIANTS: Final = (
    Variant(WRITTEN, "astraea", {}, NO_COST),
    Variant(RELEASED, "astraea-released", {}, NO_COST),
    Variant(SKIPPED, "astraea-released", _SKIP, NO_COST),
    Variant(RELEASED, "astraea-released", {}, NO_COST, minutes=True),
    Variant(SKIPPED, "astraea-released", _SKIP, NO_COST, minutes=True),
)
"""Without overheads; the last two on whole minutes."""


def released_grid(trace: str, scale: str = "paper") -> Grid:
    """Every variant on up to three seeds.

    Columns of the index: variant, overheads (whether they are paid), minutes (whether times are whole minutes),
    scheduler, seed, nodes.
    """
    runs, rows = [], []
    for seed in seeds(trace, scale):
        jobs, cluster = load_workload(trace, scale, seed)
        rounded = whole_minutes(jobs)
        for v in (*VARIANTS, *FREE_VARIANTS):
            policy = get_policy(v.policy)(**v.parameters)
            runs.append(Run(rounded if v.minutes else jobs, cluster, policy, settings=v.settings))
            rows.append(
                {
                    "variant": v.name,
                    "overheads": v.settings != NO_COST,
                    "minutes": v.minutes,
                    "scheduler": v.policy,
                    "seed": seed,
                    "nodes": cluster.nodes,
                }
            )
    return Grid(runs, pd.DataFrame(rows))


def study_figures(result: Result) -> dict[str, Any]:
    """Efficiency and fairness of one run; times in s, shares in [0, 1].

    Returns
    -------
    dict
        Scalars by name (`first_wait` is the mean time from submission to the first lease, `longest_wait` the largest
        sum of a job's waits), and arrays with one value per job: its tenant, its slowdown, `waited_loss` (rho_job
        below 0.95 and a wait of a round or longer), `held` (GPUs that its tenant held at the last full hour before
        its submission).
    """
    jobs, fair = result.jobs, fairness_figures(result)
    waited = jobs["queueing_delay"] >= float(result.provenance["interval"])
    return {
        "average_jct": average_jct(result),
        "average_slowdown": average_slowdown(result),
        **{k: fair[k] for k in ("sharing_loss", "waited_loss", "tenant_sharing_loss", "tenant_below_99")},
        "first_wait": float((jobs["first_start_time"] - jobs["submit_time"]).mean()),
        "longest_wait": float(jobs["queueing_delay"].max()),
        "overhead_share": overhead_share(result),
        "preemptions_per_job": float(jobs["preemptions"].mean()),
        "tenant": jobs["tenant"].to_numpy(),
        "slowdown": jobs["slowdown"].to_numpy(),
        "loses": (waited & (jobs["rho_job"] < 0.95)).to_numpy(),
        "held": held_at_submission(result),
    }


def held_at_submission(result: Result) -> np.ndarray:
    """GPUs that the tenant of each job held at the last full hour before the job's submission [GPU]."""
    names = pd.Index(result.timeline["tenant"].unique())
    hourly = result.timeline["held"].to_numpy().reshape(-1, len(names))
    hour = (result.jobs["submit_time"].to_numpy() // HOUR).astype(int)
    held: np.ndarray = hourly[np.minimum(hour, len(hourly) - 1), names.get_indexer(result.jobs["tenant"])]
    return held


def whole_minutes(trace: Trace) -> Trace:
    """The trace with submission times and durations rounded up to whole minutes, as in the authors' workloads."""
    return dataclasses.replace(
        trace,
        name=f"{trace.name}, whole minutes",
        submit_time=np.ceil(trace.submit_time / MINUTE) * MINUTE,
        duration=np.ceil(trace.duration / MINUTE) * MINUTE,
    )


def staggered(trace: Trace, seed: int = 0) -> Trace:
    """The trace with each submission 0, 10, ... or 50 s later, at random: the opposite of `whole_minutes`."""
    later = 10.0 * np.random.default_rng(seed).integers(0, 6, len(trace))
    order = np.argsort(trace.submit_time + later, kind="stable")
    shifted = dataclasses.replace(trace, name=f"{trace.name}, staggered")
    moved = shifted._take(order)
    return dataclasses.replace(moved, submit_time=(trace.submit_time + later)[order])
