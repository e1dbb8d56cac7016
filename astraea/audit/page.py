"""An audit as a page, and the tables behind it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Final

import jinja2
import pandas as pd

from astraea.audit import pictures
from astraea.audit.audit import Audit
from astraea.audit.causes import Cause
from astraea.audit.pictures import Part, figure_of, label_of, readable, section, table_of
from astraea.audit.scenarios import FEW
from astraea.core.metrics import SHARING_LOSS
from astraea.core.result import provenance
from astraea.core.text import counted
from astraea.core.units import duration_text

SHOWN: Final = 10
"""Waits that the page tells of; the table beside it has all that were explained."""

ROWS: Final = 40
CLASSES: Final = 12
"""Tenants in the table and the heat map, and in the picture of the waits: those with the most GPU-time due."""

FAR: Final = 0.25
"""A replay whose average wait is further from the log than this part of it is no ground for a choice."""

LIMITS: Final = (
    "Jobs come when they came, and run for as long as they ran: users who wait less may submit more.",
    "A job that depends on another one is submitted when it could have started. Reservations, broken or drained nodes, "
    "and priorities given by hand are not known; nor are jobs that were cancelled before they started.",
    "A job that was requeued is simulated with the running time of its last run, as if the earlier ones were lost.",
    "Schedulers with leases assume that every job can save its state and resume; the simulation charges a checkpoint "
    "and a restart each time.",
    "One log is one history. The intervals are over its jobs; another month would differ by more.",
)


def write(found: Audit, shares: str, folder: Path) -> None:
    """Write ``index.html``, a CSV file for each table, and ``audit.json`` into an existing folder.

    `shares` says where the shares come from, in a sentence.
    """
    tables = {
        "waits": found.causes, "owed": found.owed, "overview": found.overview, "waits_by_tenant": found.by_tenant,
        "waits_by_size": found.by_size, "load": found.over_time, "lease_terms": found.lease_terms,
    }  # fmt: skip
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n", float_format="%.10g")
    calibration = {**found.calibration._asdict(), "error": found.calibration.error}
    told = {
        "in_short": short(found, shares),
        "calibration": {name: None if math.isnan(value) else value for name, value in calibration.items()},
        "set_aside": found.trace.excluded_jobs["reason"].value_counts().to_dict(),
        **{name: json.loads(table.to_json(orient="records")) for name, table in tables.items()},
        "provenance": provenance({"trace": found.trace.name, "trace_sha256": found.trace.digest}),
    }
    text = json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "audit.json").write_text(text + "\n", encoding="utf-8")
    loader = jinja2.PackageLoader("astraea.audit", ".")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    trace, cluster = found.trace, found.cluster
    when = f", from {trace.origin:%Y-%m-%d %H:%M}" if trace.origin is not None else ""
    size = f"{counted(cluster.nodes, 'node')} of {counted(cluster.gpus_per_node, 'GPU')}"
    what = f"{counted(len(trace), 'job')} of {counted(len(trace.tenants), 'tenant')} on {size}"
    html = environment.get_template("page.html.jinja").render(
        name=trace.name, subtitle=f"{what}, {duration_text(found.end)}{when}", short=short(found, shares),
        sections=sections(found, shares),
    )  # fmt: skip
    (folder / "index.html").write_text(html, encoding="utf-8")


def short(found: Audit, shares: str) -> list[str]:
    """The findings, most important first."""
    lines = [f"{_who(found)} {shares}".strip(), *_gap(found)]
    if len(found.causes):
        weight = _weight(found)
        share = 100 * weight.iloc[0] / weight.sum()
        lines.append(
            f"The largest cause of waiting is “{weight.index[0]}”, with {share:.0f} % of the time of the "
            f"{counted(len(found.causes), 'wait')} that {'was' if len(found.causes) == 1 else 'were'} explained (the "
            "longest of each tenant)."
        )
    lines += [found.calibration.sentence, change(found)]
    few = int(found.overview["jobs"].min())
    if few < FEW:
        lines.append(f"With {counted(few, 'job')}, the means say little: look at the intervals before you act.")
    return lines


def _who(found: Audit) -> str:
    """The tenants that got least and most of what they were owed."""
    whole = found.owed[(found.owed["period"] == 0) & found.owed["rho"].notna()].sort_values("rho", kind="stable")
    if not len(whole):
        return ""
    names, part = whole["tenant"].tolist(), [f"{100 * rho:.0f} %" for rho in whole["rho"]]
    if len(whole) == 1:
        return f"{names[0]} got {part[0]} of the GPU-time that it was owed."
    least = f"{names[0]} got {part[0]} of the GPU-time that it was owed, the least of all tenants"
    return f"{least}, and {names[-1]} got {part[-1]}, the most."


def _gap(found: Audit) -> list[str]:
    """The period in which a tenant lacked most of what it was owed, if there is one."""
    parts = found.owed[found.owed["period"] > 0]
    row = parts.iloc[int((parts["owed"] - parts["got"]).to_numpy().argmax())]
    if parts["period"].max() < 2 or row["owed"] - row["got"] < 1e-6:
        return []
    owed, got = (f"{row[c]:,.0f}" if row["owed"] >= 10 else f"{row[c]:.2g}" for c in ("owed", "got"))
    when = f"{'on' if found.period == 'day' else 'in'} {found.period} {row['period']}"
    return [f"The largest gap: {when}, {row['tenant']} was owed {owed} GPU-hours and got {got}."]


def _weight(found: Audit) -> pd.Series[float]:
    """Time of the waits of each cause [s], the largest first."""
    return found.causes.groupby("cause")["wait"].sum().sort_values(ascending=False, kind="stable")


def change(found: Audit) -> str:
    """What to change first: the largest thing that the log and the simulations agree on."""
    if not found.calibration.waited:
        return "Nobody waited, so there is nothing to change."
    if abs(found.calibration.error) > FAR:
        mend = (
            "Before you choose a scheduler by this page, mend the replay: it is too far from the log. Name the "
            "scheduler that the cluster has, with its parameters (--scheduler, --param)."
        )
        if found.left_out > 0.05 * len(found.trace):
            mend += " Jobs larger than the whole share of their tenant are not in it: take larger tenants (--tenant)."
        return mend
    table = found.gains.sort_values("gain", ascending=False, kind="stable")
    table = table[(table["low"] > 0) & (table["over_log"] > 0)]
    if len(table):
        first = table.iloc[0]
        name, gain, low, high = str(first["scheduler"]), *(100 * float(first[c]) for c in ("gain", "low", "high"))
        waiting = float(first["more_waiting"])
        needs = "Its leases interrupt jobs, so they must be able to save their state and resume."
        return (
            f"Change the scheduler first: under {label_of(name)}, {gain:.1f} percentage points fewer of the jobs "
            f"that are owed GPU-time would have sharing loss (95 % interval {low:.1f} to {high:.1f}) than under the "
            f"cluster's own scheduler, and the average wait would be {duration_text(abs(waiting))} "
            f"{'longer' if waiting > 0 else 'shorter'}."
            f"{f' {needs}' if first['leases'] else ''}"
        )
    weight = _weight(found)
    if weight.get(str(Cause.GANG), 0.0) + weight.get(str(Cause.ORDER), 0.0) > 0.5 * weight.sum():
        return (
            "Most of the waiting is for GPUs that are free: ask for shorter time limits, so that backfill can use "
            "them, and pack small jobs onto as few nodes as possible."
        )
    return "Nothing stands out: no scheduler that was tried leaves clearly fewer jobs with sharing loss than yours."


def sections(found: Audit, shares: str) -> list[dict[str, Any]]:
    """Everything on the page, in order."""
    load = (
        "All jobs were submitted at once." if math.isnan(found.utilization)
        else f"Until the last submission, {100 * found.utilization:.0f} % of the cluster's GPU-time was in use."
    )  # fmt: skip
    return [
        section("The cluster", load, figure_of(pictures.load(found.over_time, found.cluster.gpus),
                 "GPUs in use, and GPUs that jobs waited for, over time."), *_aside(found)),
        section("Who got what they were owed", shares, *_owed(found)),
        section("Who waited, and why", *_why(found)),
        section("What if", *_what_if(found)),
        section("Which lease term", *_leases(found)),
        section("What to change first", change(found)),
        section("What this cannot know", {"lines": LIMITS}),
    ]  # fmt: skip


def _aside(found: Audit) -> list[Part]:
    counts = found.trace.excluded_jobs["reason"].value_counts()
    if not len(counts):
        return ["Every row of the log is a job of this page."]
    text = "Rows of the log that are not among the jobs of this page:"
    return [text, table_of(pd.DataFrame({"the row": counts.index, "rows": counts.to_numpy()}))]


def _owed(found: Audit) -> list[Part]:
    whole = found.owed[found.owed["period"] == 0]
    table = pd.DataFrame(
        {
            "tenant": whole["tenant"],
            "share [GPU]": whole["tenant"].map(found.quota),
            "jobs": whole["tenant"].map(found.jobs).fillna(0).astype(int),
            "got [GPU\u2011h]": whole["got"],
            "owed [GPU\u2011h]": whole["owed"],
            "got / owed": whole["rho"],
        }
    )
    text = (
        "At every moment, a tenant is owed what its jobs ask for, but no more than its share of the cluster. Below "
        "1, it got less than that; above 1, it also used what others left."
    )
    some = whole.nlargest(ROWS, "owed", keep="first")["tenant"]
    note = f" The {ROWS} that were owed most; owed.csv has all." if len(whole) > ROWS else ""
    parts = [text + note, table_of(table[table["tenant"].isin(some)])]
    if found.owed["period"].max() > 1:
        shown = found.owed[found.owed["tenant"].isin(some[whole.loc[some.index, "owed"] > 0])]
        parts.append(figure_of(pictures.fairness(shown, found.period),
                             f"GPU-time that each tenant got over what it was owed, {found.period} by {found.period}: "
                             "red is less, blue is more; grey cells were owed nothing."))  # fmt: skip
    return parts


def _why(found: Audit) -> list[Part]:
    if not len(found.causes):
        return ["Nobody waited."]
    weight = found.causes.pivot_table(index="tenant", columns="cause", values="wait", aggfunc="sum", fill_value=0.0)
    shares = (100 * weight.div(weight.sum(axis=1), axis=0))[list(_weight(found).index)].round(0).reset_index()
    shares.columns = pd.Index(["tenant", *(f"{c} [%]" for c in shares.columns[1:])])
    some = weight.sum(axis=1).nlargest(ROWS, keep="first").index
    many = f" (of the {ROWS} tenants that waited longest; waits.csv has all)" if len(shares) > ROWS else ""
    longest = found.causes.sort_values("wait", ascending=False, kind="stable").head(SHOWN)
    return [
        "The longest waits until the first start:",
        {"lines": [f"Job {why}." for why in longest["why"]]},
        f"What the longest waits of each tenant were for, in percent of their time{many}:",
        table_of(shares[shares["tenant"].isin(some)]),
    ]


def _what_if(found: Audit) -> list[Part]:
    names = {found.replay: f"{label_of(found.replay)}, replayed"}
    table = found.overview.assign(scheduler=[names.get(n, label_of(n)) for n in found.overview["scheduler"]])
    s = found.settings
    rounds = (
        f"Rounds are {s.interval:g} s apart; a checkpoint costs {s.checkpoint_overhead:g} s and a restart "
        f"{s.restart_overhead:g} s. A job has sharing loss if, over its life, it got less than "
        f"{100 * SHARING_LOSS:g} % of its part of its tenant's share."
    )
    out = (
        f" {counted(found.left_out, 'job')} asked for more GPUs than the whole share of the tenant, which schedulers "
        "with quotas can never run. They are in no row and no simulation here, but in the log the others ran, and "
        "waited, beside them: compare with the replay."
        if found.left_out else ""
    )  # fmt: skip
    tenants = list(found.owed[found.owed["period"] == 0].nlargest(CLASSES, "owed", keep="first")["tenant"])
    by_tenant = found.by_tenant[found.by_tenant["tenant"].isin(tenants)]
    which = f" of the {CLASSES} tenants that were owed most" if len(found.quota) > CLASSES else " of each tenant"
    return [
        found.calibration.sentence,
        f"The same jobs under other schedulers. {rounds}{out}",
        table_of(readable(table)),
        figure_of(pictures.waits(by_tenant, "tenant", found.replay),
                f"Average wait of the jobs{which}, with 95 % intervals."),
        figure_of(pictures.waits(found.by_size, "size", found.replay),
                "Average wait of small and large gangs, with 95 % intervals."),
    ]  # fmt: skip


def _leases(found: Audit) -> list[Part]:
    text, outcomes = found.lease_term, found.lease_terms.drop(columns="lease_term").drop_duplicates()
    return [text] if len(outcomes) == 1 else [text, table_of(readable(found.lease_terms))]
