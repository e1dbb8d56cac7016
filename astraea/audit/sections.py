"""Sections of the page, as parts: paragraphs, lists, tables and pictures."""

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
"""Waits that the page tells of; the table beside it has all that were explained."""

ROWS: Final = 40
LOOK: Final = 0.05
"""Part of the rows that could not be read above which the page asks to look at them."""

CLASSES: Final = 12
"""Tenants in the table and the heat map, and in the picture of the waits: those with the most GPU-time due."""

LIMITS: Final = (
    "Jobs come when they came, and run for as long as they ran: users who wait less may submit more.",
    "A job that depends on another one is submitted when it could have started. Reservations, broken or drained nodes, "
    "and priorities given by hand are not known; nor are jobs that were cancelled before they started.",
    "A job that was requeued is simulated with the running time of its last run, as if the earlier ones were lost.",
    "Schedulers with leases assume that every job can save its state and resume; the simulation charges a checkpoint "
    "and a restart each time.",
    "One log is one history. The intervals are over its jobs; another month would differ by more.",
)


def the_cluster(found: Audit) -> list[Part]:
    """Its load, and the rows of the log that are no job of the page."""
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
    """The rows that are no job of the page, counted, and those that could not be read."""
    aside, bad = found.trace.excluded_jobs, found.trace.unreadable
    if not len(aside):
        return ["Every row of the log is a job of this page."]
    counts = aside["reason"].value_counts()
    table = pd.DataFrame({"the row": counts.index, "rows": counts.to_numpy()})
    if "gpu_hours" in aside:
        table["GPU\u2011hours, as far as known"] = aside.groupby("reason")["gpu_hours"].sum()[counts.index].to_numpy()
    text = "Rows of the log that are not among the jobs of this page; set_aside.csv lists them:"
    return [*([unread(found)] if len(bad) else []), text, table_of(table)]


def unread(found: Audit) -> str:
    """Say how many rows could not be read, and what part of the GPU-time they are."""
    trace, bad = found.trace, found.trace.unreadable
    part = len(bad) / (len(trace) + len(trace.excluded_jobs))
    lost, used = float(bad["gpu_hours"].sum()), float(trace.gpu_time.sum()) / HOUR
    text = (
        f"{counted(len(bad), 'row')} could not be read, {100 * part:.2g} % of all, with "
        f"{100 * lost / (lost + used):.2g} % of the GPU-hours as far as they are known."
    )
    return f"{text} Look at set_aside.csv before you rely on this page." if is_much(trace) else text


def is_much(trace: Trace) -> bool:
    """Whether so many rows could not be read that somebody should look at them."""
    return len(trace.unreadable) > LOOK * (len(trace) + len(trace.excluded_jobs))


def owed(found: Audit) -> list[Part]:
    """What each tenant got, and was owed, in all and period by period."""
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
        "At every moment, a tenant is owed what its jobs ask for, but no more than its share of the cluster. Below "
        "1, it got less than that; above 1, it also used what others left."
    )
    some = whole.nlargest(ROWS, "owed", keep="first")["tenant"]
    note = f" The {ROWS} that were owed most; owed.csv has all." if len(whole) > ROWS else ""
    parts = [text + note, table_of(table.loc[some.index])]
    if found.owed["period"].max() > 1:
        shown = found.owed[found.owed["tenant"].isin(some[whole.loc[some.index, "owed"] > 0])]
        parts.append(figure_of(pictures.fairness(shown, found.period),
                             f"GPU-time that each tenant got over what it was owed, {found.period} by {found.period}: "
                             "red is less, blue is more; grey cells were owed nothing."))  # fmt: skip
    return parts


def time_by_cause(found: Audit) -> pd.Series[float]:
    """Time of the waits of each cause that is shown [s], the largest first."""
    return found.causes.groupby("shown")["wait"].sum().sort_values(ascending=False, kind="stable")


def why(found: Audit) -> list[Part]:
    """The longest waits, and the causes by tenant."""
    if not len(found.causes):
        return ["Nobody waited."]
    weight = found.causes.pivot_table(index="tenant", columns="shown", values="wait", aggfunc="sum", fill_value=0.0)
    shares = (100 * weight.div(weight.sum(axis=1), axis=0))[list(time_by_cause(found).index)].round(0).reset_index()
    shares.columns = pd.Index(["tenant", *(f"{c} [%]" for c in shares.columns[1:])])
    some = weight.sum(axis=1).nlargest(ROWS, keep="first").index
    many = f" (of the {ROWS} tenants that waited longest; waits.csv has all)" if len(shares) > ROWS else ""
    longest = found.causes.sort_values("wait", ascending=False, kind="stable").head(SHOWN)
    return [
        "The longest waits until the first start:",
        {"lines": [f"Job {_with_reason(wait)}." for wait in longest.itertuples()]},
        f"What the longest waits of each tenant were for, in percent of their time{many}:",
        table_of(shares.set_index("tenant").loc[some].reset_index()),
        *_beside_slurm(found),
    ]


def _with_reason(wait: Any) -> str:
    """The sentence of a wait, with Slurm's own reason where that is shown."""
    return f"{wait.why}. Slurm's own reason was {wait.reason}" if wait.shown != wait.cause else str(wait.why)


def _beside_slurm(found: Audit) -> list[Part]:
    """How often the causes agree with Slurm's own reasons."""
    table, number, time = reasons.agreement(found.causes)
    if not len(table):
        return ["The log does not have Slurm's own reasons (Reason of sacct), so nothing checks these causes."]
    text = "None of these waits has a reason of Slurm that can be compared with its cause."
    if not math.isnan(number):
        text = (
            f"Slurm's own reasons agree with {100 * number:.0f} % of these causes ({100 * time:.0f} % of their time). "
            "Slurm keeps the last reason but Priority and Resources. Where it keeps none, all causes but the quota "
            "agree; a limit agrees with the quota, and certain nodes with a gang that has no room."
        )
    rule = (
        "Where the two differ, Slurm's reason is shown: Slurm knows limits, licences and broken nodes, which a log of "
        "starts and ends does not. A limit that this page knows is shown only where it lasted longest. A job that "
        "was not yet eligible (dependency, begin time, hold) was not waiting here, so its cause is shown."
    )
    return [text, table_of(table.reset_index()), rule]


def what_if(found: Audit) -> list[Part]:
    """The log beside other schedulers."""
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


def leases(found: Audit) -> list[Part]:
    """Lease terms compared."""
    text, outcomes = found.lease_term, found.lease_terms.drop(columns="lease_term").drop_duplicates()
    return [text] if len(outcomes) == 1 else [text, table_of(readable(found.lease_terms))]
