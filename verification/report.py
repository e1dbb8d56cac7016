"""The comparisons for a person to read: printed text, written tables, and the verdict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from astraea.core.files import write_atomically
from papers import charts
from verification.astraea_runs import PRINTED, agrees, summarize, verify
from verification.gavel_hardware import NEEDED, shown_hardware, verify_hardware
from verification.gavel_published import shown_published, verify_published
from verification.gavel_runs import measurements, shown_gavel, verify_gavel


class Comparison(NamedTuple):
    """One comparison.

    Attributes
    ----------
    about : str
        What is compared, in a sentence.
    needed : str
        File in the folder of reference results; without it the comparison is left out, unless it is asked for by name.
    report : function of the folder of reference results, the path of the first table and the folder of figures
        Prints, writes tables that have a place, and returns true if everything that must be equal is.
    """

    about: str
    needed: str
    report: Callable[[Path, Path | None, Path | None], bool]


def report_astraea(folder: Path, table: Path | None, figures: Path | None) -> bool:
    """Compare every job with the released simulator of ASTRAEA; return true if all runs agree."""
    compared = verify(folder)
    found = pd.DataFrame([summarize(jobs) for jobs in compared])
    print(shown(found))
    agreed = [agrees(row) for row in found.to_dict("records")]
    for row, jobs, is_good in zip(found.to_dict("records"), compared, agreed, strict=True):
        if not is_good:
            print(first_difference(row, jobs))
    print(f"\n{sum(agreed)} of {len(agreed)} runs agree: every job ends in the same second, with the same lease ends,")
    print("preemptions and rho_job to four decimals.")
    _write(found, table)
    if figures is not None:
        draw(compared, figures)
    return all(agreed)


def report_gavel(folder: Path, table: Path | None, figures: Path | None) -> bool:
    """Compare averages with Gavel's simulator; optima are seldom unique, so a difference is named and is no failure."""
    found = verify_gavel(folder)
    print(f"\n{shown_gavel(found)}")
    _write(found, table, "_gavel")
    return True


def report_published(folder: Path, table: Path | None, figures: Path | None) -> bool:
    """Compare averages with those that Gavel's authors published, which are rounded and of an older version."""
    found = verify_published(measurements(folder))
    print(f"\n{shown_published(found)}")
    _write(found, table, "_published")
    return True


def report_hardware(folder: Path, table: Path | None, figures: Path | None) -> bool:
    """Compare with a real cluster, and with its authors' simulator; a difference is named and is no failure."""
    summary, steps, jobs = verify_hardware(folder)
    print(f"\n{shown_hardware(summary, steps)}")
    _write(summary, table, "_hardware")
    _write(steps, table, "_hardware_steps")
    _write(jobs.round(0), table, "_hardware_jobs")
    return True


COMPARISONS: Final = {
    "ours-versus-released-astraea": Comparison(
        "every job of the runs of the simulator that ASTRAEA's authors released", "", report_astraea
    ),
    "ours-versus-released-gavel": Comparison(
        "average JCT and makespan of the runs of Gavel's own simulator", "gavel/summary.csv", report_gavel
    ),
    "ours-versus-published-gavel": Comparison(
        "average JCTs that Gavel's authors published, on the jobs of their generator", "gavel/summary.csv",
        report_published,
    ),
    "ours-versus-cluster": Comparison(
        "completion times of 120 jobs on a real cluster, and in its authors' simulator", NEEDED, report_hardware
    ),
}  # fmt: skip
"""By name, in the order in which they are made."""


def _write(table: pd.DataFrame, path: Path | None, suffix: str = "") -> None:
    """Write a table beside the first one, if that has a place."""
    if path is not None:
        text = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
        write_atomically(path.with_name(f"{path.stem}{suffix}{path.suffix}" if suffix else path.name), text)


def shown(table: pd.DataFrame) -> str:
    """Write the comparison of jobs: ours, and theirs behind it."""
    pairs = {"average_jct": "{:.1f}", "sharing_loss": "{:.4f}", "average_slowdown": "{:.4f}", "lease_ends": "{:.0f}"}
    lines = table[["workload", "nodes", "run", "jobs", "same_end_time", "same_lost_leases", "same_rho_job"]].copy()
    for column, form in pairs.items():
        both = zip(table[column], table[f"their_{column}"], strict=True)
        lines[column] = [f"{form.format(ours)} ({form.format(theirs)})" for ours, theirs in both]
    names = {
        "same_end_time": "same end", "same_lost_leases": "same preemptions", "same_rho_job": "same rho_job",
        "average_jct": "average JCT [s]", "sharing_loss": "sharing loss", "average_slowdown": "slowdown",
        "lease_ends": "lease ends",
    }  # fmt: skip
    return lines.rename(columns=names).to_string(index=False)


def first_difference(row: dict[Any, Any], jobs: pd.DataFrame) -> str:
    """Say where two runs part."""
    label = f"{row['workload']}, {row['nodes']} nodes, {row['run']}"
    late = jobs[jobs["end_time"] != jobs["their_end_time"]]
    if late.empty:
        return f"{label}: every job ends in the same second, but leases or fairness differ"
    first = late.iloc[int(np.argmin(late[["end_time", "their_end_time"]].min(axis=1)))]
    return (
        f"{label}: parts before {row['first_difference']:g} s, the first end that differs: job {first['job_id']!r} "
        f"ends at {first['end_time']:g} s here and at {first['their_end_time']:g} s there"
    )


RUN_NAMES: Final = {
    "astraea-repaired": "ASTRAEA, mended", "astraea": "ASTRAEA, as released", "tiresias": "Tiresias",
    "themis": "Themis", "fifo": "FIFO", "yarn": "YARN-CS",
}  # fmt: skip
"""Names of the runs in a picture."""


def draw(compared: list[pd.DataFrame], folder: Path) -> None:
    """Draw ours minus theirs for every job, one picture for each workload: the end, and rho_job."""
    folder.mkdir(parents=True, exist_ok=True)
    for workload in dict.fromkeys(str(jobs["workload"].iloc[0]) for jobs in compared):
        runs = [jobs for jobs in compared if jobs["workload"].iloc[0] == workload]
        found = pd.concat([differences(jobs) for jobs in runs], ignore_index=True)
        charts.save(picture(found), "verification", workload, folder, found)


def differences(jobs: pd.DataFrame) -> pd.DataFrame:
    """Count the jobs of a run by ours minus theirs.

    Columns run, quantity (`end` [s], or `rho`, in steps of 0.00001), difference, jobs.
    """
    off = {"end": jobs["end_time"] - jobs["their_end_time"], "rho": (jobs["rho_job"] - jobs["their_rho_job"]).round(5)}
    rows = [
        (jobs["run"].iloc[0], quantity, difference, count)
        for quantity, values in off.items()
        for difference, count in (values + 0.0).value_counts().sort_index().items()
    ]
    return pd.DataFrame(rows, columns=["run", "quantity", "difference", "jobs"])


def picture(found: pd.DataFrame) -> Figure:
    """Draw a table of `differences`, a row for each run; the area of a mark is its share of the jobs."""
    fig, axes = charts.panels(columns=2, width=3.5, height=2.5)
    runs = list(dict.fromkeys(found["run"]))
    total = int(found.loc[found["quantity"] == "end"].groupby("run")["jobs"].sum().max())
    panels = (("end", 60.0, 1.0, "end [s]", 0.0), ("rho", 2.0, 1e4, "$\\rho$ [$10^{-4}$]", PRINTED * 1.02))
    for ax, (quantity, reach, factor, text, allowed) in zip(axes, panels, strict=True):
        part = found[found["quantity"] == quantity]
        row = part["run"].map({name: k for k, name in enumerate(runs)})
        off = factor * part["difference"]
        ax.scatter(off, row, s=90 * part["jobs"] / total, color="#222222", linewidth=0, zorder=3)
        equal = int(part.loc[part["difference"].abs() <= allowed, "jobs"].sum())
        ax.set_yticks(range(len(runs)), [RUN_NAMES[name] for name in runs] if ax is axes[0] else [""] * len(runs))
        ax.set_ylim(len(runs) - 0.5, -0.5)
        ax.set_xlim(-(reach := max(reach, 1.1 * float(off.abs().max()))), reach)
        ax.set_xlabel(f"Ours minus theirs: {text}")
        ax.tick_params(axis="y", length=0)
        letter, same = ("a", "end in the same second") if quantity == "end" else ("b", "have the same $\\rho$")
        charts.title(ax, f"({letter}) {equal:,} of {part['jobs'].sum():,} jobs", same)
    axes[1].axvspan(-0.5, 0.5, color="#DDDDDD", linewidth=0, zorder=0, label="theirs is rounded to four decimals")
    charts.footnote(fig, "The area of a mark is its part of a run's jobs.")
    charts.legend(fig, headline="Ours minus theirs, job by job")
    return fig
