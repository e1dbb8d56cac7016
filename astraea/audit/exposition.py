"""An audit in OpenMetrics text, for Prometheus.

Source: the OpenMetrics specification, text format 1.0 (prometheus.io/docs/specs/om/open_metrics_spec). Samples have no
times, so the textfile collector of Prometheus' node exporter accepts the file, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import pandas as pd

from astraea.audit.audit import Audit
from astraea.audit.causes import Cause
from astraea.audit.scenarios import AS_IT_WAS
from astraea.audit.sections import time_by_cause
from astraea.core.text import labels_text
from astraea.core.units import HOUR

BY_MONTH: Final = {
    "jobs": ("", "Jobs submitted in the month that started.", "jobs", 1.0),
    "waiting_jobs": ("", "Jobs submitted in the month that are still waiting.", "waiting", 1.0),
    "wait_mean_seconds": ("seconds", "Mean wait of the jobs submitted in the month.", "mean_wait", 1.0),
    "wait_median_seconds": ("seconds", "Median wait of the jobs submitted in the month.", "median_wait", 1.0),
    "wait_longest_seconds": ("seconds", "Longest wait of the jobs submitted in the month.", "longest_wait", 1.0),
    "owed_gpu_seconds": ("gpu_seconds", "GPU-time that the tenant was owed in the month.", "owed", HOUR),
    "attained_gpu_seconds": ("gpu_seconds", "GPU-time that the tenant got in the month.", "attained", HOUR),
}
"""For each tenant and month: unit, meaning, column of `history.by_month` and factor to the unit."""


def as_openmetrics(found: Audit) -> str:
    """Format all metrics, each with its type, unit and meaning; an undefined figure has no sample."""
    lines = _family("info", "info", "", "The log and the scheduler that was replayed.",
                    [({"trace": found.trace.name, "scheduler": found.replay}, 1.0)])  # fmt: skip
    loss = found.overview.set_index("scheduler")["sharing_loss"].astype(float).loc[AS_IT_WAS]
    whole = {
        "utilization_ratio": ("ratio", "GPU-time in use until the last submission.", found.utilization),
        "sharing_loss_ratio": ("ratio", "Jobs with sharing loss, of those owed GPU-time.", float(loss)),
        "replay_error_ratio": ("ratio", "Replayed over recorded average wait, less 1.", found.calibration.error),
        "replay_order_ratio": ("ratio", "Pairs of jobs replayed in the recorded order.", found.calibration.in_order),
    }  # fmt: skip
    for name, (unit, meaning, value) in whole.items():
        lines += _family(name, "gauge", unit, meaning, [({}, value)])
    seconds = time_by_cause(found)
    causes = [({"cause": str(cause)}, float(seconds.get(str(cause), 0.0))) for cause in Cause]
    meaning = "Time of the explained waits, by the cause that lasted longest in each."
    lines += _family("wait_cause_seconds", "gauge", "seconds", meaning, causes)
    months = found.by_month
    of = [{"tenant": str(r.tenant), "month": str(r.month)} for r in months.itertuples()]
    for name, (unit, meaning, column, factor) in BY_MONTH.items():
        values: pd.Series[float] = months[column] * factor
        lines += _family(name, "gauge", unit, meaning, zip(of, values.astype(float), strict=True))
    return "\n".join([*lines, "# EOF"]) + "\n"


def _family(
    name: str, kind: str, unit: str, meaning: str, samples: Iterable[tuple[dict[str, str], float]]
) -> list[str]:
    """Format one metric: its type and meaning, then its samples."""
    full = "astraea_audit" if kind == "info" else f"astraea_audit_{name}"
    lines = [f"# TYPE {full} {kind}", *([f"# UNIT {full} {unit}"] if unit else []), f"# HELP {full} {meaning}"]
    for labels, value in samples:
        if not math.isnan(value):
            lines.append(f"astraea_audit_{name}{labels_text(labels)} {value!r}")
    return lines
