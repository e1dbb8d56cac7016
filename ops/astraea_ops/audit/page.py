"""The audit as a web page, with the tables behind it, and in OpenMetrics text for Prometheus.

Source: the OpenMetrics specification, text format 1.0 (prometheus.io/docs/specs/om/open_metrics_spec). Samples have no
times, so the textfile collector of Prometheus' node exporter accepts the file, too.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import jinja2
import pandas as pd

from astraea.core.result import provenance
from astraea.core.units import HOUR
from astraea.core.wording import counted, duration_text, labels_text
from astraea_ops.audit import sections
from astraea_ops.audit.audit import Audit
from astraea_ops.audit.causes import Cause
from astraea_ops.audit.compare import figures
from astraea_ops.audit.recorded import NOTICED, size_of
from astraea_ops.audit.scenarios import AS_IT_WAS, FEW
from astraea_ops.audit.sections import label_of, section

FAR: Final = 0.25
"""If the replayed average wait differs from the log by more than this part, no scheduler is recommended."""

SMALL: Final = 0.01
"""A smaller part of the GPU-time that a tenant was owed is no gap."""

BY_MONTH: Final = {
    "jobs": ("", "Jobs submitted in the month that started.", "jobs", 1.0),
    "waiting_jobs": ("", "Jobs submitted in the month that are still waiting.", "waiting", 1.0),
    "wait_mean_seconds": ("seconds", "Mean wait of the jobs submitted in the month.", "mean_wait", 1.0),
    "wait_median_seconds": ("seconds", "Median wait of the jobs submitted in the month.", "median_wait", 1.0),
    "wait_longest_seconds": ("seconds", "Longest wait of the jobs submitted in the month.", "longest_wait", 1.0),
    "owed_gpu_seconds": ("gpu_seconds", "GPU-time that the tenant was owed in the month.", "owed", HOUR),
    "attained_gpu_seconds": ("gpu_seconds", "GPU-time that the tenant got in the month.", "attained", HOUR),
}
"""For each tenant and month: unit, meaning, column of `scenarios.by_month` and factor to the unit."""


def write(
    found: Audit, shares: str, folder: Path, more: Sequence[dict[str, Any]] = (), has_settings: bool = False
) -> None:
    """Write ``index.html``, a CSV file for each table, ``audit.json`` and ``audit.prom`` into an existing folder.

    `shares` is a sentence about the origin of the shares; `more` are further sections, which follow the first one.
    `has_settings` is true if the cluster's own settings were given.
    """
    tables = {
        "waits": found.causes, "owed": found.owed, "overview": found.overview, "waits_by_tenant": found.by_tenant,
        "waits_by_size": found.by_size, "waits_by_month": found.by_month, "load": found.over_time,
        "lease_terms": found.lease_terms,
    }  # fmt: skip
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n", float_format="%.10g")
    if len(found.trace.excluded_jobs):
        found.trace.excluded_jobs.to_csv(folder / "excluded.csv", index=False, lineterminator="\n")
    calibration = {**found.calibration._asdict(), "error": found.calibration.error}
    told = {
        "in_short": (in_short := short(found, shares, has_settings)),
        "figures": figures(found),
        "calibration": {name: None if math.isnan(value) else value for name, value in calibration.items()},
        "excluded": found.trace.excluded_jobs["reason"].value_counts().to_dict(),
        **{name: json.loads(table.to_json(orient="records")) for name, table in tables.items()},
        "provenance": provenance({"trace": found.trace.name, "trace_sha256": found.trace.digest}),
    }
    text = json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "audit.json").write_text(text + "\n", encoding="utf-8")
    (folder / "audit.prom").write_text(as_openmetrics(found), encoding="utf-8")
    loader = jinja2.PackageLoader("astraea_ops.audit", ".")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters["with_options"] = _with_options
    trace = found.trace
    when = f", from {trace.origin:%Y-%m-%d %H:%M}" if trace.origin is not None else ""
    what = f"{counted(len(trace), 'job')} of {counted(len(trace.tenants), 'tenant')} on {size_of(found.cluster)}"
    page = environment.get_template("page.html.jinja").render(
        name=trace.name, subtitle=f"{what}, {duration_text(found.end)}{when}", short=in_short,
        sections=[
            section("The cluster", *sections.the_cluster(found)),
            *more,
            section("Who got what they were owed", shares, *sections.owed(found)),
            section("Who waited, and why", *sections.why(found)),
            section("What if", *sections.what_if(found)),
            section("Which lease term", *sections.leases(found)),
            section("What to change first", change(found, has_settings)),
            section("What this cannot know", {"lines": sections.LIMITS}),
        ],
    )  # fmt: skip
    (folder / "index.html").write_text(page, encoding="utf-8")


def _with_options(text: str) -> str:
    """Return a text as HTML, with the options of the command as code, so that no line ends inside one."""
    return re.sub(r"--[\w-]+", r"<code>\g<0></code>", html.escape(text))


def short(found: Audit, shares: str, has_settings: bool = False) -> list[str]:
    """Return the findings as sentences, most important first; arguments as in `write`."""
    lines = [sections.unread(found)] if sections.is_much(found.trace) else []
    lines += [f"{_least_and_most(found)} {shares}".strip(), *_largest_gap(found)]
    if len(found.causes):
        weight = sections.time_by_cause(found)
        share = 100 * weight.iloc[0] / weight.sum()
        lines.append(
            f"The largest cause of waiting is “{weight.index[0]}”, with {share:.0f} % of the time of the "
            f"{counted(len(found.causes), 'explained wait')} (the longest of each tenant)."
        )
    lines += [found.calibration.sentence, change(found, has_settings)]
    few = int(found.overview["jobs"].min())
    if few < FEW:
        lines.append(f"With {counted(few, 'job')}, the means say little: look at the intervals before you act.")
    return lines


def _least_and_most(found: Audit) -> str:
    """Return a sentence about the tenants that got least and most of what they were owed."""
    whole = found.owed[(found.owed["period"] == 0) & found.owed["rho"].notna()].sort_values("rho", kind="stable")
    if not len(whole):
        return ""
    got = [f"{name} got {100 * rho:.0f} %" for name, rho in zip(whole["tenant"], whole["rho"], strict=True)]
    if len(got) == 1:
        return f"{got[0]} of the GPU-time that it was owed."
    return f"{got[0]} of the GPU-time that it was owed, the least of all tenants, and {got[-1]}, the most."


def _largest_gap(found: Audit) -> list[str]:
    """Return a sentence about the period in which a tenant fell furthest short of what it was owed, if there is one."""
    parts = found.owed[found.owed["period"] > 0]
    row = parts.iloc[int((parts["owed"] - parts["got"]).to_numpy().argmax())]
    if parts["period"].max() < 2 or row["owed"] - row["got"] < SMALL * row["owed"]:
        return []
    owed, got = (f"{row[c]:,.0f}" if row["owed"] >= 10 else f"{row[c]:.2g}" for c in ("owed", "got"))
    when = f"{'on' if found.period == 'day' else 'in'} {found.period} {row['period']}"
    if found.trace.origin is not None and found.period in ("week", "day"):
        length = pd.Timedelta(1, "W" if found.period == "week" else "D")
        when += f" (from {found.trace.origin + (int(row['period']) - 1) * length:%Y-%m-%d})"
    return [f"The largest gap: {when}, {row['tenant']} was owed {owed} GPU-hours and got {got}."]


def change(found: Audit, has_settings: bool = False) -> str:
    """Return what to change first: the largest improvement that the log and the simulations agree on.

    `has_settings` is true if the cluster's own settings were given.
    """
    if not found.calibration.waited:
        return f"No job waited for more than {NOTICED:g} s, so there is nothing to change."
    if abs(found.calibration.error) > FAR:
        mend = "Improve the replay before you choose a scheduler from this page: it is too far from the log. " + (
            "Look at the settings that it ignores, and at what contradicts the log; or give another scheduler "
            "(--scheduler, --param)."
            if has_settings else
            "Give the settings of the cluster (--slurm-conf), or its scheduler (--scheduler, --param)."
        )  # fmt: skip
        if found.left_out > 0.05 * len(found.trace):
            mend += " It leaves out jobs larger than the whole share of their tenant: use larger tenants (--tenant)."
        return mend
    table = found.gains.sort_values("gain", ascending=False, kind="stable")
    table = table[(table["low"] > 0) & (table["over_log"] > 0)]
    if len(table):
        first = table.iloc[0]
        name, gain, low, high = str(first["scheduler"]), *(100 * float(first[c]) for c in ("gain", "low", "high"))
        waiting = float(first["more_waiting"])
        needs = "Its leases interrupt jobs, so jobs must be able to save their state and resume."
        return (
            f"Change the scheduler first: compared with the cluster's own, {label_of(name)} would lower the share of "
            f"jobs with sharing loss by {gain:.1f} percentage points (95 % interval {low:.1f} to {high:.1f}), and the "
            f"average wait would be {duration_text(abs(waiting))} {'longer' if waiting > 0 else 'shorter'}."
            f"{f' {needs}' if first['leases'] else ''}"
        )
    weight = sections.time_by_cause(found)
    if weight.get(str(Cause.GANG), 0.0) + weight.get(str(Cause.ORDER), 0.0) > 0.5 * weight.sum():
        return (
            "Most jobs wait although enough GPUs are free: ask users for shorter time limits, so that backfill can use "
            "those GPUs, and pack small jobs onto as few nodes as possible."
        )
    return "Nothing stands out: none of the schedulers tried leaves clearly fewer jobs with sharing loss than yours."


def as_openmetrics(found: Audit) -> str:
    """Format all metrics, each with its type, unit, meaning and samples; an undefined figure has no sample."""
    loss = found.overview.set_index("scheduler")["sharing_loss"].astype(float).loc[AS_IT_WAS]
    whole = {
        "utilization_ratio": ("GPU-time in use until the last submission.", found.utilization),
        "sharing_loss_ratio": ("Jobs with sharing loss, of those owed GPU-time.", float(loss)),
        "replay_error_ratio": ("Replayed over recorded average wait, less 1.", found.calibration.error),
        "replay_order_ratio": ("Pairs of jobs replayed in the recorded order.", found.calibration.in_order),
    }  # fmt: skip
    seconds = sections.time_by_cause(found)
    every = dict.fromkeys([*map(str, Cause), *map(str, seconds.index)])  # also those that only Slurm knows
    causes = [({"cause": cause}, float(seconds.get(cause, 0.0))) for cause in every]
    of = [{"tenant": str(r.tenant), "month": str(r.month)} for r in found.by_month.itertuples()]
    families: dict[str, tuple[str, str, list[tuple[dict[str, str], float]]]] = {
        **{name: ("ratio", meaning, [({}, value)]) for name, (meaning, value) in whole.items()},
        "wait_cause_seconds": ("seconds", "Time of the explained waits, by the cause that the page shows.", causes),
    }
    for name, (unit, meaning, column, factor) in BY_MONTH.items():
        values: pd.Series[float] = (found.by_month[column] * factor).astype(float)
        families[name] = (unit, meaning, list(zip(of, values, strict=True)))
    about = labels_text({"trace": found.trace.name, "scheduler": found.replay})
    lines = ["# TYPE astraea_audit info", "# HELP astraea_audit The log and the scheduler that was replayed."]
    lines.append(f"astraea_audit_info{about} 1.0")
    for name, (unit, meaning, samples) in families.items():
        full = f"astraea_audit_{name}"
        lines += [f"# TYPE {full} gauge", *([f"# UNIT {full} {unit}"] if unit else []), f"# HELP {full} {meaning}"]
        lines += [f"{full}{labels_text(labels)} {value!r}" for labels, value in samples if not math.isnan(value)]
    return "\n".join([*lines, "# EOF"]) + "\n"
