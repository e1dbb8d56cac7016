"""Small markets for tests: one mini-batch a slot and worker, no communication unless asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.market.constraints import violations
from papers.market.model import SLOT, Jobs, Market, Plan


def market(
    work: list[int],
    chunks: list[int],
    *,
    tenant: list[int] | None = None,
    arrival: list[int] | None = None,
    servers: int = 2,
    workers: int = 2,
    quota: list[int] | None = None,
    ps_quota: list[int] | None = None,
    network: float = 0.0,
    reach: float = 1.0,
    height: list[float] | None = None,
) -> Market:
    """Job i takes work[i] * chunks[i] worker slots; f(t) = height - t; PSs feed `reach` workers elsewhere.

    `network` is the part of a slot that a mini-batch takes longer with distributed placement.
    """
    n = len(work)
    jobs = Jobs(
        job_id=tuple(f"j{i}" for i in range(n)),
        tenant=np.array(tenant or [0] * n),
        arrival=np.array(arrival or [0] * n),
        epochs=np.array(work),
        chunks=np.array(chunks),
        batches=np.ones(n, np.int64),
        train=np.ones(n),
        update=np.zeros(n),
        size=np.full(n, network * SLOT / 2),
        utility="linear",
        slope=np.full(n, -1.0),
        height=np.array(height or [100.0] * n),
    )
    fields: dict[str, Any] = {
        "workers": np.full(servers, workers),
        "ps": np.ones(servers, np.int64),
        "worker_quota": np.array(quota or [servers * workers]),
        "ps_quota": np.array(ps_quota or [servers]),
    }
    return Market("small", jobs, worker_bandwidth=1.0, ps_bandwidth=reach, **fields)


def spans(plan: Plan) -> dict[int, tuple[int, int]]:
    """Start and end of each job that runs."""
    return {s.job: (s.start, s.end) for s in plan.schedules}


def check(plan: Plan) -> None:
    """Constraints of (3), from the checker and once more from the paper, without it."""
    assert list(violations(plan.market, plan)) == []
    m, seen = plan.market, set()
    last = max((s.end for s in plan.schedules), default=0)
    workers, ps = np.zeros((last, len(m.workers)), np.int64), np.zeros((last, len(m.workers)), np.int64)
    for s in plan.schedules:
        assert s.job not in seen
        seen.add(s.job)
        size = int(s.workers.sum())
        assert len(set(s.server.tolist())) == len(s.server)
        assert m.jobs.arrival[s.job] <= s.start
        assert 1 <= size <= m.jobs.chunks[s.job]
        assert s.ps.sum() >= 1
        for y, z in zip(s.workers, s.ps, strict=True):
            assert z == 0 or (size - y) * m.worker_bandwidth <= z * m.ps_bandwidth * (1 + 1e-9)
        is_central = len(s.server) == 1
        assert s.end - s.start >= m.duration(s.job, size)[int(is_central)]
        workers[s.start : s.end, s.server] += s.workers
        ps[s.start : s.end, s.server] += s.ps
    assert (workers <= m.workers).all() and (ps <= m.ps).all()
