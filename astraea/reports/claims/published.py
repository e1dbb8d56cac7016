"""A published value by its statement, for the figures that show it beside ours."""

from __future__ import annotations

from functools import lru_cache

from astraea.core.errors import InputError
from astraea.reports.claims.evaluate import read_claims


def published(id: str) -> float:
    """Value that a paper prints, in the unit of its statement.

    Parameters
    ----------
    id : str
        Of a row of `data/claims.csv`.

    Raises
    ------
    InputError
        If there is no such statement, or it has no value.
    """
    values = _values()
    if not values.get(id):
        raise InputError(f"data/claims.csv: {id!r} is no statement with a published value")
    return float(values[id])


@lru_cache(maxsize=1)
def _values() -> dict[str, str]:
    claims = read_claims()
    return dict(zip(claims["id"], claims["value"], strict=True))
