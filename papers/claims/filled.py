"""Numbers in sentences: findings, notes and captions are templates that are filled from the tables of the figures.

A number that is typed is wrong after the next run. A template names it instead, in ``{{ }}``, with `value`, `table` or
`paper` and a filter, and checks with `ahead` and `sure` what its words rest on. The tables are those of
``figures/``, at the evaluation's size.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import pandas as pd
from jinja2 import Environment, StrictUndefined, TemplateError, pass_context
from jinja2.runtime import Context

from astraea.core.errors import InputError
from astraea.core.units import HOUR
from astraea.plots import look
from papers import ROOT
from papers.claims.checks import counted
from papers.claims.evaluate import evaluate, read_claims
from papers.claims.resampling import NAME
from papers.judging import Missing
from papers.ye2022.readings import PAPERS, PROGRAM

FIGURES: Final = ROOT / "figures"
FINDINGS: Final = "data/findings.md"
ALL: Final = ("venus", "philly", "w2", "chrslo", "philly-vcs", "itp")
"""The traces of the evaluation."""
REPEATED: Final = ("seed", "trial")
"""Columns over which a value is a mean."""


class NotMade(Missing):
    """A table is not there, because its figure was never made."""


def fill(template: str, place: str, **context: Any) -> str:
    """Fill in a template; `place` names it in errors, `context` may give its `trace` and its `reading`.

    `InputError` names the place and what is missing, or what the tables no longer say.
    """
    try:
        return str(_environment().from_string(template).render(context))
    except (Missing, TemplateError, LookupError, TypeError, AttributeError) as err:
        raise InputError(f"{place}: {err}") from err


def findings() -> list[str]:
    """Fill in ``data/findings.md``: its title, then one line for each finding, or which of its tables nobody has made.

    The macros at the top of the file are known in all of it. `InputError` names the finding.
    """
    text = (ROOT / FINDINGS).read_text(encoding="utf-8")
    macros, title, *items = re.split(r"^(?=## |\d+\. )", text, flags=re.MULTILINE)
    return [title.strip(), "", *(_finding(k, macros + item) for k, item in enumerate(items, 1))]


def _finding(number: int, template: str) -> str:
    try:
        return " ".join(fill(template, f"{FINDINGS}, finding {number}").split())
    except InputError as err:
        if not isinstance(err.__cause__, NotMade):
            raise
        return f"{number}. *Not made yet: {err.__cause__}.*"


def table(*names: str) -> pd.DataFrame:
    """A table of ``figures/`` by the name of its file, without ``.csv``, or the rows of several; raises `NotMade`."""
    paths = [FIGURES / f"{name}.csv" for name in names]
    for path in paths:
        if not path.is_file():
            raise NotMade(f"figures/{path.name} is not there")
    return pd.concat([_read(path, path.stat().st_mtime_ns) for path in paths])


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


@pass_context
def ahead(
    context: Context,
    name: str,
    column: str,
    first: str,
    over: Sequence[str],
    reading: str = "",
    traces: Sequence[str] = ALL,
) -> str:
    """Return nothing if `first` has a lower value than each of `over` on each trace; raises `Missing` with both."""
    for trace in traces:
        own, *others = (value(context, name, column, scheduler, reading, trace) for scheduler in (first, *over))
        for rival, other in zip(over, others, strict=True):
            if own >= other:
                raise Missing(f"{name}_{trace}.csv: {column} is {own:g} for {first}, not below {other:g} for {rival}")
    return ""


def paper(id: str) -> float:
    """Return the value that a paper prints, by identifier in ``data/claims.csv``; raises `Missing`."""
    printed = read_claims().set_index("id")["value"].get(id)
    if not printed:
        raise Missing(f"data/claims.csv: {id!r} is no statement with a published value")
    return float(printed)


def checks(about: str = "", verdict: str = "", kind: str = "result", reading: str = "") -> int:
    """Count the checks of a kind, of statements whose identifiers begin with `about`; those of one verdict."""
    found = _judged(FIGURES.stat().st_mtime_ns)
    found = found[found["id"].str.startswith(about) & (found["kind"] == kind)]
    for column, wanted in {"verdict": verdict, "reading": reading}.items():
        found = found[found[column] == wanted] if wanted else found
    return len(found)


def steadiness(**where: str) -> pd.Series[float]:
    """Return in which share of resamples the verdict is the same, of each result that counts, or of some."""
    keys = ["id", "trace", "reading"]
    found = _judged(FIGURES.stat().st_mtime_ns).query("kind == 'result'")[keys]
    found = found.merge(table(NAME.removesuffix(".csv")).fillna({"reading": ""}), on=keys).dropna(subset="same")
    for key, wanted in where.items():
        found = found[found[key] == wanted]
    return found["same"]


@cache
def _judged(changed: int) -> pd.DataFrame:
    return counted(evaluate(FIGURES))


def sure(holds: Any, words: str) -> str:
    """Return nothing if the words of a sentence hold; raises `Missing`."""
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
    return f"{_fixed(seconds / HOUR, digits)} h"


def plain_name(scheduler: str) -> str:
    """Name of a scheduler without formulas."""
    return look(scheduler).label.replace(r"$_{\mathrm{fair}}$", "_fair").replace(", under", " under")


@cache
def _environment() -> Environment:
    environment = Environment(undefined=StrictUndefined, autoescape=False, trim_blocks=True, keep_trailing_newline=True)
    environment.globals |= {"value": value, "table": table, "paper": paper, "checks": checks, "sure": sure}
    environment.globals |= {"ahead": ahead, "steadiness": steadiness, "program": PROGRAM, "papers": PAPERS, "ALL": ALL}
    environment.filters |= {"fixed": _fixed, "percent": _percent, "points": _points, "hours": _hours}
    environment.filters |= {"name": plain_name}
    return environment
