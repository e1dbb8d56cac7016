"""The statements that are checked: a TOML file for each paper, read and compared with the rules that there are."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from astraea.core.errors import InputError
from astraea.reports.claims import narayanan2020, wang2023, ye2022  # noqa: F401  they add their rules to RULES
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
    signature = inspect.signature(RULES[rule])
    try:
        signature.bind(None, **given)
    except TypeError as err:
        takes = ", ".join([*signature.parameters][1:]) or "nothing"
        raise InputError(f"{place}: rule {rule}: {err}; it takes: {takes}") from None
    return Statement(partial(RULES[rule], **given), table, on)


STATEMENTS: Final[Mapping[str, Statement]] = {
    id: statement
    for paper in ("ye2022", "narayanan2020", "wang2023", "mahajan2020")
    for id, statement in read_statements(Path(__file__).with_name(f"{paper}.toml")).items()
}
"""Every statement that is checked; one that is not here is "not yet"."""
