"""Sections of the page, as lists of parts in the form that its template takes: paragraphs, lists, tables, pictures."""

from __future__ import annotations

import io
import math
import re
from base64 import b64encode
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from astraea.core.metrics import SHARING_LOSS
from astraea.core.units import HOUR
from astraea.core.wording import SECONDS, counted, unit_for
from astraea.plots import look, style
from astraea.traces.trace import Trace
from astraea_ops.audit import causes, pictures
from astraea_ops.audit.audit import Audit

UNFOLDED: Final = 10
"""Number of rows of a long table that are shown at once."""

Part = str | dict[str, Any]
"""A paragraph; or a dictionary with the lines of a list, the columns and rows of a table, or an image and its text."""

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


def section(title: str, *parts: Part) -> dict[str, Any]:
    """Return a section with a title, and an anchor made from it."""
    return {"id": title.lower().replace(" ", "-").replace(",", ""), "title": title, "parts": list(parts)}


def figure_of(fig: Figure, text: str) -> Part:
    """Return a picture as an SVG inside the page, with its description; the figure is closed."""
    buffer = io.BytesIO()
    with style():
        fig.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(fig)
    return {"text": text, "source": f"data:image/svg+xml;base64,{b64encode(buffer.getvalue()).decode()}"}


def table_of(table: pd.DataFrame) -> Part:
    """Return a table with its cells as text; in a long table, all but the first rows are folded."""
    columns = [str(column) for column in table]
    cells = [cells_of(table.iloc[:, k]) for k in range(len(columns))]
    rows = list(zip(*cells, strict=True))
    shown = UNFOLDED if len(rows) > UNFOLDED + 2 else len(rows)
    return {"columns": columns, "rows": rows[:shown], "more": rows[shown:]}


def cells_of(column: pd.Series[Any]) -> list[str]:
    """Return a column as text; its numbers have as many decimals as show the largest with three digits."""
    if not pd.api.types.is_numeric_dtype(column):
        return column.astype(str).tolist()
    if pd.api.types.is_integer_dtype(column):
        return [f"{value:,}" for value in column]
    values = column.to_numpy(dtype=float)
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    whole = bool(np.all((values == np.round(values)) | np.isnan(values)))
    places = 0 if whole else next((k for k in range(4) if round(largest, k) >= 10 ** (2 - k)), 4)
    return ["–" if math.isnan(value) else f"{value:,.{places}f}" for value in values]


def label_of(scheduler: str) -> str:
    """Return a scheduler's name without mathematics."""
    return re.sub(r"\$_\{\\mathrm\{(\w+)\}\}\$", r" \1", look(scheduler).label)


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """Rename columns for readers, with units: times in a unit that suits the column, shares in percent."""
    names = [str(column) for column in table]
    shares = [c for c in names if c in ("sharing_loss", "utilization", "overhead_share")]
    times = [c for c in names if c.endswith(("_wait", "_jct"))]
    unit = {c: unit_for(float(table[c].max())) for c in times}
    shown = table.copy()
    shown[shares] *= 100
    shown[times] = shown[times] / [SECONDS[unit[c]] for c in times]
    units = dict.fromkeys(shares, " [%]") | {c: f" [{unit[c]}]" for c in times} | {"lease_term": " [s]"}
    words = {
        "average_jct": "average JCT",
        "utilization": "GPU-time in use until the last submission",
        "overhead_share": "checkpoints and restarts as a share of the JCT",
    }
    return shown.rename(columns={c: words.get(c, c.replace("_", " ")) + units.get(c, "") for c in names})


def the_cluster(found: Audit) -> list[Part]:
    """Return the load of the cluster, and the number of rows of the log that are not jobs on the page."""
    load = (
        "All jobs were submitted at once." if math.isnan(found.utilization)
        else f"Until the last submission, {100 * found.utilization:.0f} % of the cluster's GPU-time was in use."
    )  # fmt: skip
    picture = figure_of(
        pictures.load(found.over_time, found.cluster.gpus, found.trace.origin),
        "GPUs in use, and GPUs that jobs waited for, over time."
    )
    aside = found.trace.excluded_jobs
    if not len(aside):
        return [load, picture, "Every row of the log is a job of this page."]
    counts = aside["reason"].value_counts()
    table = pd.DataFrame({"the row": counts.index, "rows": counts.to_numpy()})
    if "gpu_hours" in aside:
        table["GPU\u2011hours, as far as known"] = aside.groupby("reason")["gpu_hours"].sum()[counts.index].to_numpy()
    text = "Rows of the log that do not count as jobs on this page (excluded.csv lists them):"
    return [load, picture, *([unread(found)] if len(found.trace.unreadable) else []), text, table_of(table)]


def unread(found: Audit) -> str:
    """Return how many rows could not be read, and their part of the GPU-time."""
    trace, bad = found.trace, found.trace.unreadable
    part = len(bad) / (len(trace) + len(trace.excluded_jobs))
    lost, used = float(bad["gpu_hours"].sum()), float(trace.gpu_time.sum()) / HOUR
    text = (
        f"{counted(len(bad), 'row')} could not be read, {100 * part:.2g} % of all, with "
        f"{100 * lost / (lost + used):.2g} % of the known GPU-hours."
    )
    return f"{text} Look at excluded.csv before you rely on this page." if is_much(trace) else text


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
    """Return the longest waits, the causes by tenant, and how often these agree with Slurm's own reasons."""
    if not len(found.causes):
        return ["No job waited."]
    weight = found.causes.pivot_table(index="tenant", columns="shown", values="wait", aggfunc="sum", fill_value=0.0)
    shares = (100 * weight.div(weight.sum(axis=1), axis=0))[list(time_by_cause(found).index)].round(0)
    some = shares.loc[weight.sum(axis=1).nlargest(ROWS, keep="first").index].add_suffix(" [%]").reset_index()
    many = f" (the {ROWS} tenants that waited longest; waits.csv has all)" if len(shares) > ROWS else ""
    longest = found.causes.sort_values("wait", ascending=False, kind="stable").head(SHOWN)
    wait: Any
    lines = []
    for wait in longest.itertuples():
        slurm = f". Slurm's own reason was {wait.reason}" if wait.shown != wait.cause else ""
        lines.append(f"Job {wait.why}{slurm}.")
    parts: list[Part] = [
        "The longest waits until the first start:",
        {"lines": lines},
        f"Causes of the longest waits of each tenant, in percent of their time{many}:",
        table_of(some),
    ]
    table, number, time = causes.agreement(found.causes)
    if not len(table):
        text = "The log does not have Slurm's own reasons (Reason of sacct), so these causes cannot be checked."
        return [*parts, text]
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
    return [*parts, text, table_of(table.reset_index()), rule]


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
