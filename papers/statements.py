"""The statements of the papers, and verdicts on them: `python -m papers.statements` prints every verdict.

`data/claims.csv` has the statements, `claims.toml` of each paper the rule and the table that each is judged on, and
`papers.rules` the verdicts. A statement is judged on the paper's own traces only, in each reading that its table has.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pandas as pd

from astraea.core.errors import InputError
from astraea.plots.files import FOLDER
from papers import ROOT, rules
from papers.gavel import rules as gavel
from papers.market import rules as market
from papers.rows import Absent, Missing, Source
from papers.rules import Judged, Verdict
from papers.ye2022 import rules as ye2022

COMMITTED: Final = ROOT / "figures"

PAPERS: Final = {"ye": "ASTRAEA", "gavel": "Gavel", "wang": "The market", "themis": "Themis"}
"""Name of a paper by the beginning of its statements' identifiers."""

SAME: Final = {"venus": ("venus", "helios-venus"), "philly": ("philly", "philly-two-weeks")}
"""Traces that a statement about Venus, or about Philly, is about: the synthetic one, and the recorded one."""

RULES: Final[Mapping[str, Callable[..., Judged]]] = {
    name: function
    for module in (rules, ye2022, gavel, market)
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if not name.startswith("_") and next(iter(inspect.signature(function).parameters), "") == "source"
}
"""Every rule by its name."""

_SHOWN: Final = {"statement": "statement", "reading": "reading", "paper": "paper", "measured": "here",
                 "interval": "interval", "verdict": "verdict"}  # fmt: skip


def published(family: str, trace: str) -> dict[str, float]:
    """Return the values that a paper prints about a trace, by what follows `family` in their identifiers.

    Times are in s, shares in [0, 1]; schedulers are named as in `astraea policies`: ``published("ye.f10", "venus")``.
    A trace that the values are not about has none: those on Venus say nothing about Philly.
    """
    claims = _claims()
    of_trace = claims["trace"].map(lambda name: trace in SAME.get(name, (name,)))
    rows = claims[claims["id"].str.startswith(f"{family}.") & of_trace & (claims["value"] != "")]
    values = rows["value"].astype(float) * rows["unit"].map({"%": 0.01}).astype(float).fillna(1.0)
    return dict(zip(rows["id"].str.removeprefix(f"{family}.").str.replace("_", "-"), values, strict=True))


def quoted(id: str) -> float:
    """Return one value that a paper prints, in the unit of its statement; `InputError` if it prints none."""
    try:
        return _values()[id]
    except KeyError:
        raise InputError(f"data/claims.csv: {id!r} is no statement with a published value") from None


def verdicts(about: str, trace: str | None = None, folder: str | Path | None = None) -> pd.DataFrame:
    """Judge the statements whose identifiers match `about` on the tables of this run, as a notebook shows them.

    With a `trace`, only those about it: no row if the paper says nothing about it.
    """
    found = evaluate(about, folder)
    found = found if trace is None else found[found["trace"] == trace]
    found["measured"] = found["measured"].mask(found["measured"] == "", found["note"])
    return found[[*_SHOWN]].rename(columns=_SHOWN).reset_index(drop=True)


def evaluate(about: str = "", folder: str | Path | None = None, *, committed: bool = True) -> pd.DataFrame:
    """Measure statements on the tables ``<id>_<trace>.csv`` of a folder: a row per statement, trace and reading.

    Parameters
    ----------
    about : str
        Regular expression that identifiers begin with.
    folder : path, optional
        Folder of this run: ``ASTRAEA_FIGURES`` if it is not given.
    committed : bool
        Whether the committed table stands in for one that the folder does not have.

    Returns
    -------
    pandas.DataFrame
        Columns id, where, trace, reading, kind, statement, paper, measured, interval, value, verdict, note; `value` is
        ours in the unit of the paper's, or NaN. Where `measured` is empty, `note` says what is missing.
        `InputError` if a table lacks a column.
    """
    own = Path(folder or os.environ.get(FOLDER) or ROOT / "build" / "figures")
    folders = [own, COMMITTED] if committed else [own]

    @cache
    def read(name: str) -> pd.DataFrame:
        for place in folders:
            if (place / f"{name}.csv").is_file():
                names = dict.fromkeys(("demand", "job_id", "tenant", "scheduler"), str)
                return pd.read_csv(place / f"{name}.csv", dtype=names)
        raise Missing(f"{name}.csv")

    rows = []
    claims: list[Any] = _claims().to_dict("records")
    for claim in claims:
        if not re.match(about, claim["id"]):
            continue
        table, on = _entries()[claim["id"]]["table"], _entries()[claim["id"]].get("on")
        own_traces = ("venus", "philly") if claim["trace"] == "both" else (claim["trace"],)
        for trace in [claim["trace"]] if on else [same for own in own_traces for same in SAME.get(own, (own,))]:
            is_there = any((place / f"{table}_{trace}.csv").is_file() for place in folders)
            if not (is_there or on or trace in own_traces):
                continue  # nobody ran the recorded trace
            for k, (reading, found) in enumerate(_judge(claim["id"], read, on or trace)):
                kind, verdict = claim["kind"], found.verdict
                if claim["repeats"] and (claim["repeats"] != claim["id"] or k > 0):
                    kind = "repeated"
                if kind == "given" and verdict == Verdict.HOLDS:
                    verdict, found = Verdict.CALIBRATED, found._replace(interval="")
                row = {**claim, "trace": trace, "reading": reading, "kind": kind, "paper": _printed(claim)}
                row |= {**found._asdict(), "verdict": str(verdict)}
                if verdict == Verdict.UNTESTED:  # what is missing
                    row |= {"measured": "", "note": f"Missing: {found.measured}. {claim['note']}".strip()}
                rows.append(row)
    columns = ["id", "where", "trace", "reading", "kind", "statement", "paper", "measured", "interval", "value",
               "verdict", "note"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def counts(found: pd.DataFrame) -> pd.DataFrame:
    """Count the verdicts of `evaluate`: a row per paper and reading, what can fail, then the others.

    A repetition of another statement is not counted. Inputs of our generator, worked examples, and what is true by
    construction are in the column ``counted apart``.
    """
    some = found[found["kind"] != "repeated"].assign(paper=lambda t: t["id"].str.partition(".")[0].map(PAPERS))
    some["verdict"] = some["verdict"].where(some["kind"] == "result", "counted apart")
    some["reading"] = some["reading"].where(some["kind"] == "result", "")
    order = [*(str(v) for v in Verdict if v != Verdict.CALIBRATED), "counted apart"]
    table = some.pivot_table(index=["paper", "reading"], columns="verdict", values="id", aggfunc="size", sort=False)
    return table.reindex(columns=order).fillna(0).astype(int)


@cache
def _claims() -> pd.DataFrame:
    return pd.read_csv(ROOT / "data" / "claims.csv", dtype=str, keep_default_na=False)


@cache
def _values() -> dict[str, float]:
    printed = _claims().query("value != ''")
    return dict(zip(printed["id"], printed["value"].astype(float), strict=True))


@cache
def _entries() -> dict[str, dict[str, Any]]:
    """Return the rule, table and parameters of each statement; `InputError` if a rule is not given what it takes."""
    found: dict[str, dict[str, Any]] = {}
    for paper in ("ye2022", "gavel", "market", "themis"):
        path = ROOT / "papers" / paper / "claims.toml"
        for id, entry in tomllib.loads(path.read_text(encoding="utf-8")).items():
            given = {k: v for k, v in entry.items() if k not in ("rule", "table", "on", "where")}
            try:
                inspect.signature(RULES[entry["rule"]]).bind(None, **given)
            except (KeyError, TypeError) as err:
                raise InputError(f"papers/{paper}/claims.toml, {id}: {err}") from None
            found[id] = {**entry, "given": given}
    return found


def _judge(id: str, read: Callable[[str], pd.DataFrame], trace: str) -> list[tuple[str, Judged]]:
    """Return the readings of a statement and what was found; a reading without its schedulers has none."""
    entry = _entries()[id]
    source = Source(read, _values(), entry["table"], trace, id, entry.get("where", {}))
    found, missing = [], Judged("", Verdict.UNTESTED)
    for reading in source.readings:
        where = {**source.where, "reading": reading} if reading else source.where
        try:
            found.append((reading, RULES[entry["rule"]](
                Source(read, _values(), entry["table"], trace, id, where), **entry["given"])))  # fmt: skip
        except Absent as err:
            missing = Judged(str(err), Verdict.UNTESTED)
        except Missing as err:
            found.append((reading, Judged(str(err), Verdict.UNTESTED)))
    return found or [("", missing)]


def _printed(claim: Mapping[Any, str]) -> str:
    """Write what a paper prints, with its unit; the relation where the statement has no value."""
    if not claim["value"]:
        return claim["relation"].replace("=", "as stated")
    relation = "" if claim["relation"] in ("=", "shape") else claim["relation"].replace("<=", "≤").replace(">=", "≥")
    return f"{relation} {claim['value']} {claim['unit']}".strip()


if __name__ == "__main__":
    table = evaluate(folder=sys.argv[1] if sys.argv[1:] else None)
    shown = table.drop(columns=["where", "statement", "note", "value", "kind"])
    print(shown.to_string(index=False, max_colwidth=70))
    print(counts(table).to_string())
