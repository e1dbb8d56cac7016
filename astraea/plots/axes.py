"""What the axes of figures say: one word and one unit for every quantity, and ticks that a person reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from astraea.plots.style import LOOKS, look

WORDS: Final = {
    "alpha": ("Revenue fairness $\\alpha$", ""),
    "average_ftf": ("Average finish-time fairness", ""),
    "average_jct": ("Average JCT", "s"),
    "average_slowdown": ("Average slowdown", ""),
    "completed_jobs": ("Completed jobs", ""),
    "contention": ("Contention", ""),
    "cost": ("Cost of all jobs [$]", ""),
    "day": ("Day", ""),
    "demand": ("GPUs of the job", ""),
    "duration": ("Running time", "s"),
    "error": ("Error of estimates", ""),
    "exploration": ("Jobs of the app", ""),
    "f": ("Fairness knob $f$", ""),
    "factor": ("Factor on the reported $\\rho$", ""),
    "finish_time_fairness": ("Finish-time fairness $\\rho$", ""),
    "gpu_time": ("GPU time [GPU-h]", ""),
    "hour": ("Time [h]", ""),
    "ideal": ("Ideal revenue", ""),
    "held": ("GPUs in use", "GPU"),
    "high_jct": ("Average JCT, high priority", "s"),
    "jain": ("Jain's index of $\\rho$", ""),
    "jct": ("Job completion time", "s"),
    "jobs": ("Jobs", ""),
    "jobs_per_hour": ("Arrivals [jobs/h]", ""),
    "late_apps": ("Late apps", "share"),
    "lease_term": ("Lease term", "s"),
    "low_jct": ("Average JCT, low priority", "s"),
    "makespan": ("Makespan", "s"),
    "max_rho": ("Max. finish-time fairness $\\rho$", ""),
    "mean_rho": ("Average finish-time fairness $\\rho$", ""),
    "missed": ("Jobs that miss their deadline", "share"),
    "nodes": ("Nodes", ""),
    "nodes_percent": ("Nodes, relative to the evaluation", "%"),
    "overhead_share": ("Preemption overhead / JCT", "share"),
    "pending_time": ("Pending time", "s"),
    "placement": ("Placement score", ""),
    "preemptions_per_job": ("Preemptions per job", ""),
    "percent": ("Price at full use, relative to §4.4", "%"),
    "ratio": ("Revenue / optimum", ""),
    "relative_gpu_time": ("GPU time / work", ""),
    "relative": ("Relative to ASTRAEA, same seed", ""),
    "revenue": ("Total revenue", ""),
    "revenue_per_job": ("Revenue per job", ""),
    "rho_job": ("Job fairness $\\rho$", ""),
    "rho_tenant": ("Tenant fairness $\\rho$", ""),
    "round_length": ("Round", "s"),
    "running_time": ("Running time", "s"),
    "scheduler": ("", ""),
    "seconds": ("Time of one solve", "s"),
    "seconds_per_job": ("Time to plan one job [s]", ""),
    "servers": ("Servers", ""),
    "service_time": ("GPU service time", "GPU-s"),
    "share": ("Jobs", "share"),
    "sharing_loss": ("Jobs with sharing loss", "share"),
    "slowdown": ("Slowdown", ""),
    "tenant": ("Tenant", ""),
    "tenants": ("Tenants", ""),
    "tenant_sharing_loss": ("Tenant cases with sharing loss", "share"),
    "time": ("Time", "s"),
    "timestep": ("Timestep", ""),
    "total": ("Total effective throughput", ""),
    "variance": ("Variance of $\\alpha$", ""),
    "worker_price": ("Price of a worker", ""),
    "workers_in_use": ("Workers in use", ""),
    "ps_price": ("Price of a parameter server", ""),
    "utilization": ("Utilization", "share"),
    "waiting": ("GPUs waited for", "GPU"),
}
"""Column of a table -> its name in a figure, and its unit; `share` is a number in [0, 1] that is shown in percent."""

SECONDS: Final = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_MARKS: Final = (1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400)  # of a logarithmic time axis [s]


def duration_text(seconds: float) -> str:
    """Write a time in the largest unit that it fills: 90 -> ``1.5 min``."""
    unit = next((u for u in ("d", "h", "min") if abs(seconds) >= SECONDS[u]), "s")
    return f"{seconds / SECONDS[unit]:.3g} {unit}"


def name_axis(axis: Axis, column: str, *, log: bool = False) -> None:
    """Write a quantity and its unit at an axis, and set ticks that a person reads: times in s, min, h, d."""
    word, unit = WORDS.get(column, (str(column).replace("_", " ").capitalize(), ""))
    low, high = sorted(axis.get_view_interval())
    if unit == "s" and log:
        marks = [m for m in _MARKS if low <= m <= high]
        marks = marks[:: -(-len(marks) // 6)] if marks else []
        axis.set_major_locator(FixedLocator(marks))
        axis.set_major_formatter(FixedFormatter([duration_text(m).replace(" ", "\u2009") for m in marks]))
        axis.set_minor_locator(NullLocator())
        unit = ""  # it stands at every tick
    elif unit == "s":
        unit = next((u for u in ("d", "h", "min") if high >= 2 * SECONDS[u]), "s")
        scale = SECONDS[unit]
        steps = MaxNLocator(8, steps=[1, 2, 3, 5, 10] if unit == "h" else [1, 2, 5, 10]).tick_values(
            max(low, 0.0) / scale, high / scale
        )
        axis.set_major_locator(FixedLocator([float(t) * scale for t in steps if low <= t * scale <= high]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / scale:g}"))
    elif unit == "share":
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.4g}"))
        unit = "%"
    elif log:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator() if high / max(low, 1e-12) > 30 else axis.get_minor_locator())
        axis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    axis.set_label_text(f"{word} [{unit}]" if unit else word)


def name_ticks(ax: Axes, column: str, values: Sequence[Any]) -> None:
    """Label the positions 0, 1, 2, ... of a horizontal axis with these values, times in minutes, and name the axis."""
    word, unit = WORDS.get(column, (str(column).replace("_", " ").capitalize(), ""))
    if unit == "s":
        texts, unit = [f"{v / 60:g}" for v in values], "min"
    else:
        texts = [f"{v:g}" if isinstance(v, (int, float, np.number)) else look(v).label for v in values]
    slanted = len(values) > 4 and values[0] in LOOKS
    ax.set_xticks(range(len(values)), texts if slanted else [text.replace(" (", "\n(") for text in texts])
    if slanted:
        for label in ax.get_xticklabels():
            label.set(rotation=35, ha="right", rotation_mode="anchor")
    ax.set_xlabel(f"{word} [{unit}]" if unit else word)
