"""Small markets for the tests."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from hypothesis import strategies as st

from papers.market.model import SLOT, Jobs, Market


def market(jobs: list[dict[str, Any]], workers: list[int], ps: list[int], quota: Any, **more: Any) -> Market:
    """Jobs by what differs from one slot of work at worth 100 - 2 t; `quota` is (workers, ps) of each tenant."""
    usual = {"tenant": 0, "arrival": 0, "epochs": 1, "chunks": 1, "batches": 1, "train": 0.5, "update": 0.5}
    usual |= {"size": SLOT / 2, "slope": -2.0, "height": 100.0}
    rows = [usual | j for j in jobs]
    columns = {name: np.array([r[name] for r in rows]) for name in usual}
    worker_quota, ps_quota = np.array(quota).T
    return Market(
        name="small",
        jobs=Jobs(job_id=tuple(f"j{i}" for i in range(len(jobs))), utility=more.get("utility", "linear"), **columns),
        workers=np.array(workers),
        ps=np.array(ps),
        worker_bandwidth=more.get("worker_bandwidth", 1.0),
        ps_bandwidth=more.get("ps_bandwidth", 1.0),
        worker_quota=worker_quota,
        ps_quota=ps_quota,
    )


def with_jobs(m: Market, **changes: Any) -> Market:
    return dataclasses.replace(m, jobs=dataclasses.replace(m.jobs, **changes))


@st.composite
def markets(draw: st.DrawFn) -> Market:
    """Up to 6 jobs of 3 tenants on up to 4 servers."""
    servers = draw(st.integers(1, 4))
    workers = draw(st.lists(st.integers(1, 3), min_size=servers, max_size=servers))
    ps = draw(st.lists(st.integers(1, 2), min_size=servers, max_size=servers))
    tenants = draw(st.integers(1, 3))
    quota = []
    for units in (workers, ps):
        cuts = sorted(draw(st.lists(st.integers(0, sum(units)), min_size=tenants - 1, max_size=tenants - 1)))
        quota.append(np.diff([0, *cuts, sum(units)]))
    job = st.fixed_dictionaries(
        {
            "tenant": st.integers(0, tenants - 1),
            "arrival": st.integers(0, 9),
            "epochs": st.integers(1, 3),
            "chunks": st.integers(1, 4),
            "batches": st.integers(1, 2),
            "slope": st.sampled_from([-4.0, -2.0, -1.0]),
            "height": st.sampled_from([20.0, 60.0, 100.0]),
        }
    )
    jobs = draw(st.lists(job, min_size=1, max_size=6))
    utility = draw(st.sampled_from(["linear", "convex"]))
    return market(
        jobs, workers, ps, np.array(quota).T, utility=utility, ps_bandwidth=draw(st.sampled_from([0.5, 1.0, 2.0]))
    )
