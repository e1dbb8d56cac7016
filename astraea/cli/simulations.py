"""`astraea simulate`, `sweep` and `lease-term`: one run, a grid of runs, and a choice made of several."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path

import click

from astraea.cli import arguments as args
from astraea.core.errors import InputError
from astraea.core.files import publishing, write_atomically

_cache = args.path("--cache", "DIR", "where results are kept, default data/cache")


@click.command(cls=args.Command, short_help="run a trace under a policy")
@args.simulations()
@click.option("--json", "for_program", is_flag=True, help="print the summary as JSON and nothing else")
@args.path("--out", "DIR", "write jobs.csv, tenants.csv, excluded_jobs.csv, provenance.json there")
def simulate(wanted: args.Simulations, for_program: bool, out: Path | None) -> None:
    """Run a trace on a cluster under a policy; print a summary, and write the tables if asked to."""
    from astraea.cli.tables import run_summary, summary_text, write_tables
    from astraea.experiments.run import simulated

    with nullcontext() if out is None else publishing(out) as folder:
        (run,) = wanted.runs()
        result = simulated(run.trace, run.cluster, run.policy, run.seed, run.settings)
        if folder is not None:
            write_tables(result, run.trace, folder)
    figures = run_summary(result, run.trace)
    print(json.dumps(figures, indent=2, allow_nan=False) if for_program else summary_text(figures, result, run.trace))


@click.command(cls=args.Command, short_help="run a grid and make a table of it")
@args.simulations(several=True)
@args.parallel
@_cache
@args.path("--out", "FILE.csv", "the table; printed if not given")
def sweep(wanted: args.Simulations, cache: Path | None, out: Path | None) -> None:
    """Run every combination of policies, parameters, cluster sizes and seeds; one row of the table per run."""
    from astraea.experiments.grid import grid_table

    if out is not None and (out.is_dir() or not out.absolute().parent.is_dir()):
        raise InputError(f"{out}: --out must be a file in a folder that exists")
    runs = wanted.runs()
    table = grid_table(runs, cache=cache, progress=sys.stderr.isatty()).to_csv(index=False, lineterminator="\n")
    if out is None:
        print(table, end="")
    else:
        write_atomically(out, table)
        print(f"{len(runs)} runs in {out}")


@click.command(cls=args.Command, short_help="recommend a lease term for a trace and a cluster")
@args.simulations()
@click.option("--terms", type=args.listed(args.whole_number), metavar="S,...",
              help="lease terms to try [s]; {studies.ye2022.lease_term:TERMS} if not given")  # fmt: skip
@args.parallel
@_cache
def lease_term(wanted: args.Simulations, terms: list[int] | None, cache: Path | None) -> None:
    """Try several lease terms and recommend the shortest whose average JCT is within 2 % of the best."""
    from astraea.studies.ye2022.lease_term import TERMS, select_lease_term

    if "lease_term" in wanted.parameters:
        raise InputError("--param lease_term: give the lease terms to try with --terms")
    (run,) = wanted.runs()
    choice = select_lease_term(run, terms or TERMS, cache=cache, progress=sys.stderr.isatty())
    print(f"{'lease term [s]':>14}  {'average JCT [s]':>15}  {'overhead [%]':>12}  {'sharing loss [%]':>16}")
    for term, jct, overhead, loss in choice.table.to_numpy(dtype=float):
        print(f"{term:>14g}  {jct:>15.1f}  {100 * overhead:>12.2f}  {100 * loss:>16.2f}")
    print(f"\n{choice.reason}")
