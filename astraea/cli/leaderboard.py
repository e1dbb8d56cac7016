"""`astraea leaderboard`: every policy of the package, and your own, on your own logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from astraea.cli import arguments as args
from astraea.core.errors import InputError
from astraea.core.files import write_atomically


@click.command(cls=args.Command, short_help="rank every policy on your logs, with intervals")
@args.logs
@click.option("--nodes", type=args.whole_number, metavar="N",
              help="number of machines (default: as many as the jobs keep busy)")  # fmt: skip
@click.option("--gpus-per-node", type=args.whole_number, default="8", metavar="N", help="GPUs per machine (default 8)")
@click.option("--policy", "own", multiple=True, metavar="FILE.py:NAME",
              help="a policy of your own, in addition to those of the package; may be repeated")  # fmt: skip
@click.option("--seeds", type=args.first_seeds, default="1", metavar="N", help="number of synthetic traces (default 1)")
@args.parallel
@args.cache
@args.path("--out", "FILE.csv", "file for the table of all logs")
def leaderboard(sources: tuple[str, ...], nodes: int | None, gpus_per_node: int, own: tuple[str, ...],
                seeds: list[int], cache: Path | None, out: Path | None, **reading: Any) -> None:  # fmt: skip
    """Rank every policy on logs by fairness and speed, with 95 % intervals over weeks or over seeds.

    Jobs are submitted in rounds of 10 s. A policy that needs running times learns them from the log's past. A policy
    that cannot run is listed with the reason.
    """
    import pandas as pd

    from astraea.cli.tables import standings_text
    from astraea.cluster.cluster import Cluster
    from astraea.cluster.policies import POLICIES
    from astraea.cluster.settings import Settings
    from astraea.experiments.leaderboard import contest, standings
    from astraea.live.config import named_policy
    from astraea.traces.describe import suitable_nodes
    from astraea.traces.named import named_trace
    from astraea.traces.synthetic import SYNTHETIC

    args.refuse_no_file(out)
    policies = dict(POLICIES)
    for policy in (named_policy(name, Path()) for name in own):
        if policies.setdefault(policy.name, policy) is not policy:
            raise InputError(f"--policy: the name {policy.name!r} is taken by another policy")
    args.say_if_compiling()
    tables = []
    for source in sources:
        traces = [named_trace(source, **reading, seed=seed) for seed in (seeds if source in SYNTHETIC else [0])]
        busy = suitable_nodes(traces[0], gpus_per_node) if nodes is None else nodes
        cluster = Cluster(busy, gpus_per_node)
        in_rounds = [trace.in_rounds(Settings().interval) for trace in traces]
        table = standings(*contest(policies, in_rounds, cluster), cache, progress=True)
        print(standings_text(traces[0].name, sum(map(len, traces)), cluster, table), end="\n\n")
        tables.append(table.assign(trace=traces[0].name, nodes=busy, gpus_per_node=gpus_per_node))
    if out is not None:
        write_atomically(out, pd.concat(tables).to_csv(index=False, lineterminator="\n"))
