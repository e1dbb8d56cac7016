"""Small markets for the tests."""

from __future__ import annotations

import dataclasses
from typing import Any

from papers.market.constraints import violations
from papers.market.example import small_market
from papers.market.model import SLOT, Market, MarketPlan


def market(
    work: list[int],
    chunks: list[int],
    *,
    servers: int = 2,
    workers: int = 2,
    quota: list[int] | None = None,
    ps_quota: list[int] | None = None,
    network: float = 0.0,
    reach: float = 1.0,
    **columns: Any,
) -> Market:
    """Job i takes work[i] * chunks[i] worker slots; f(t) = 100 - t; PSs feed `reach` workers elsewhere.

    `network` is the part of a slot that a mini-batch takes longer with distributed placement; `columns` are those of
    `Jobs`.
    """
    quotas = list(zip(quota or [servers * workers], ps_quota or [servers], strict=True))
    usual = {"epochs": work, "chunks": chunks, "size": network * SLOT / 2, "slope": -1.0}
    m = small_market("small", [workers] * servers, [1] * servers, quotas, **usual | columns)
    return dataclasses.replace(m, ps_bandwidth=reach)


def spans(plan: MarketPlan) -> dict[int, tuple[int, int]]:
    """Start and end of each job that runs; a plan that breaks no constraint."""
    assert violations(plan.market, plan) == []
    return {s.job: (s.start, s.end) for s in plan.schedules}
