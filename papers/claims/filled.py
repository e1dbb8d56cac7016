"""Numbers in sentences: findings, notes and captions are templates that are filled from the tables of the figures.

A number that somebody wrote down is wrong after the next run. A template names it instead, in ``{{ }}``, with `value`,
`table` or `paper` and a filter, and says with `sure` what its words rest on. The tables are those of ``figures/``, at
the evaluation's size.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any, Final

import pandas as pd
from jinja2 import Environment, StrictUndefined, TemplateError, pass_context
from jinja2.runtime import Context

from astraea.core.errors import InputError
from papers import ROOT
from papers.claims.evaluate import counted, evaluate, read_claims
from papers.judging import Missing
from papers.ye2022.readings import PAPERS, PROGRAM

FIGURES: Final = ROOT / "figures"
REPEATED: Final = ("seed", "trial")
"""Columns over which a value is a mean."""


def fill(template: str, place: str, **context: Any) -> str:
    """Fill in a template; `place` says where it stands, `context` may give its `trace` and its `reading`.

    `InputError` names the place and what is missing, or what the tables no longer say.
    """
    try:
        return str(_environment().from_string(template).render(context))
    except (Missing, TemplateError, LookupError, TypeError, AttributeError) as err:
        raise InputError(f"{place}: {err}") from err


def table(name: str) -> pd.DataFrame:
    """A table of ``figures/`` by the name of its file, without ``.csv``; raises `Missing`."""
    path = FIGURES / f"{name}.csv"
    if not path.is_file():
        raise Missing(f"figures/{name}.csv is not there")
    return _read(path, path.stat().st_mtime_ns).copy()


@cache
def _read(path: Path, changed: int) -> pd.DataFrame:
    return pd.read_csv(path)


@pass_context
def value(
    context: Context,
    name: str,
    column: str,
    scheduler: str = "",
    reading: str = "",
    trace: str = "",
    how: str = "mean",
    **where: Any,
) -> float:
    """One number of a table, ``<figure>_<trace>``: the mean over seeds of the row with these values, or `how`.

    `name` may be the figure alone; trace and reading are those of the template where they are not given. Raises
    `Missing`, too if several rows of a seed are meant.
    """
    file = name if "_" in name else f"{name}_{trace or context.get('trace', '')}"
    frame = table(file)
    where |= {"scheduler": scheduler} if scheduler else {}
    where |= {"reading": reading or context.get("reading", "")} if "reading" in frame else {}
    for key, wanted in where.items():
        if key not in frame or wanted not in frame[key].to_list():
            raise Missing(f"{file}.csv has no {key} {wanted!r}")
        frame = frame[frame[key] == wanted]
    if column not in frame:
        raise Missing(f"{file}.csv has no column {column!r}")
    frame = frame.dropna(subset=column)
    repeated = frame.groupby([key for key in REPEATED if key in frame] or [*where]).size()
    if how == "mean" and (repeated > 1).any():
        raise Missing(f"{file}.csv has {repeated.max()} rows with {where}, which of them?")
    return _finite(frame[column].agg(how))


def paper(id: str) -> float:
    """What a paper says, by the identifier of the statement in ``data/claims.csv``; raises `Missing`."""
    printed = read_claims().set_index("id")["value"].get(id)
    if not printed:
        raise Missing(f"data/claims.csv: {id!r} is no statement with a published value")
    return float(printed)


def checks(about: str = "", verdict: str = "", kind: str = "result") -> int:
    """How many checks of a kind count, of statements whose identifiers begin with `about`; those of one verdict."""
    found = _judged(FIGURES.stat().st_mtime_ns)
    found = found[found["id"].str.startswith(about) & (found["kind"] == kind)]
    return len(found[found["verdict"] == verdict] if verdict else found)


@cache
def _judged(changed: int) -> pd.DataFrame:
    return counted(evaluate(FIGURES))


def sure(holds: Any, words: str) -> str:
    """Nothing, if it holds what a sentence says in words; raises `Missing`."""
    if not holds:
        raise Missing(f"the tables do not say that {words}")
    return ""


def _finite(number: Any) -> float:
    if not math.isfinite(number):
        raise Missing("there is no such number")
    return float(number)


def _fixed(number: float, digits: int = 1) -> str:
    return f"{_finite(number):,.{digits}f}"


def _percent(share: float, digits: int = 1) -> str:
    return f"{_fixed(100 * share, digits)} %"


def _points(share: float, digits: int = 1) -> str:
    return _fixed(100 * share, digits)


def _hours(seconds: float, digits: int = 1) -> str:
    return f"{_fixed(seconds / 3600, digits)} h"


@cache
def _environment() -> Environment:
    environment = Environment(undefined=StrictUndefined, autoescape=False, trim_blocks=True, keep_trailing_newline=True)
    environment.globals |= {"value": value, "table": table, "paper": paper, "checks": checks, "sure": sure}
    environment.globals |= {"program": PROGRAM, "papers": PAPERS}
    environment.filters |= {"fixed": _fixed, "percent": _percent, "points": _points, "hours": _hours}
    return environment
