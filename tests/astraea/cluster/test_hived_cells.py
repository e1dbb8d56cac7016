"""HiveD's cells: what its own cells hold never waits, whatever happens."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import whole
from astraea.cluster.policies.hived import hived
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.result import Result
from astraea.traces.trace import Trace


class Held(NamedTuple):
    """A cell that a guaranteed job holds."""

    node: int
    first: int
    size: int


def blocks(root: Held, held: list[Held], is_root: bool = True) -> list[Held]:
    """Free cells of a cell: itself if nothing is held in it, or else those of its halves.

    What is no power of two is halved into the largest power of two below it and the rest.
    """
    inside = [c for c in held if c.node == root.node and root.first <= c.first < root.first + root.size]
    around = [c for c in held if c.node == root.node and c.first <= root.first < c.first + c.size]
    is_power = root.size & (root.size - 1) == 0
    if not inside and not around and (is_root or is_power):
        return [root]
    if root.size == 1:
        return []
    half = 1
    while 2 * half < root.size:
        half *= 2
    left, right = root._replace(size=half), root._replace(first=root.first + half, size=root.size - half)
    return blocks(left, held, False) + blocks(right, held, False)


def roots_of(quota: list[int], p: int) -> list[list[Held]]:
    """The cells of every tenant by first fit decreasing, for a power of two `p` of GPUs a node; smallest first."""
    sizes = sorted(((size, t) for t, q in enumerate(quota) for size in binary(q, p)), key=lambda c: -c[0])
    filled: dict[int, int] = {}
    roots: list[list[Held]] = [[] for _ in quota]
    for size, t in sizes:
        node = next(n for n in range(10**6) if filled.get(n, 0) + size <= p)
        roots[t].insert(0, Held(node, filled.get(node, 0), size))
        filled[node] = filled.get(node, 0) + size
    return [sorted(r, key=lambda c: (c.size, c.node)) for r in roots]


def binary(quota: int, p: int) -> list[int]:
    """Whole nodes, then powers of two."""
    return [p] * (quota // p) + [2**k for k in range(p.bit_length()) if quota % p & 2**k]


@pytest.mark.parametrize("seed", range(9))
def test_nobody_waits_for_what_the_own_cells_hold(seed: int) -> None:
    """Follow a crowded run round by round with cells that are allotted, split and merged by other means."""
    rng = np.random.default_rng(seed)
    p, n = int(rng.choice([2, 4, 8])), 30
    cluster, weights = Cluster(int(rng.integers(2, 5)), p), rng.integers(1, 5, rng.integers(2, 4))
    quota = whole(cluster.gpus * weights / weights.sum())
    names, tenant = [f"t{t}" for t in range(len(weights))], rng.integers(0, len(weights), n)
    frame = pd.DataFrame(
        {
            "job_id": [f"{k:02}" for k in range(n)],
            "tenant": [names[t] for t in tenant],
            "demand": np.minimum(rng.choice([1, 1, 1, 2, 3, 4, 5, p, p, 2 * p], n), np.maximum(quota[tenant], 1)),
            "submit_time": np.sort(rng.uniform(0, 200, n)).round(1),
            "duration": rng.uniform(10, 200, n).round(1),
        }
    )
    trace = Trace.from_frame(frame, weights=dict(zip(names, weights.astype(float), strict=True)))
    placement = ["consolidated", "spread", "strict"][seed % 3]
    how = Settings(checkpoint_overhead=2, restart_overhead=5, placement=placement)
    result = simulate(trace, cluster, hived(lease_term=60), settings=how, keep_log=True)
    follow(result, roots_of(quota.tolist(), p), cluster, placement != "strict")


def follow(result: Result, roots: list[list[Held]], cluster: Cluster, spot_jobs_fit: bool) -> None:
    """Check every round of a run against the cells of every tenant."""
    assert result.grants is not None and result.placements is not None
    p, guaranteed = cluster.gpus_per_node, dict[str, list[Held]]()
    leases = {name: g.to_dict("index") for name, g in result.grants.groupby("job_id")}
    where: dict[Any, list[tuple[int, int]]] = {
        g: list(zip(x["node"], x["gpus"], strict=True)) for g, x in result.placements.groupby("grant")
    }
    for now in np.arange(0, result.jobs["end_time"].max(), 10):
        alive = result.jobs[(result.jobs["submit_time"] <= now) & (now < result.jobs["end_time"])]
        guaranteed = {name: cells for name, cells in guaranteed.items() if name in set(alive["job_id"])}
        held = [cell for cells in guaranteed.values() for cell in cells]
        busy, passed_over = 0, []
        for name, demand, tenant in zip(alive["job_id"], alive["demand"], alive["tenant"], strict=True):
            lease = next((g for g, x in leases[name].items() if x["start"] <= now < x["end"]), None)
            busy += demand * (lease is not None)
            if name in guaranteed:
                assert lease is not None, "a guaranteed job keeps its cells"
                continue
            if any(x["start"] < now <= x["end"] for x in leases[name].values()):
                continue  # a spot job that runs, asks for renewal or has just lost its place
            free = [cell for root in roots[int(tenant[1:])] for cell in blocks(root, held)]
            if hold(free, demand, p):
                assert lease is not None, "it starts at this very round"
                assert leases[name][lease]["nodes"] == -(-demand // p)
                guaranteed[name] = taken(free, where[lease], p)
                held += guaranteed[name]
            elif lease is None:
                passed_over.append(demand)
        if spot_jobs_fit:
            assert all(demand > cluster.gpus - busy for demand in passed_over)


def hold(free: list[Held], demand: int, p: int) -> bool:
    """Whether free cells hold a demand: whole nodes, and the rest in one cell."""
    nodes, rest = sum(cell.size == p for cell in free), demand % p
    if nodes > demand // p or rest == 0:
        return nodes >= demand // p
    return nodes == demand // p and any(rest <= cell.size < p for cell in free)


def taken(free: list[Held], chosen: list[tuple[int, int]], p: int) -> list[Held]:
    """The cells that were taken: nodes of the tenant's own, and the smallest that holds the rest."""
    whole_nodes = [cell for cell in free if cell.size == p and (cell.node, p) in chosen]
    rest = [(node, gpus) for node, gpus in chosen if gpus < p]
    assert len(whole_nodes) + len(rest) == len(chosen)
    for node, gpus in rest:
        size = next(2**k for k in range(9) if 2**k >= gpus)
        smallest = min(cell.size for cell in free if cell.size >= size and cell not in whole_nodes)
        cell = next(cell for cell in free if cell.size == smallest and cell.node == node and cell not in whole_nodes)
        return [*whole_nodes, cell._replace(size=size)]
    return whole_nodes
