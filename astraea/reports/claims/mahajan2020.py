"""The rules of [Mahajan2020]'s statements, between means over trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from astraea.reports.claims.rules import Judged, Missing, Source, graded, lowest_of, rule

NEAR: Final = 0.2
"""Distance of f at which the paper's value is met."""


@rule
def lowest_rho(source: Source, *, scheduler: str, others: Sequence[str]) -> Judged:
    """``ordering``: the largest rho of a run, mean over trials, against each baseline (Fig 9)."""
    return lowest_of(source.means("max_rho", scheduler, *others), scheduler, others)


@rule
def trade_off(source: Source) -> Judged:
    """``shape``: which f is best, inside the range and at most 0.2 from the paper's (Fig 19 and §4).

    A trade-off needs one number: the largest rho times the GPU-time, both relative to their smallest over f. In
    direction: its lowest point lies inside the range.
    """
    got = source("f", "max_rho", "gpu_time").groupby("f")[["max_rho", "gpu_time"]].mean().sort_index()
    if len(got) < 3:
        raise Missing("there are fewer than three values of f")
    product = (got / got.min()).prod(axis=1)
    f = float(product.index[int(product.argmin())])
    inside = got.index[0] < f < got.index[-1]
    rest = ", ".join(f"{x:.3f} at {k:g}" for k, x in product.items() if k != f)
    shown = f"lowest at f = {f:g} with {product.min():.3f}; {rest}"
    return shown, graded(inside and abs(f - source.paper) <= NEAR + 1e-9, inside)
