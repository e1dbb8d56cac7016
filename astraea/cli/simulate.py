"""`astraea simulate`: one run, its summary and its tables."""

from __future__ import annotations

import argparse
import json
import math
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pandas as pd

from astraea.cli import arguments as args
from astraea.cluster.simulate import simulate
from astraea.core.files import publishing
from astraea.core.metrics import summary, tenant_windows
from astraea.core.result import JOB_COLUMNS, Result
from astraea.experiments.grid import grid
from astraea.traces.trace import Trace


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("simulate", help="run a trace under a policy", description=run.__doc__)
    args.add_trace(parser)
    parser.add_argument("--policy", default="astraea", metavar="NAME", help="see: astraea policies (default astraea)")
    args.add_cluster(parser)
    args.add_parameters(parser)
    args.add_estimator(parser)
    parser.add_argument("--seed", type=args.whole_number, default=0, help="of a synthetic trace, placement and noise")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON and nothing else")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="write jobs.csv, tenants.csv, excluded_jobs.csv, provenance.json there"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run a trace on a cluster under a policy; print a summary, and write the tables if asked to."""
    wanted = args.parameters(arguments)
    clusters = args.clusters(arguments)
    grid([], clusters, [arguments.policy], wanted)  # before a large trace is read
    with nullcontext() if arguments.out is None else publishing(arguments.out) as folder:
        trace = args.load(arguments, arguments.seed)
        (todo,) = grid([trace], clusters, [arguments.policy], wanted, [arguments.seed])
        result = simulate(todo.trace, todo.cluster, todo.policy, todo.seed, settings=todo.settings)
        if folder is not None:
            write_tables(result, folder, trace.excluded_jobs)
    figures = run_summary(result, trace)
    print(json.dumps(figures, indent=2, allow_nan=False) if arguments.json else summary_text(figures, result, trace))
    return 0


def run_summary(result: Result, trace: Trace) -> dict[str, Any]:
    """Collect what a program wants to know of a run; undefined figures are None."""
    figures = {
        k: None if isinstance(v, float) and math.isnan(v) else v
        for k, v in ({"trace": trace.name} | summary(result)).items()
    }
    reasons = all_excluded_jobs(result, trace.excluded_jobs)["reason"].value_counts().to_dict()
    figures["set_aside_by_reader"] = len(trace.excluded_jobs)
    figures["excluded_jobs"] = dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
    return figures | {"seconds": result.seconds}


def summary_text(figures: dict[str, Any], result: Result, trace: Trace) -> str:
    """Write the summary as a table."""
    about = result.provenance

    def shown(key: str, form: str, times: float = 1.0) -> str:
        return "-" if figures[key] is None else format(figures[key] * times, form)

    rows = [
        ("jobs", f"{figures['jobs']}", ""),
        ("set aside", f"{figures['set_aside_jobs'] + figures['set_aside_by_reader']}", ""),
        *((f"  {reason}", f"{n}", "") for reason, n in figures["excluded_jobs"].items()),
        ("GPU-time set aside", shown("set_aside_gpu_time", ".0f"), "GPU-s"),
        ("average JCT", shown("average_jct", ".1f"), "s"),
        ("median JCT", shown("median_jct", ".1f"), "s"),
        ("average slowdown", shown("average_slowdown", ".3f"), ""),
        ("sharing loss", shown("sharing_loss", ".2f", 100), "% of jobs"),
        ("tenant sharing loss", shown("tenant_sharing_loss", ".2f", 100), "% of tenant-days"),
        ("utilization", shown("utilization", ".2f", 100), "%"),
        ("overhead share", shown("overhead_share", ".3f", 100), "% of the average JCT"),
        ("simulated in", shown("seconds", ".3f"), "s"),
    ]
    wide = max(len(name) for name, _, _ in rows)
    head = f"{trace.name} on {about['nodes']} x {about['gpus_per_node']} GPUs under {about['policy']}"
    return "\n".join([head, *(f"{name:<{wide}}  {value:>12}  {unit}".rstrip() for name, value, unit in rows)])


def all_excluded_jobs(result: Result, listed: pd.DataFrame) -> pd.DataFrame:
    """List what was set aside by the reader (`Trace.excluded_jobs`) and before the run, in this order.

    Returns
    -------
    DataFrame, columns job_id, tenant, demand, duration, reason
        Tenant, demand and duration are missing where a reader found no job.
    """
    table = pd.concat([listed, result.excluded_jobs], ignore_index=True) if len(listed) else result.excluded_jobs
    columns = ["job_id", "tenant", "demand", "duration", "reason"]
    return table.reindex(columns=columns).astype({"demand": "Int64"})


def write_tables(result: Result, folder: Path, listed: pd.DataFrame) -> None:
    """Write ``jobs.csv``, ``tenants.csv``, ``excluded_jobs.csv`` and ``provenance.json`` into an existing folder.

    Numbers are written with as many digits as it takes to read the same number back; an undefined one is empty.

    Parameters
    ----------
    result : Result
    folder : path
    listed : DataFrame
        What the trace's reader set aside (`Trace.excluded_jobs`).
    """
    tables = {
        "jobs": result.jobs[list(JOB_COLUMNS)],
        "tenants": tenant_windows(result),
        "excluded_jobs": all_excluded_jobs(result, listed),
    }
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
    (folder / "provenance.json").write_text(json.dumps(result.provenance, indent=2) + "\n", encoding="utf-8")
