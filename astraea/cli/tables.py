"""What `astraea simulate` tells of a run: its summary, and tables with a row per job, tenant and job set aside."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Final

import pandas as pd

from astraea.core.metrics import summary, tenant_windows
from astraea.core.result import JOB_COLUMNS, Result
from astraea.traces.trace import Trace

ROWS: Final = (
    ("GPU-time set aside", "set_aside_gpu_time", ".0f", 1, "GPU-s"),
    ("average JCT", "average_jct", ".1f", 1, "s"),
    ("median JCT", "median_jct", ".1f", 1, "s"),
    ("average slowdown", "average_slowdown", ".3f", 1, ""),
    ("sharing loss", "sharing_loss", ".2f", 100, "% of jobs"),
    ("tenant sharing loss", "tenant_sharing_loss", ".2f", 100, "% of tenant-days"),
    ("utilization", "utilization", ".2f", 100, "%"),
    ("overhead share", "overhead_share", ".3f", 100, "% of the average JCT"),
    ("simulated in", "seconds", ".3f", 1, "s"),
)
"""Lines of the summary: name, figure, its form, factor and unit."""


def run_summary(result: Result, trace: Trace) -> dict[str, Any]:
    """Collect what a program wants to know of a run; undefined figures are None."""
    reasons = all_excluded_jobs(result, trace)["reason"].value_counts().to_dict()
    figures = {
        "trace": trace.name,
        **summary(result),
        "set_aside_by_reader": len(trace.excluded_jobs),
        "excluded_jobs": dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
        "seconds": result.seconds,
    }
    return {name: None if isinstance(x, float) and math.isnan(x) else x for name, x in figures.items()}


def summary_text(figures: dict[str, Any], result: Result, trace: Trace) -> str:
    """Write the summary as a table."""
    about = result.provenance
    rows: list[tuple[str, Any, str]] = [
        ("jobs", figures["jobs"], ""),
        ("set aside", figures["set_aside_jobs"] + figures["set_aside_by_reader"], ""),
        *((f"  {reason}", number, "") for reason, number in figures["excluded_jobs"].items()),
    ]
    for name, key, form, times, unit in ROWS:
        rows.append((name, "-" if figures[key] is None else format(figures[key] * times, form), unit))
    wide = max(len(name) for name, _, _ in rows)
    head = f"{trace.name} on {about['nodes']} x {about['gpus_per_node']} GPUs under {about['policy']}"
    return "\n".join([head, *(f"{name:<{wide}}  {value:>12}  {unit}".rstrip() for name, value, unit in rows)])


def all_excluded_jobs(result: Result, trace: Trace) -> pd.DataFrame:
    """List what was set aside by the reader and before the run, in this order.

    Returns
    -------
    DataFrame, columns job_id, tenant, demand, duration, reason
        Tenant, demand and duration are missing where a reader found no job.
    """
    listed = trace.excluded_jobs
    table = pd.concat([listed, result.excluded_jobs], ignore_index=True) if len(listed) else result.excluded_jobs
    columns = ["job_id", "tenant", "demand", "duration", "reason"]
    return table.reindex(columns=columns).astype({"demand": "Int64"})


def write_tables(result: Result, trace: Trace, folder: Path) -> None:
    """Write ``jobs.csv``, ``tenants.csv``, ``excluded_jobs.csv`` and ``provenance.json`` into an existing folder.

    Numbers are written with as many digits as it takes to read the same number back; an undefined one is empty.
    """
    tables = {
        "jobs": result.jobs[list(JOB_COLUMNS)],
        "tenants": tenant_windows(result),
        "excluded_jobs": all_excluded_jobs(result, trace),
    }
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
    (folder / "provenance.json").write_text(json.dumps(result.provenance, indent=2) + "\n", encoding="utf-8")
