"""The commands of `python -m papers`: figures, claims, reproduce, check."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Final

import click

import papers
from astraea.cli import arguments as args
from astraea.cli.main import run

app: Final = click.Group("papers", help=(papers.__doc__ or "").partition("\n")[0], no_args_is_help=False)


@app.command(short_help="make every figure, table and claim")
@click.option("--trace", metavar="TRACE", help="a workload or a path; both synthetic traces if not given")
@click.option("--scale", default="paper", metavar="NAME", help="small, paper (default paper)")
@click.option("--only", metavar="NOTEBOOK", help="run one notebook, such as 04a_fairness")
@click.option("--shown", is_flag=True, help="put the evaluation on TRACE into figures/, beside the synthetic traces")
@click.option("--formats", metavar="NAME,...", default="",
              help="formats of pictures besides PNG: pdf, svg")  # fmt: skip
@args.parallel
def figures(trace: str | None, scale: str, only: str | None, shown: bool, formats: str) -> int:
    """Run the notebooks and collect their figures."""
    from astraea.plots.files import VARIABLE, further_forms
    from papers.running.figures import make_figures

    os.environ[VARIABLE] = formats or os.environ.get(VARIABLE, "")
    further_forms()  # refuses an unknown one
    return make_figures(trace=trace, scale=scale, only=only, shown=shown)


@app.command(short_help="compare the papers' claims with the figures")
@args.path("--folder", "DIR", "folder of the figures (default figures)", default="figures")
def claims(folder: Path) -> None:
    """Print what the papers claim, what came out here, and whether the claim holds."""
    from papers.claims.evaluate import evaluate
    from papers.claims.notes import with_reasons
    from papers.claims.resampling import with_probability

    table = with_reasons(with_probability(evaluate(folder), folder)).drop(columns="digest")
    print(table.to_string(index=False, na_rep="-", max_colwidth=60))


@app.command(short_help="decide the papers' major claims, one by one")
@click.argument("names", nargs=-1, metavar="[CLAIM]...")
@click.option("--json", "for_program", is_flag=True, help="print JSON")
@args.parallel
def reproduce(names: tuple[str, ...], for_program: bool) -> int:
    """Run the smallest experiment that decides a claim, C1 to C8; list the claims if none is named.

    The exit code is 0 if every statement is within its tolerance, and 1 if one is not.
    """
    from astraea.core.checks import one_of
    from papers.running.reproduce import as_text, major_claims, reproduce

    known = major_claims()
    found = {}
    for name in [one_of(name, tuple(known), "claim") for name in names]:
        found[name] = reproduce(name)
        if not for_program:
            print(as_text(name, found[name]), flush=True)
    if for_program:
        told = {name: {**one._asdict(), "table": one.table.to_dict("records")} for name, one in found.items()}
        print(json.dumps(told or known, indent=2, ensure_ascii=False))
    elif not names:
        for name, claim in known.items():
            print(f"{name}  {claim['claim']}\n    {claim['where']}; {claim['minutes']:g} min")
    return int(not all(one.holds for one in found.values()))


@app.command(short_help="check a worksheet of the course")
@click.argument("name", metavar="NB")
def check(name: str) -> int:
    """Check the answers in the worksheet notebooks/mine/NB...; make it first if it is missing.

    The exit code is 0 if every exercise is right, and 1 if one is not.
    """
    from papers.running import worksheets

    source = worksheets.worksheet(name)
    path = worksheets.copy_without_answers(source)
    found = worksheets.check(path, source)
    for one in found:
        print(f"{one.name:<10}{0 if one.wrong else one.points} of {one.points} points  {one.wrong or 'right'}")
    print(f"your answers go into {path.relative_to(papers.ROOT)}")
    return int(any(one.wrong for one in found))


if __name__ == "__main__":
    sys.exit(run(app))
