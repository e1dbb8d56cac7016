"""Published values, for the figures that show them beside ours."""

from __future__ import annotations

from astraea.core.errors import InputError
from papers.claims.evaluate import SAME, read_claims


def published(id: str) -> float:
    """Value that a paper prints, in the unit of its statement; `InputError` if `data/claims.csv` has none."""
    value = read_claims().set_index("id")["value"].get(id)
    if not value:
        raise InputError(f"data/claims.csv: {id!r} is no statement with a published value")
    return float(value)


def published_of(family: str, trace: str) -> dict[str, float]:
    """Values of `data/claims.csv` by what follows `family` in their identifiers: ``published_of("ye.f10", "venus")``.

    Times are in s, shares in [0, 1]; schedulers are named as in `astraea policies`. There is nothing about a trace that
    the values are not about: those on Venus say nothing about Philly.
    """
    claims = read_claims()
    of_trace = claims["trace"].map(lambda name: trace in SAME.get(name, (name,)))
    rows = claims[claims["id"].str.startswith(f"{family}.") & of_trace & (claims["value"] != "")]
    values = rows["value"].astype(float) * rows["unit"].map({"%": 0.01}).astype(float).fillna(1.0)
    return dict(zip(rows["id"].str.removeprefix(f"{family}.").str.replace("_", "-"), values, strict=True))
