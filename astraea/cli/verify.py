"""`astraea verify`: our results against those of the simulators that ASTRAEA's and Gavel's authors released."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from astraea.cli import arguments as args
from astraea.core.files import write_atomically
from verification.astraea_runs import agrees, rho_quantiles, summarize, verify
from verification.gavel_published import shown_published, verify_published
from verification.gavel_runs import measurements, shown_gavel, verify_gavel


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("verify", help="compare with the authors' own results", description=run.__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="WORKLOAD.input.csv.gz and WORKLOAD_nNODES_RUN.csv.gz")
    parser.add_argument("--jobs", type=args.whole_number, metavar="N", help="processes; as many as cores if not given")
    parser.add_argument("--table", type=Path, metavar="FILE.csv", help="write the table there")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="draw the fairness of jobs, theirs and ours, there")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Simulate what the released simulator simulated and compare every job; exit code 1 if a run does not agree.

    Where the folder holds gavel/summary.csv, averages are compared with those of Gavel's simulator too. As optima are
    seldom unique they are close or not, and what is not is named; the exit code is about the exact comparison.
    """
    compared = verify(arguments.folder, jobs=arguments.jobs or None)
    table = pd.DataFrame([summarize(jobs) for jobs in compared])
    print(shown(table))
    agreed = [agrees(row) for row in table.to_dict("records")]
    for row, jobs, is_good in zip(table.to_dict("records"), compared, agreed, strict=True):
        if not is_good:
            print(first_difference(row, jobs))
    print(f"\n{sum(agreed)} of {len(agreed)} runs agree: every job ends in the same second, with the same lease ends,")
    print("preemptions and rho_job to four decimals.")
    if arguments.table is not None:
        write_atomically(arguments.table, table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    if arguments.figures is not None:
        draw(compared, arguments.figures)
    compare_averages(arguments)
    return 0 if all(agreed) else 1


def compare_averages(arguments: argparse.Namespace) -> None:
    """Compare with the averages of Gavel's simulator, if the folder has them; the tables go beside the first one."""
    if not (arguments.folder / "gavel" / "summary.csv").is_file():
        return
    table = verify_gavel(arguments.folder)
    print(f"\n{shown_gavel(table)}\n")
    published = verify_published(measurements(arguments.folder), jobs=arguments.jobs or None)
    print(shown_published(published))
    if arguments.table is not None:
        for name, found in (("gavel", table), ("published", published)):
            path = arguments.table.with_name(f"{arguments.table.stem}_{name}.csv")
            write_atomically(path, found.to_csv(index=False, float_format="%.6g", lineterminator="\n"))


def shown(table: pd.DataFrame) -> str:
    """Write the comparison for a person: ours, and theirs behind it."""
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
    from astraea.plots import charts

    folder.mkdir(parents=True, exist_ok=True)
    looks = {"astraea-repaired": "astraea", "astraea": "astraea-released", "tiresias": "tiresias-l", "yarn": "yarn-cs"}
    for workload in dict.fromkeys(str(jobs["workload"].iloc[0]) for jobs in compared):
        points = pd.concat([rho_quantiles(jobs) for jobs in compared if jobs["workload"].iloc[0] == workload])
        fig, ax = charts.panels(width=4.8, height=3.0)
        for name, part in points.groupby("run", sort=False):
            look = charts.look(looks.get(str(name), str(name)))
            ax.plot(part["rho_job"], 100 * part["share"], color=look.color, linestyle=look.line, label=str(name))
            ax.plot(part["their_rho_job"][::5], 100 * part["share"][::5], look.marker, color=look.color, markersize=3)
        ax.set(xlim=(0, 2), ylim=(0, 100), xlabel="Job fairness $\\rho$", ylabel="Jobs [%]")
        charts.legend(fig)
        charts.save(fig, "verification", workload, folder, points)
