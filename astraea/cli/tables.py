"""Output of commands: summary and tables of one run, and the standings of many policies."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Final

import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.core.metrics import NAMES, summary
from astraea.core.result import JOB_COLUMNS, Result
from astraea.core.units import HOUR
from astraea.core.wording import counted
from astraea.traces.trace import Trace

ROWS: Final = (
    "excluded_gpu_time", "average_jct", "median_jct", "average_slowdown", "sharing_loss", "tenant_sharing_loss",
    "makespan", "utilization", "overhead_share",
)  # fmt: skip
"""Figures of the summary that are printed after the number of jobs."""

STANDINGS: Final = {
    "sharing_loss": ("jobs with sharing loss [%]", 100.0),
    "tenant_below_99": ("tenant cases below 0.99 [%]", 100.0),
    "average_jct": ("average JCT [h]", 1 / HOUR),
    "slowdown_99": ("99 % slowdown", 1.0),
    "longest_wait": ("longest wait [h]", 1 / HOUR),
    "preemptions_per_job": ("preemptions per job", 1.0),
}
"""Heading of each measure of a leaderboard, and the factor to its unit."""


def run_summary(result: Result, trace: Trace) -> dict[str, Any]:
    """Collect the figures of a run for a program; undefined figures are None."""
    reasons = all_excluded_jobs(result, trace)["reason"].value_counts().to_dict()
    figures = {
        "trace": trace.name,
        **summary(result),
        "excluded_by_reader": len(trace.excluded_jobs),
        "excluded_reasons": dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
        "seconds": result.seconds,
    }
    return {name: None if isinstance(x, float) and math.isnan(x) else x for name, x in figures.items()}


def summary_text(figures: dict[str, Any], result: Result, trace: Trace) -> str:
    """Write the summary as a table."""
    about = result.provenance
    rows = {
        "jobs": figures["jobs"],
        "excluded": figures["excluded_jobs"] + figures["excluded_by_reader"],
        **{f"  {reason}": number for reason, number in figures["excluded_reasons"].items()},
        **{NAMES[key][0]: None if figures[key] is None else NAMES[key][1] * figures[key] for key in ROWS},
        "simulated in [s]": figures["seconds"],
    }
    texts = {name: _number(value) for name, value in rows.items()}
    width, digits = max(map(len, texts)), max(map(len, texts.values()))
    lines = [f"{name:<{width}}  {text:>{digits}}" for name, text in texts.items()]
    heading = f"{trace.name} on {about['nodes']} x {about['gpus_per_node']} GPUs under {about['policy']}"
    return "\n".join([heading, *lines])


def _number(value: float | None) -> str:
    """Return a figure as text, whole numbers without decimals."""
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def all_excluded_jobs(result: Result, trace: Trace) -> pd.DataFrame:
    """List the jobs excluded by the reader, then those excluded before the run; what is unknown is missing."""
    listed = trace.excluded_jobs
    table = pd.concat([listed, result.excluded_jobs], ignore_index=True) if len(listed) else result.excluded_jobs
    columns = ["job_id", "tenant", "demand", "duration", "reason", "line", "detail"]
    return table.reindex(columns=columns).astype({"demand": "Int64", "line": "Int64"})


def write_tables(result: Result, trace: Trace, folder: Path) -> None:
    """Write ``jobs.csv``, ``tenants.csv``, ``excluded_jobs.csv`` and ``provenance.json`` into an existing folder.

    Numbers have as many digits as are needed to read the same number back; an undefined number is empty.
    """
    tables = {
        "jobs": result.jobs[list(JOB_COLUMNS)],
        "tenants": result.tenants,
        "excluded_jobs": all_excluded_jobs(result, trace),
    }
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
    (folder / "provenance.json").write_text(json.dumps(result.provenance, indent=2) + "\n", encoding="utf-8")


def standings_text(name: str, submitted: int, cluster: Cluster, table: pd.DataFrame) -> str:
    """Format `leaderboard.standings` of one log: ``value [interval] #rank (interval)`` by policy and measure."""
    ranked = table[table["reason"] == ""]
    seeds, weeks = int(ranked["seeds"].max()), int(ranked["weeks"].max())
    over = f"{seeds} seeds" if seeds > 1 else f"{weeks} weeks" if weeks else "less than two weeks"
    intervals = "95 % intervals" if ranked["low"].notna().any() else "no intervals"
    shown = {
        heading: ranked[ranked["measure"] == measure].set_index("scheduler").apply(_standing, axis=1, factor=factor)
        for measure, (heading, factor) in STANDINGS.items()
    }
    run = int(ranked["jobs"].max())
    left = f" (without {counted(submitted - run, 'gang')} that some policy never starts)" if run < submitted else ""
    size = f"{run:,} jobs{left}, {cluster} GPUs"
    lines = [f"{name}, {size}; {intervals} over {over}; # is the rank"]
    lines += pd.DataFrame(shown).rename_axis(None).to_string().splitlines()
    lines += [f"{row.scheduler}: not run, {row.reason}" for row in table[table["reason"] != ""].itertuples()]
    return "\n".join(lines)


def _standing(row: pd.Series[Any], factor: float) -> str:
    """Format a value with its interval and rank."""
    value, low, high = (factor * row[name] for name in ("value", "low", "high"))
    if math.isnan(value):
        return "-"
    interval = "" if math.isnan(low) else f" [{_rounded(low)}, {_rounded(high)}]"
    ranks = "" if pd.isna(row["rank_low"]) else f" ({row['rank_low']}-{row['rank_high']})"
    return f"{_rounded(value)}{interval} #{row['rank']}{ranks}"


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
