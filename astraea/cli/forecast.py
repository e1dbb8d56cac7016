"""Forecasts of when a job that is not yet submitted would start, in a log or in a running Slurm."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from astraea.cli import arguments as args
from astraea.core.errors import InputError

if TYPE_CHECKING:
    from astraea.cluster.cluster import Cluster
    from astraea.cluster.policy import Policy
    from astraea.cluster.site import Site
    from astraea.traces.trace import Trace


def in_log(job: str, trace: Trace, cluster: Cluster, policy: Policy, site: Site) -> str:
    """Forecast in five lines a job that is submitted at the end of a log, or at a time in it."""
    from astraea.forecast.log import queue_of
    from astraea.forecast.start import would_start
    from astraea.forecast.wish import wish
    from astraea.forecast.words import as_text

    if policy.name != "slurm":
        raise InputError(f"--would-start works with --scheduler slurm only, got {policy.name}")
    moment = queue_of(trace, wish(job), cluster, policy, site)
    args.say_if_compiling()
    return as_text(would_start(moment), moment)


@click.command("wait", cls=args.Command, short_help="forecast when a job would start if it were submitted now")
@click.argument("job", metavar="JOB")
@args.path("--jobs", "FILE", "output of squeue --json --states=all; by default Slurm is asked")
@args.path("--nodes", "FILE", "output of scontrol show nodes --json")
@args.path("--history", "FILE", "sacct -P log of earlier jobs; if Slurm is asked, default the last week")
@click.option("--param", type=lambda text: args.parameter(text, False), multiple=True, metavar="NAME=VALUE",
              help="parameter of the policy slurm; may be repeated")  # fmt: skip
def wait(job: str, jobs: Path | None, nodes: Path | None, history: Path | None, param: tuple[tuple[str, list[Any]], ...]
         ) -> None:  # fmt: skip
    """Forecast when JOB would start, for example gpus=8,account=vision,time=4h; user and partition are optional.

    The current queue is simulated many times, with the priorities that Slurm shows.
    """
    from astraea.cluster.policies import get_policy
    from astraea.forecast.start import would_start
    from astraea.forecast.wish import wish
    from astraea.forecast.words import as_text
    from astraea.live.queue import ask, queue_now, read
    from astraea.traces.readers import read_trace

    if (jobs is None) != (nodes is None):
        raise click.UsageError("give both --jobs and --nodes, or neither")
    asked, policy = wish(job), get_policy("slurm")(**{name: values[0] for name, values in param})
    if asked.at is not None:
        raise InputError("a job: at=... is for logs (astraea audit --would-start); astraea wait forecasts from now")
    known = None if history is None else read_trace(history, format="slurm")
    if jobs is None or nodes is None:
        answers, log = ask()
        if known is None:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "sacct"
                path.write_text(log)
                try:
                    known = read_trace(path, format="slurm")
                except InputError:  # nothing ran in that time
                    known = None
    else:
        answers = read(jobs, nodes)
    args.say_if_compiling()
    moment = queue_now(answers, asked, policy, known)
    print(as_text(would_start(moment), moment))
