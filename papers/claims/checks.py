"""Checks and which of them count: each statement's rule, traces and readings, its kind, and checks that are one.

All of this decides verdicts and their numbers, so the hash of the rules covers this file.
"""

from __future__ import annotations

import inspect
import math
import tomllib
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd

from astraea.core.errors import InputError
from astraea.traces.synthetic import SYNTHETIC
from papers import ROOT, rules
from papers.gavel import rules as gavel
from papers.judging import Absent, Judged, Missing, Source, Verdict
from papers.market import rules as market
from papers.ye2022 import rules as ye2022

SAME: Final = {"venus": ("venus", "helios-venus"), "philly": ("philly", "philly-two-weeks")}
"""Traces that a value about Venus, or about Philly, is compared with."""

REPEATED: Final = "repeated"
"""Kind of a check that is not counted, as it follows from others: the column `repeats` of `claims.csv` says which."""

OF_PHILLY: Final = ("philly-two-weeks", "philly-vcs", "w2", "chrslo")
"""Workloads that are cut from one log, Philly's."""

_EVERYWHERE: Final = ("ordering", "monotone", "shape", "<=", "close to", "exists")
"""Relations that are checked on every trace, also where the statement is about one."""

RULES: Final[dict[str, Callable[..., Judged]]] = {
    name: function
    for module in (rules, ye2022, gavel, market)
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
}
"""Every rule by its name."""


class Statement(NamedTuple):
    """A check of a statement: the rule, the table and its rows, and the trace, if it is not each there is."""

    judge: partial[Judged]
    table: str
    on: str
    where: Mapping[str, Any]

    @property
    def has_many(self) -> bool:
        """Return true if it is about several printed values at once."""
        return self.judge.func is rules.printed_values

    def source(
        self, read: Callable[[str], pd.DataFrame], papers: Mapping[str, float], trace: str, id: str, reading: str = ""
    ) -> Source:
        """Return the rows on a trace, of one reading if it is named; `papers` are as of `published_values`."""
        where = {**self.where, "reading": reading} if reading else self.where
        return Source(read, papers, self.table, self.on or trace, id, where)


def read_statements(path: Path) -> dict[str, Statement]:
    """Statements of one paper, by identifier, from its `claims.toml`.

    `InputError` if a statement has no table, names a rule that does not exist, or does not give a rule what it takes.
    """
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    return {id: _statement(f"{path.parent.name}/{path.name}, {id}", **entry) for id, entry in entries.items()}


def _statement(place: str, rule: str = "", table: str = "", on: str = "", where: Any = None, **given: Any) -> Statement:
    if rule not in RULES:
        raise InputError(f"{place}: there is no rule {rule!r}; there are: {', '.join(sorted(RULES))}")
    if not table:
        raise InputError(f"{place}: the table is missing")
    signature = inspect.signature(RULES[rule])
    try:
        signature.bind(None, **given)
    except TypeError as err:
        takes = ", ".join([*signature.parameters][1:]) or "nothing"
        raise InputError(f"{place}: rule {rule}: {err}; it takes: {takes}") from None
    return Statement(partial(RULES[rule], **given), table, on, where or {})


STATEMENTS: Final[Mapping[str, Statement]] = {
    id: statement
    for paper in ("ye2022", "gavel", "market", "themis")
    for id, statement in read_statements(ROOT / "papers" / paper / "claims.toml").items()
}
"""Every statement that is checked; one that is not here is "not yet"."""


def traces_of(tables: Sequence[str], id: str, trace: str, relation: str) -> list[str]:
    """Traces of which there are tables that a statement is checked on; the statement's own if there is none."""
    if id not in STATEMENTS or STATEMENTS[id].on:
        return [trace]
    table = STATEMENTS[id].table
    there = [name.removeprefix(f"{table}_") for name in tables if name.startswith(f"{table}_")]
    if relation not in _EVERYWHERE and trace != "both":
        there = [t for t in there if t in SAME.get(trace, (trace,))]
    own = [t for t in ("venus", "philly") if t in there]
    return [*own, *(t for t in there if t not in own)] or (["venus", "philly"] if trace == "both" else [trace])


def kind_of(claim: Mapping[Hashable, str], trace: str, reading: int) -> str:
    """Kind of a check; `reading` counts from 0. A statement that repeats itself is the same in each reading."""
    if claim["repeats"] and (claim["repeats"] != claim["id"] or reading > 0):
        return REPEATED
    return "result" if claim["kind"] == "given" and trace not in SYNTHETIC else claim["kind"]


def judged(
    id: str, read: Callable[[str], pd.DataFrame], papers: Mapping[str, float], trace: str
) -> list[tuple[str, str, float, Verdict, str]]:
    """Reading, what was measured, as text and as a number, verdict, and what is missing."""
    if id not in STATEMENTS:
        return [("", "", math.nan, Verdict.NOT_YET, "")]
    statement = STATEMENTS[id]
    found, missing = [], ""
    for reading in statement.source(read, papers, trace, id).readings:
        try:
            measured, verdict, *value = statement.judge(statement.source(read, papers, trace, id, reading))
            found.append((reading, measured, value[0] if value else math.nan, verdict, ""))
        except Absent as err:
            missing = str(err)  # in this reading there is no such scheduler
        except Missing as err:
            found.append((reading, "", math.nan, Verdict.NOT_YET, str(err)))
    return found or [("", "", math.nan, Verdict.NOT_YET, missing)]


def counted(table: pd.DataFrame) -> pd.DataFrame:
    """Checks of the table of `evaluate` that count: none that repeats another, and each once for one log.

    Workloads of `OF_PHILLY` are one check with the worst of their verdicts; what is not yet there counts if nothing of
    the statement is.
    """
    table = table[table["kind"] != REPEATED].reset_index(drop=True)
    log = table["trace"].map(lambda trace: "philly's" if trace in OF_PHILLY else trace)
    keys = table[["id", "reading"]].assign(log=log, rank=table["verdict"].map([*Verdict].index))
    there = table["verdict"] != Verdict.NOT_YET
    keys = keys[there | ~there.groupby([keys["id"], keys["log"]]).transform("any")]
    worst = keys.sort_values("rank", kind="stable").drop_duplicates(["id", "log", "reading"], keep="last").index
    return table.loc[worst.sort_values()]
