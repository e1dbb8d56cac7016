"""Compare our results with those of the authors' own programs: ``python -m verification DIR``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from astraea.cli import arguments as args
from astraea.cli.main import run
from verification.report import COMPARISONS


def _list(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted:
        for name, comparison in COMPARISONS.items():
            print(f"{name:<30} {comparison.about}")
        print(f"{'old-versus-new-figures':<30} the tables of two checkouts: python -m verification.tables OLD NEW")
        context.exit()


@click.command("python -m verification")
@click.argument(
    "folder", type=click.Path(path_type=Path), metavar="DIR",
    help="reference results: WORKLOAD.input.csv.gz and WORKLOAD_nNODES_RUN.csv.gz, gavel/summary.csv",
)
@click.argument("names", nargs=-1, metavar="[NAME]...", help="comparisons (default: all for which DIR has results)")
@click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_list, help="list the comparisons")
@args.path("--table", "FILE.csv", "write the first table to this file, and the others beside it")
@args.path("--figures", "DIR", "folder for pictures of the fairness of jobs, theirs and ours")
@args.parallel
def verify(folder: Path, names: tuple[str, ...], table: Path | None, figures: Path | None) -> int:
    """Simulate what the authors' own programs simulated and compare.

    The exit code is 1 if a job ends at another time than in ASTRAEA's released simulator. Averages of Gavel's simulator
    need not agree, because optima are seldom unique; those that differ are named.
    """
    for name in names:
        if name not in COMPARISONS:
            raise click.BadParameter(f"unknown comparison {name!r}; known are {', '.join(COMPARISONS)}")
    chosen = [COMPARISONS[name] for name in names]
    chosen = chosen or [c for c in COMPARISONS.values() if not c.needed or (folder / c.needed).is_file()]
    return 0 if all([comparison.report(folder, table, figures) for comparison in chosen]) else 1


if __name__ == "__main__":
    sys.exit(run(verify))
