"""The statements that are checked: a TOML file for each paper, read and compared with the rules that there are."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from astraea.core.errors import InputError
from astraea.reports.claims import mahajan2020, narayanan2020, wang2023, ye2022
from astraea.reports.claims.rules import RULES, Judged


class Statement(NamedTuple):
    """How a statement is checked: the rule, the table, and the trace `on` which, if not on each that is there."""

    judge: Callable[..., Judged]
    table: str
    on: str


def read_statements(path: Path) -> dict[str, Statement]:
    """Statements of one paper, by identifier.

    Raises
    ------
    InputError
        If a statement names a rule that does not exist, or does not give a rule what it takes.
    """
    with path.open("rb") as file:
        entries = tomllib.load(file)
    return {id: _statement(f"{path.name}, {id}", **entry) for id, entry in entries.items()}


def _statement(place: str, rule: str = "", table: str = "", on: str = "", **given: object) -> Statement:
    if rule not in RULES:
        raise InputError(f"{place}: there is no rule {rule!r}; there are: {', '.join(sorted(RULES))}")
    if not table:
        raise InputError(f"{place}: the table is missing")
    takes = {name: p for name, p in inspect.signature(RULES[rule]).parameters.items() if p.kind is p.KEYWORD_ONLY}
    wrong = [f"it takes no {name}" for name in given if name not in takes]
    wrong += [f"{name} is missing" for name, p in takes.items() if p.default is p.empty and name not in given]
    if wrong:
        raise InputError(f"{place}: rule {rule}: {wrong[0]}; it takes: {', '.join(takes) or 'nothing'}")
    return Statement(partial(RULES[rule], **given), table, on)


STATEMENTS: Final[Mapping[str, Statement]] = {
    id: statement
    for paper in (ye2022, narayanan2020, wang2023, mahajan2020)
    for id, statement in read_statements(Path(str(paper.__file__)).with_suffix(".toml")).items()
}
"""Every statement that is checked; one that is not here is "not yet"."""
