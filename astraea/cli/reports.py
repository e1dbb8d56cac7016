"""`astraea figures` and `astraea claims`: the papers' figures, and what they claim, against our results."""

from __future__ import annotations

from pathlib import Path

import click

from astraea.cli import arguments as args


@click.command(cls=args.Command, short_help="make every figure, table and claim")
@click.option("--trace", metavar="TRACE", help="a workload or a path; both synthetic traces if not given")
@click.option("--scale", default="paper", metavar="NAME", help="{studies.scales:SCALES}; default paper")
@click.option("--only", metavar="NOTEBOOK", help="run one notebook, such as 04_fairness")
@args.parallel
def figures(trace: str | None, scale: str, only: str | None) -> int:
    """Run the notebooks and collect their figures."""
    from astraea.reports.figures import make_figures

    return make_figures(trace=trace, scale=scale, only=only)


@click.command(cls=args.Command, short_help="the papers' claims against the figures")
@args.path("--folder", "DIR", "default figures", default="figures")
def claims(folder: Path) -> None:
    """Print what the papers claim, what was measured, and whether it holds."""
    from astraea.reports.claims.evaluate import evaluate, with_reasons

    print(with_reasons(evaluate(folder)).to_string(index=False, na_rep="-", max_colwidth=60))
