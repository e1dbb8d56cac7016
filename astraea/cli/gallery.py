"""`astraea figures` and `astraea claims`: the papers' figures, and what they claim, against our results."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from astraea.cli import arguments as args


def add(commands: Any) -> None:
    """Add the commands to the parser."""
    parser = commands.add_parser("figures", help="make every figure, table and claim", description=figures.__doc__)
    parser.add_argument("--trace", metavar="TRACE", help="a workload or a path; both synthetic traces if not given")
    parser.add_argument("--scale", choices=("small", "paper", "full"), default="paper", help="default paper")
    parser.add_argument("--only", metavar="NOTEBOOK", help="run one notebook, such as 04_fairness")
    args.add_parallel(parser)
    parser.set_defaults(run=figures)
    parser = commands.add_parser("claims", help="the papers' claims against the figures", description=claims.__doc__)
    parser.add_argument("--folder", type=Path, default=Path("figures"), metavar="DIR", help="default figures")
    parser.set_defaults(run=claims)


def figures(arguments: argparse.Namespace) -> int:
    """Run the notebooks and collect their figures."""
    from astraea.experiments.parallel import computing
    from astraea.reports.figures import make_figures

    computing(arguments.jobs, arguments.backend, arguments.scheduler)

    return int(
        make_figures(
            trace=arguments.trace,
            scale=arguments.scale,
            only=arguments.only,
        )
    )


def claims(arguments: argparse.Namespace) -> int:
    """Print what the papers claim, what was measured, and whether it holds."""
    from astraea.reports.claims.evaluate import evaluate, with_reasons

    table = with_reasons(evaluate(arguments.folder))
    print(table.to_string(index=False, na_rep="-", max_colwidth=60))
    return 0
