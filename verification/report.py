"""The comparisons for a person to read: what each prints, the tables it writes, and whether it agrees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.core.files import write_atomically
from astraea.plots import charts
from verification.astraea_runs import RUNS, agrees, rho_quantiles, summarize, verify
from verification.gavel_hardware import NEEDED, shown_hardware, verify_hardware
from verification.gavel_published import shown_published, verify_published
from verification.gavel_runs import measurements, shown_gavel, verify_gavel


class Comparison(NamedTuple):
    """One X-versus-Y.

    Attributes
    ----------
    about : str
        What is compared, in a sentence.
    needed : str
        File in the folder of reference results without which it is left out, unless it is asked for by name.
    report : function of the folder of reference results, the path of the first table and the folder of figures
        Prints, writes what has a place, and says whether everything that must be equal is.
    """

    about: str
    needed: str
    report: Callable[[Path, Path | None, Path | None], bool]


def report_astraea(folder: Path, table: Path | None, figures: Path | None) -> bool:
    """Compare every job with the released simulator of ASTRAEA; the answer is whether all runs agree."""
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
    """Compare averages with Gavel's simulator; optima are seldom unique, so what is not close is named, no failure."""
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
    """Compare with a real cluster, and with its authors' simulator; what differs is said, and is no failure."""
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


def draw(compared: list[pd.DataFrame], folder: Path) -> None:
    """Distribution of rho_job in every run, one picture for each workload: lines are ours, points theirs."""
    folder.mkdir(parents=True, exist_ok=True)
    looks = {"astraea-repaired": "astraea", "astraea": "astraea-released", "tiresias": "tiresias-l", "yarn": "yarn-cs"}
    for workload in dict.fromkeys(str(jobs["workload"].iloc[0]) for jobs in compared):
        points = pd.concat([rho_quantiles(jobs) for jobs in compared if jobs["workload"].iloc[0] == workload])
        fig, ax = charts.panels(width=4.8, height=3.0)
        for name, part in points.groupby("run", sort=False):
            look = charts.look(looks.get(str(name), str(name)))
            label = f"{name} (true times)" if RUNS[str(name)].made.needs_estimates else str(name)
            ax.plot(part["rho_job"], 100 * part["share"], color=look.color, linestyle=look.line, label=label)
            ax.plot(part["their_rho_job"][::5], 100 * part["share"][::5], look.marker, color=look.color, markersize=3)
        ax.set(xlim=(0, 2), ylim=(0, 100), xlabel="Job fairness $\\rho$", ylabel="Jobs [%]")
        charts.legend(fig)
        charts.save(fig, "verification", workload, folder, points)
