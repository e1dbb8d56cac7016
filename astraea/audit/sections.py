"""Sections of the page, as lists of parts: paragraphs, lists, tables and pictures."""

from __future__ import annotations

import math
from typing import Any, Final

import pandas as pd

from astraea.audit import pictures, reasons
from astraea.audit.audit import Audit
from astraea.audit.parts import Part, figure_of, label_of, readable, table_of
from astraea.core.metrics import SHARING_LOSS
from astraea.core.text import counted
from astraea.core.units import HOUR
from astraea.traces.trace import Trace

SHOWN: Final = 10
"""Number of waits that the page describes; the table beside it has all explained waits."""

ROWS: Final = 40
LOOK: Final = 0.05
"""If a larger part of the rows could not be read, the page asks the reader to look at them."""

CLASSES: Final = 12
"""Tenants in the table, the heat map and the picture of the waits: those that were owed the most GPU-time."""

LIMITS: Final = (
    "Arrivals and running times are taken from the log, but users who wait less may submit more.",
    "A job that depends on another one counts as submitted when it could have started. Reservations, broken or drained "
    "nodes and priorities given by hand are unknown; so are jobs that were cancelled before they started.",
    "A job that was requeued is simulated with the running time of its last run, as if the earlier runs were lost.",
    "Schedulers with leases assume that every job can save its state and resume; the simulation charges a checkpoint "
    "and a restart each time.",
    "The intervals are over the jobs of this one log; another month would differ by more.",
)


def the_cluster(found: Audit) -> list[Part]:
    """Return the load of the cluster, and the rows of the log that are not jobs on the page."""
    load = (
        "All jobs were submitted at once." if math.isnan(found.utilization)
        else f"Until the last submission, {100 * found.utilization:.0f} % of the cluster's GPU-time was in use."
    )  # fmt: skip
    picture = figure_of(
        pictures.load(found.over_time, found.cluster.gpus, found.trace.origin),
        "GPUs in use, and GPUs that jobs waited for, over time."
    )
    return [load, picture, *_aside(found)]


def _aside(found: Audit) -> list[Part]:
    """Count the rows that are not jobs on the page, and those that could not be read."""
    aside, bad = found.trace.excluded_jobs, found.trace.unreadable
    if not len(aside):
        return ["Every row of the log is a job of this page."]
    counts = aside["reason"].value_counts()
    table = pd.DataFrame({"the row": counts.index, "rows": counts.to_numpy()})
    if "gpu_hours" in aside:
        table["GPU\u2011hours, as far as known"] = aside.groupby("reason")["gpu_hours"].sum()[counts.index].to_numpy()
    text = "Rows of the log that do not count as jobs on this page (set_aside.csv lists them):"
    return [*([unread(found)] if len(bad) else []), text, table_of(table)]


def unread(found: Audit) -> str:
    """Return how many rows could not be read, and their part of the GPU-time."""
    trace, bad = found.trace, found.trace.unreadable
    part = len(bad) / (len(trace) + len(trace.excluded_jobs))
    lost, used = float(bad["gpu_hours"].sum()), float(trace.gpu_time.sum()) / HOUR
    text = (
        f"{counted(len(bad), 'row')} could not be read, {100 * part:.2g} % of all, with "
        f"{100 * lost / (lost + used):.2g} % of the known GPU-hours."
    )
    return f"{text} Look at set_aside.csv before you rely on this page." if is_much(trace) else text


def is_much(trace: Trace) -> bool:
    """Return whether so many rows could not be read that the user should look at them."""
    return len(trace.unreadable) > LOOK * (len(trace) + len(trace.excluded_jobs))


def owed(found: Audit) -> list[Part]:
    """Return what each tenant got and was owed, in total and period by period."""
    whole = found.owed[found.owed["period"] == 0]
    table = pd.DataFrame(
        {
            "tenant": whole["tenant"],
            "got / owed": whole["rho"],
            "got [GPU\u2011h]": whole["got"],
            "owed [GPU\u2011h]": whole["owed"],
            "share [GPU]": whole["tenant"].map(found.quota),
            "jobs": whole["tenant"].map(found.jobs).fillna(0).astype(int),
        }
    )
    text = (
        "At every moment, a tenant is owed the GPUs that its jobs ask for, up to its share of the cluster. If got / "
        "owed is below 1, it got less than that; above 1, it also used GPUs that others left."
    )
    some = whole.nlargest(ROWS, "owed", keep="first")["tenant"]
    note = f" The table has the {ROWS} tenants that were owed most; owed.csv has all." if len(whole) > ROWS else ""
    parts = [text + note, table_of(table.loc[some.index])]
    if found.owed["period"].max() > 1:
        shown = found.owed[found.owed["tenant"].isin(some[whole.loc[some.index, "owed"] > 0])]
        parts.append(figure_of(pictures.fairness(shown, found.period),
                             f"GPU-time that each tenant got over what it was owed, {found.period} by {found.period}: "
                             "red is less, blue is more; grey cells were owed nothing."))  # fmt: skip
    return parts


def time_by_cause(found: Audit) -> pd.Series[float]:
    """Return the time of the waits of each cause shown [s], the largest first."""
    return found.causes.groupby("shown")["wait"].sum().sort_values(ascending=False, kind="stable")


def why(found: Audit) -> list[Part]:
    """Return the longest waits, and the causes by tenant."""
    if not len(found.causes):
        return ["No job waited."]
    weight = found.causes.pivot_table(index="tenant", columns="shown", values="wait", aggfunc="sum", fill_value=0.0)
    shares = (100 * weight.div(weight.sum(axis=1), axis=0))[list(time_by_cause(found).index)].round(0).reset_index()
    shares.columns = pd.Index(["tenant", *(f"{c} [%]" for c in shares.columns[1:])])
    some = weight.sum(axis=1).nlargest(ROWS, keep="first").index
    many = f" (the {ROWS} tenants that waited longest; waits.csv has all)" if len(shares) > ROWS else ""
    longest = found.causes.sort_values("wait", ascending=False, kind="stable").head(SHOWN)
    return [
        "The longest waits until the first start:",
        {"lines": [f"Job {_with_reason(wait)}." for wait in longest.itertuples()]},
        f"Causes of the longest waits of each tenant, in percent of their time{many}:",
        table_of(shares.set_index("tenant").loc[some].reset_index()),
        *_beside_slurm(found),
    ]


def _with_reason(wait: Any) -> str:
    """Return the sentence of a wait, with Slurm's own reason if that is shown."""
    return f"{wait.why}. Slurm's own reason was {wait.reason}" if wait.shown != wait.cause else str(wait.why)


def _beside_slurm(found: Audit) -> list[Part]:
    """Return how often the causes agree with Slurm's own reasons."""
    table, number, time = reasons.agreement(found.causes)
    if not len(table):
        return ["The log does not have Slurm's own reasons (Reason of sacct), so these causes cannot be checked."]
    text = "None of these waits has a reason from Slurm that can be compared with its cause."
    if not math.isnan(number):
        text = (
            f"Slurm's own reasons agree with {100 * number:.0f} % of these causes ({100 * time:.0f} % of their time). "
            "Slurm keeps the last reason other than Priority and Resources. If it keeps none, all causes except the "
            "quota agree; a limit agrees with the quota, and certain nodes agree with a gang that has no room."
        )
    rule = (
        "If the two differ, Slurm's reason is shown: Slurm knows limits, licences and broken nodes, which a log of "
        "starts and ends does not show. A limit that this page knows is shown only if it lasted longest. A job that "
        "was not yet eligible (dependency, begin time, hold) does not count as waiting, so its cause is shown."
    )
    return [text, table_of(table.reset_index()), rule]


def what_if(found: Audit) -> list[Part]:
    """Compare the log with other schedulers."""
    names = {found.replay: f"{label_of(found.replay)}, replayed"}
    table = found.overview.assign(scheduler=[names.get(n, label_of(n)) for n in found.overview["scheduler"]])
    s = found.settings
    rounds = (
        f"Rounds are {s.interval:g} s apart; a checkpoint costs {s.checkpoint_overhead:g} s and a restart "
        f"{s.restart_overhead:g} s. A job has sharing loss if, over its life, it got less than "
        f"{100 * SHARING_LOSS:g} % of its part of its tenant's share."
    )
    out = (
        f" {counted(found.left_out, 'job')} asked for more GPUs than the whole share of their tenant, so schedulers "
        "with quotas can never run them. They are in no row and no simulation here. In the log, however, the other "
        "jobs competed with them: compare with the replay instead."
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


def leases(found: Audit) -> list[Part]:
    """Compare lease terms."""
    text, outcomes = found.lease_term, found.lease_terms.drop(columns="lease_term").drop_duplicates()
    return [text] if len(outcomes) == 1 else [text, table_of(readable(found.lease_terms))]
