"""An audit as a page, and the tables behind it."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from astraea.audit import pictures, scenarios
from astraea.audit.audit import Audit
from astraea.audit.causes import Cause
from astraea.audit.scenarios import AS_IT_WAS, FEW
from astraea.core.result import provenance
from astraea.plots import charts
from astraea.plots.style import duration_text

SHOWN: int = 10
"""Waits that the page tells of; the table beside it has all that were explained."""

Part = dict[str, Any]


def write(found: Audit, shares: str, folder: Path) -> None:
    """Write ``index.html``, a CSV file for each table, and ``audit.json`` into an existing folder.

    Parameters
    ----------
    found : Audit
    shares : str
        Where the shares come from, in a sentence.
    folder : path
    """
    tables = {
        "waits": found.causes, "owed": found.owed, "overview": found.overview, "waits_by_tenant": found.by_tenant,
        "waits_by_size": found.by_size, "load": found.over_time, "lease_terms": found.lease_terms,
    }  # fmt: skip
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n", float_format="%.10g")
    page = sections(found, shares)
    told = {
        "in_short": short(found, shares),
        "calibration": {**found.calibration._asdict(), "error": found.calibration.error},
        "set_aside": found.trace.excluded_jobs["reason"].value_counts().to_dict(),
        **{name: json.loads(table.to_json(orient="records")) for name, table in tables.items()},
        "provenance": provenance({"trace": found.trace.name, "trace_sha256": found.trace.digest}),
    }
    text = json.dumps(_plain(told), indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "audit.json").write_text(text + "\n", encoding="utf-8")
    loader = jinja2.PackageLoader("astraea.audit", ".")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    html = environment.get_template("page.html.jinja").render(
        name=found.trace.name, subtitle=subtitle(found), short=short(found, shares), sections=page
    )
    (folder / "index.html").write_text(html, encoding="utf-8")


def _plain(value: Any) -> Any:
    """What JSON has: no NaN."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def subtitle(found: Audit) -> str:
    """What was audited."""
    trace, cluster = found.trace, found.cluster
    end = float(found.results[AS_IT_WAS].jobs["end_time"].max())
    when = f" from {trace.origin:%Y-%m-%d %H:%M}" if trace.origin is not None else ""
    return (
        f"{len(trace):,} jobs of {len(trace.tenants)} tenants on {cluster.nodes} nodes of {cluster.gpus_per_node} GPUs, "
        f"{duration_text(end)}{when}"
    )


def short(found: Audit, shares: str) -> list[str]:
    """The findings, most important first."""
    whole = found.owed[(found.owed["period"] == 0) & found.owed["rho"].notna()].sort_values("rho", kind="stable")
    lines = []
    if len(whole):
        least, most = whole.iloc[0], whole.iloc[-1]
        lines.append(
            f"{least['tenant']} got {100 * least['rho']:.0f} % of the GPU-time that it was owed, {most['tenant']} "
            f"{100 * most['rho']:.0f} %. {shares}"
        )
    if len(found.causes):
        weight = found.causes.groupby("cause")["wait"].sum()
        first = weight.idxmax()
        lines.append(
            f"Of the {len(found.causes)} waits that were looked at, the longest of each tenant, "
            f"{100 * weight[first] / weight.sum():.0f} % of the time have the cause “{first}”."
        )
    lines += [found.calibration.sentence, change(found)]
    few = found.overview["jobs"].min()
    if few < FEW:
        lines.append(f"With {few} jobs the means say little: look at the intervals before you act.")
    return lines


def change(found: Audit) -> str:
    """What to change first: the largest thing that the log and the simulations agree on."""
    table = found.overview.set_index("scheduler")
    replay = table.loc[found.replay]
    others = table.drop(index=[AS_IT_WAS, found.replay])
    if abs(found.calibration.error) > 0.25:
        return (
            "First mend the replay: it is so far from the log that no scheduler should be chosen by it; give the "
            "parameters that the cluster's scheduler has."
        )
    best = str(others["sharing_loss"].idxmin())
    gain = 100 * float(replay["sharing_loss"] - others.loc[best, "sharing_loss"])
    wait = float(others.loc[best, "average_wait"] - replay["average_wait"])
    if gain > 1:
        return (
            f"First: let jobs be interrupted. {_label(best)} would leave {gain:.0f} points fewer of the jobs "
            f"with sharing loss than the cluster's own scheduler does, at {duration_text(abs(wait))} "
            f"{'more' if wait > 0 else 'less'} waiting on average."
        )
    weight = found.causes.groupby("cause")["wait"].sum() if len(found.causes) else pd.Series(dtype=float)
    if weight.get(str(Cause.GANG), 0.0) + weight.get(str(Cause.ORDER), 0.0) > 0.5 * weight.sum():
        return "First: ask for shorter time limits and pack gangs; most waiting is for GPUs that are free."
    return "No scheduler that was tried leaves clearly fewer jobs with sharing loss; the cluster is short of GPUs, or is not."


def sections(found: Audit, shares: str) -> list[Part]:
    """Everything on the page, in order."""
    was = found.results[AS_IT_WAS]
    until = float(was.jobs["submit_time"].max())
    used = scenarios.use(was, until)
    load = (
        f"Until the last submission {100 * used:.0f} % of the GPU-time was held." if until > 0
        else "All jobs were submitted at once."
    )  # fmt: skip
    return [
        _section("The cluster", _text(load), _figure(pictures.load(found.over_time, found.cluster.gpus),
                 "GPUs that jobs held, and that jobs waited for, over time."), *_aside(found)),
        _section("Who got what they were owed", _text(shares), *_owed(found)),
        _section("Who waited, and why", *_why(found)),
        _section("What if", *_what_if(found)),
        _section("Which lease term", _text(found.lease_term), _table(_readable(found.lease_terms))),
        _section("What to change first", _text(change(found))),
        _section("What this cannot know", _list(*LIMITS)),
    ]  # fmt: skip


LIMITS = (
    "Jobs come when they came and take as long as they took: whoever waits less may submit more.",
    "Dependencies are known only as the time from which a job could start; reservations, broken or drained nodes and "
    "priorities that people were given are not known.",
    "A job that was requeued is simulated with the time of its last run, as if it had lost everything before.",
    "Schedulers with leases assume that every job can save its state and go on; what that costs are the checkpoint and "
    "restart overheads of the simulation.",
    "One log is one history. Intervals are over its jobs; another month would differ by more.",
)


def _aside(found: Audit) -> list[Part]:
    counts = found.trace.excluded_jobs["reason"].value_counts()
    if not len(counts):
        return [_text("Every row of the log is a job.")]
    rows = pd.DataFrame({"rows of the log that are no job here": counts.index, "number": counts.to_numpy()})
    return [_table(rows)]


def _owed(found: Audit) -> list[Part]:
    whole = found.owed[found.owed["period"] == 0]
    jobs = found.results[AS_IT_WAS].jobs
    table = pd.DataFrame(
        {
            "tenant": whole["tenant"],
            "jobs": whole["tenant"].map(jobs["tenant"].value_counts()).fillna(0).astype(int),
            "got [GPU-h]": whole["got"],
            "owed [GPU-h]": whole["owed"],
            "got / owed": whole["rho"],
        }
    )
    text = (
        "Owed is what a tenant asked for, at most its share of the cluster, at every moment. Below 1 a tenant got less than "
        "that while it had jobs; above 1 it used what others left."
    )
    parts = [_text(text), _table(table)]
    if found.owed["period"].max() > 1:
        parts.append(_figure(pictures.fairness(found.owed, found.period),
                             f"What each tenant got over what it was owed, {found.period} by {found.period}; red is "
                             "less, blue is more, white cells were owed nothing or exactly got it."))  # fmt: skip
    return parts


def _why(found: Audit) -> list[Part]:
    if not len(found.causes):
        return [_text("Nobody waited.")]
    weight = found.causes.groupby(["tenant", "cause"])["wait"].sum().unstack(fill_value=0.0)
    shares = (100 * weight.div(weight.sum(axis=1), axis=0)).round(0).reset_index()
    shares.columns = ["tenant", *(f"{c} [%]" for c in shares.columns[1:])]
    longest = found.causes.sort_values("wait", ascending=False, kind="stable").head(SHOWN)
    return [
        _text("The longest waits until the first start:"),
        _list(*(f"Job {why}." for why in longest["why"])),
        _text("Causes of the longest waits of each tenant, in per cent of their time:"),
        _table(shares),
    ]


def _what_if(found: Audit) -> list[Part]:
    names = {found.replay: f"{found.replay}, replayed"}
    table = found.overview.assign(scheduler=[names.get(n, _label(n)) for n in found.overview["scheduler"]])
    rounds = f"Rounds of {found.settings.interval:g} s, {found.settings.checkpoint_overhead:g} s for a checkpoint and " \
             f"{found.settings.restart_overhead:g} s for a restart."  # fmt: skip
    out = f" {found.left_out} jobs ask for more than the whole share of their tenant, which schedulers with quotas can " \
          "never run; they are in no row." if found.left_out else ""  # fmt: skip
    many = found.by_tenant["tenant"].nunique() <= 30
    return [
        _text(found.calibration.sentence),
        _text(f"The same jobs under other schedulers. {rounds}{out}"),
        _table(_readable(table)),
        *([_figure(pictures.waits(found.by_tenant, "tenant"), "Average wait of each tenant's jobs, 95 % intervals.")]
          if many else []),
        _figure(pictures.waits(found.by_size, "size"), "Average wait of small and large gangs, 95 % intervals."),
    ]  # fmt: skip


def _section(title: str, *parts: Part) -> Part:
    return {"id": title.lower().replace(" ", "-").replace(",", ""), "title": title, "parts": list(parts)}


def _text(text: str) -> Part:
    return {"kind": "text", "text": text}


def _list(*lines: str) -> Part:
    return {"kind": "list", "lines": list(lines)}


def _figure(fig: Any, text: str) -> Part:
    return {"kind": "figure", "text": text, "svg": pictures.as_svg(fig)}


def _table(table: pd.DataFrame) -> Part:
    rows = [[_cell(value) for value in row] for row in table.itertuples(index=False)]
    return {"kind": "table", "columns": list(table.columns), "rows": rows}


def _label(scheduler: str) -> str:
    """A scheduler's name without mathematics."""
    return re.sub(r"\$_\{\\mathrm\{(\w+)\}\}\$", r" \1", charts.look(scheduler).label)


def _readable(table: pd.DataFrame) -> pd.DataFrame:
    """Columns as people call them, with units: times of all columns in one, shares in percent."""
    shares = [c for c in table if c in ("sharing_loss", "utilization", "overhead_share")]
    times = [c for c in table if c.endswith(("_wait", "_jct"))]
    length, unit = pictures.unit_of(float(table[times].max().max()))
    shown = table.assign(**{c: 100 * table[c] for c in shares}, **{c: table[c] / length for c in times})
    units = dict.fromkeys(shares, " [%]") | dict.fromkeys(times, f" [{unit}]") | {"lease_term": " [s]"}
    words = {"average_jct": "average JCT", "utilization": "use until the last submission"}
    return shown.rename(columns=lambda c: words.get(c, c.replace("_", " ")) + units.get(c, ""))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)
