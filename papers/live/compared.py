"""Measured and simulated runs side by side: orders, times, overheads, and the picture of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from astraea.core.metrics import average_jct, sharing_loss
from astraea.plots import LOOKS, style
from astraea_ops.audit.scenarios import in_order
from papers import charts
from papers.charts.axes import REFERENCE
from papers.live.tables import (
    ASTRAEA,
    INTERVAL,
    NONE,
    Delays,
    Repetition,
    delays,
    grants,
    measured,
    simulated,
    worked,
)


def comparison(repetitions: Sequence[Repetition]) -> pd.DataFrame:
    """Measured and simulated side by side, one row per system and repetition; `stretch` as of `tables.Repetition`.

    `jct` and `simulated_jct` are averages [s], and `error` is simulated over measured, less 1. `granted` and `lone`
    count grants that both have and that only one has. `in_order` is the part of their pairs in the same order,
    `first_in_order` that of first grants, and `same_round` the part of grants at the same time. `loss` and
    `simulated_loss` are shares of jobs with sharing loss.
    """
    rows = []
    for one in repetitions:
        was, would = measured(one), simulated(one)
        order = grants(one, would)
        both = order.dropna()
        first = both[both["run"] == 1]
        rows.append({
            "system": one.system, "repetition": one.seed, "stretch": one.stretch,
            "jct": average_jct(was), "simulated_jct": average_jct(would),
            "error": average_jct(would) / average_jct(was) - 1, "granted": len(both), "lone": len(order) - len(both),
            "in_order": in_order(both["measured"].to_numpy(), both["simulated"].to_numpy()),
            "first_in_order": in_order(first["measured"].to_numpy(), first["simulated"].to_numpy()),
            "same_round": float((both["measured"] - both["simulated"]).abs().lt(INTERVAL / 2).mean()),
            "loss": sharing_loss(was), "simulated_loss": sharing_loss(worked(one, would)),
        })  # fmt: skip
    return pd.DataFrame(rows)


def who_is_ahead(table: pd.DataFrame) -> pd.DataFrame:
    """Compare the measures of both systems, from their `comparison`: a row for each value of `stretch`.

    `jct` [s] and `loss` are means over repetitions, `slurm_sooner` and `slurm_fairer` count those in which plain Slurm
    has the lower average JCT, and the lower sharing loss.
    """
    rows = []
    for stretch, part in table.groupby("stretch"):
        wide = part.pivot_table(index="repetition", columns="system", values=["jct", "loss"])
        means = {f"{c}_{system}": wide[c, system].mean() for c in ("jct", "loss") for system in SYSTEMS}
        lower = {
            name: int((wide[column, "slurm"] < wide[column, "astraea"]).sum())
            for name, column in (("slurm_sooner", "jct"), ("slurm_fairer", "loss"))
        }
        rows.append({"stretch": stretch, "repetitions": len(wide), **means, **lower})
    return pd.DataFrame(rows)


def steps(repetitions: Sequence[Repetition]) -> pd.DataFrame:
    """Simulate the coordinator's runs with one delay added after the other, to see which of them matter.

    `modelled` is what was added last: nothing, the delay of first starts, the costs of being stopped, the nodes that
    Slurm takes, the first start of each job as it was instead of the average. The rest is as in `comparison`.
    """
    rows = []
    for one in repetitions:
        lasts = delays(one)
        models = {
            "no delay": (NONE, ASTRAEA), "starts": (Delays(lasts.first), ASTRAEA), "stops": (lasts, ASTRAEA),
            "nodes": (lasts, None), "each start": (None, None),
        }  # fmt: skip
        for name, (model, policy) in models.items() if one.system == "astraea" else ():
            would = simulated(one, model, policy)
            both = grants(one, would).dropna()
            error = average_jct(would) / average_jct(measured(one)) - 1
            order = in_order(both["measured"].to_numpy(), both["simulated"].to_numpy())
            rows.append({"repetition": one.seed, "modelled": name, "error": error, "in_order": order,
                         "same_round": float((both["measured"] == both["simulated"]).mean())})  # fmt: skip
    return pd.DataFrame(rows)


def overheads(repetitions: Sequence[Repetition]) -> pd.DataFrame:
    """Measured costs of the coordinator's runs, one row per repetition.

    `first`, `again`, `unsaved` are averages, `longest` is the longest time from a grant to work [s]. `stops`,
    `renewals` and `unstarted` count leases; for the last ones Slurm had no nodes. `share` is the part of the GPU-time
    under leases in which no work was done that counted, beside `simulated_share`.
    """
    rows = []
    for one in repetitions:
        if one.system != "astraea":
            continue
        runs, lasts, would = one.runs, delays(one), simulated(one)
        held = float(((runs["stop"].fillna(runs["over"]) - runs["granted"]) * runs["gpus"]).sum())
        jobs = runs.drop_duplicates("job")
        work = float((jobs["service"] * jobs["gpus"]).sum())
        simulated_held = float(((would.log["end"] - would.log["start"]) * would.log["demand"]).sum())
        rows.append({
            "repetition": one.seed, **lasts._asdict(), "longest": (runs["start"] - runs["granted"]).max(),
            "stops": int((runs["outcome"] == "not renewed").sum()), "renewals": int(runs["renewals"].sum()),
            "unstarted": int(runs["start"].isna().sum()),
            "share": 1 - work / held, "simulated_share": 1 - work / simulated_held,
        })  # fmt: skip
    return pd.DataFrame(rows)


def per_job(one: Repetition) -> pd.DataFrame:
    """JCT of every job, measured and simulated [s]."""
    was, would = (result.jobs.set_index("job_id")["jct"] for result in (measured(one), simulated(one)))
    jobs = one.runs.drop_duplicates("job").set_index("job")[["tenant", "gpus", "service"]]
    return jobs.assign(measured=was, simulated=would).reset_index()


SYSTEMS: Final = {
    "astraea": (LOOKS["astraea"].label, LOOKS["astraea"].color),
    "slurm": ("Slurm, fair share", LOOKS["slurm"].color),
}
"""Name and colour."""


def beside(granted: pd.DataFrame, table: pd.DataFrame) -> Figure:
    """Draw the grants of jobs (`tables.grants` of the coordinator), real and simulated, and their `comparison`."""
    fig, axes = charts.panels(columns=3, width=2.6, height=3.2)
    both = granted.dropna()
    with style():
        color = SYSTEMS["astraea"][1]
        longest = float(both[["measured", "simulated"]].to_numpy().max())
        axes[0].plot([0, longest], [0, longest], **REFERENCE | {"label": "the same time"})
        axes[0].plot(both["measured"], both["simulated"], ".", color=color, markersize=3, alpha=0.6)
        axes[0].set(xlabel="Granted on Slurm [s]", ylabel="Granted in simulation [s]")
    ordered = in_order(both["measured"].to_numpy(), both["simulated"].to_numpy())
    charts.title(axes[0], "(a) grants", f"{100 * ordered:.0f} % of pairs in order")
    _pairs(axes[1], table, "jct", 1.0, "Average JCT [s]")
    _pairs(axes[2], table, "loss", 100.0, "Jobs with sharing loss [%]")
    means = table.assign(loss=100 * table["loss"]).groupby("system")[["jct", "loss"]].mean()
    for ax, text, column, form in ((axes[1], "(b) completion times", "jct", "{:.0f} s"),
                                   (axes[2], "(c) sharing loss", "loss", "{:.0f} %")):  # fmt: skip
        charts.title(ax, text, f"ASTRAEA {form}, Slurm {form}".format(*means[column][list(SYSTEMS)]))
    off = (table["simulated_jct"] / table["jct"] - 1).abs().max()
    headline = f"{100 * ordered:.0f} % of pairs of grants come in the order of the real run,\n"
    return charts.legend(fig, headline=f"{headline}and each average JCT is within {100 * off:.0f} %")


def _pairs(ax: Axes, table: pd.DataFrame, column: str, factor: float, label: str) -> None:
    """Measured and simulated values of each system, those of one repetition joined by a line."""
    with style():
        for k, (system, (_, color)) in enumerate(SYSTEMS.items()):
            part = table[table["system"] == system]
            values = factor * part[[column, f"simulated_{column}"]].to_numpy().T
            ax.plot([k - 0.2, k + 0.2], values, color=color, linewidth=0.8)
            for shift, some, marker, face in ((-0.2, values[0], "o", color), (0.2, values[1], "s", "white")):
                ax.plot(np.full(len(some), k + shift), some, marker, color=color, markerfacecolor=face, markersize=4.5)
        for marker, face, text in (("o", "#444444", "measured on Slurm"), ("s", "white", "simulated")):
            ax.plot([], [], marker, color="#444444", markerfacecolor=face, markersize=4.5, label=text)
        ax.plot([], [], color="#444444", linewidth=0.8, label="one repetition")
        ax.set_xticks(range(len(SYSTEMS)), [name.replace(", ", ",\n") for name, _ in SYSTEMS.values()])
        ax.set_xlim(-0.5, len(SYSTEMS) - 0.5)
        ax.set_ylim(0, 1.1 * factor * table[[column, f"simulated_{column}"]].to_numpy().max())
        ax.grid(visible=False, axis="x")
        ax.set_ylabel(label)
