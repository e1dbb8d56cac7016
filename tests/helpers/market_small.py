"""Small markets for the tests."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from hypothesis import strategies as st

from papers.market.constraints import violations
from papers.market.model import SLOT, Market, Plan
from papers.market.study.example import small_market


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


def spans(plan: Plan) -> dict[int, tuple[int, int]]:
    """Start and end of each job that runs; a plan that breaks no constraint."""
    assert violations(plan.market, plan) == []
    return {s.job: (s.start, s.end) for s in plan.schedules}


@st.composite
def markets(draw: st.DrawFn) -> Market:
    """Up to 6 jobs of 3 tenants on up to 4 servers."""
    servers, tenants, n = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 6))
    workers = draw(st.lists(st.integers(1, 3), min_size=servers, max_size=servers))
    ps = draw(st.lists(st.integers(1, 2), min_size=servers, max_size=servers))
    quota = []
    for units in (workers, ps):
        cuts = sorted(draw(st.lists(st.integers(0, sum(units)), min_size=tenants - 1, max_size=tenants - 1)))
        quota.append(np.diff([0, *cuts, sum(units)]))
    values = {
        "tenant": st.integers(0, tenants - 1),
        "arrival": st.integers(0, 9),
        "epochs": st.integers(1, 3),
        "chunks": st.integers(1, 4),
        "batches": st.integers(1, 2),
        "slope": st.sampled_from([-4.0, -2.0, -1.0]),
        "height": st.sampled_from([20.0, 60.0, 100.0]),
    }
    columns = {name: draw(st.lists(value, min_size=n, max_size=n)) for name, value in values.items()}
    utility = draw(st.sampled_from(["linear", "convex"]))
    m = small_market("small", workers, ps, np.array(quota).T, utility=utility, **columns)
    return dataclasses.replace(m, ps_bandwidth=draw(st.sampled_from([0.5, 1.0, 2.0])))
