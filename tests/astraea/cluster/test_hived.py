"""HiveD: its buddy cells, its schedules, and that a job that fits its tenant's own cells never waits."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import check, jobs, simulated, small_state, trace_of

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import whole
from astraea.cluster.policies.hived import hived
from astraea.cluster.policies.hived_cells import free_cell, lay_out, owned
from astraea.cluster.settings import Settings
from astraea.core.result import Result


@pytest.mark.parametrize(
    "taken, sizes",
    [
        ("........", [8]),
        ("x.......", [1, 2, 4]),  # one GPU splits the node to the bottom
        ("xxx.....", [1, 4]),
        ("...x....", [2, 1, 4]),
        ("xx..xx..", [2, 2]),  # four are free, but no buddies: no cell of 4
        ("xxxx....", [4]),
        ("xxxxxxxx", []),
        ("......", [6]),  # a node of six is 4 + 2
        ("x.....", [1, 2, 2]),
        ("......x", [4, 2]),
    ],
)
def test_free_buddies(taken: str, sizes: list[int]) -> None:
    """Sizes of the free buddies of a cell, from left to right; x is a GPU that is taken."""
    flags, found, a = np.array([c == "x" for c in taken]), [], 0
    while a < len(taken):
        found.append(int(free_cell(flags, 0, len(taken), a)))
        a += max(found[-1], 1)
    assert [size for size in found if size > 0] == sizes


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 9), st.integers(1, 17), st.lists(st.integers(1, 40), min_size=1, max_size=9))
def test_cells_of_all_tenants_add_up_to_their_quotas_and_do_not_overlap(n: int, p: int, weights: list[float]) -> None:
    names = [f"t{t:02}" for t in range(len(weights))]
    frame = pd.DataFrame({"job_id": names, "tenant": names, "demand": 1, "submit_time": 0.0, "duration": 1.0})
    trace = trace_of(frame, dict(zip(names, weights, strict=True)))
    view, _ = small_state(trace, Cluster(n, p), memory=hived.memory, tenant_memory=hived.tenant_memory)
    cells = lay_out(view)
    uses = np.zeros(n * p, int)
    for t in range(len(weights)):
        sizes = [owned(view, cells, t, level) for level in range(len(cells.first))]
        assert sum(sizes) == view.tenant[t].whole_quota == cells.left[t]
        assert sizes[-1] == view.tenant[t].whole_quota // p * p
        assert cells.first[-1, t] % p == 0  # whole nodes are nodes
        for level, size in enumerate(sizes):
            first = int(cells.first[level, t])
            uses[first : first + size] += 1
            if size > 0 and level < len(sizes) - 1:
                assert size == 2**level
                assert p & (p - 1) > 0 or first % size == 0  # powers of two are buddies of their node
    assert uses.max() <= 1


EQUAL = {"weights": {"a": 1, "b": 1}}
SCHEDULES: dict[str, tuple[Any, ...]] = {
    "a spot job loses what it did since its checkpoint": (
        # a and b own 2 of 4 GPUs each; a1 runs in b's cell until b2 needs it, then waits for its own
        # without a checkpoint it has all to do again; one at 20 s saves it 20 of 30 s
        4, EQUAL | {"lease_term": [200, 20]},
        "a0 2 0 60  |S=====       |S=r=r=",
        "a1 2 0 60  |S==...R===== |S=r...R=r=",
        "b2 2 30 30 |   S==       |   S=r",
    ),
    "a spot job is not renewed where it stands in the way": (
        4, EQUAL | {"lease_term": 20},
        "a0 2 0 60  |S=r=r=",
        "a1 2 0 60  |S=..R=r=",  # at the end of its lease it has lost nothing yet: 60 s of work in 60 s
        "b2 2 20 20 |  S=",
    ),
    "a demand that no cells hold is a spot job": (
        # a owns 4 + 2 + 1 of 8 GPUs, of which none holds 5: a0 runs at once, but gives way to a3
        8, {"weights": {"a": 7, "b": 1}, "lease_term": 200},
        "a0 5 0 40  |S=..R===",
        "b1 1 0 10  |S",
        "a2 2 10 40 | S===",
        "a3 4 20 20 |  S=",
    ),
    "a guaranteed job goes where no spot job is": (
        # a owns the first two nodes and b the third; b3 is a spot job on the first
        Cluster(3, 4), {"weights": {"a": 2, "b": 1}, "lease_term": 200},
        "b2 4 0 90  |S========",
        "b3 2 0 90  |S=...R========",  # back to the beginning when a5 needs the first node
        "a4 4 10 60 | S=====",
        "a5 3 20 30 |  S==",
    ),
    "who makes room: the job that loses least": (
        # a0 fills a's half of the node; the other jobs of a run in b's
        8, EQUAL | {"lease_term": 30},
        "a0 4 0 60  |S==r==",
        "a1 1 0 60  |S==...R==",  # has just saved its state: b4 costs it nothing, and would cost a2 20 s
        "a2 1 10 60 | S==r==",
        "a3 2 20 60 |  S=..R==r==",  # one gang for b5's two GPUs
        "b4 1 30 30 |   S==",
        "b5 2 40 20 |    S=",
    ),
    "who makes room: the smallest job that has run least": (
        8, EQUAL | {"lease_term": 30},
        "a0 4 0 60  |S==r==",
        "a1 2 0 60  |S==r==",  # would lose nothing, but is larger
        "a2 1 10 60 | S==r==",
        "a3 1 20 60 |  S...R==r==",
        "b4 1 30 30 |   S==",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SCHEDULES.values(), ids=SCHEDULES)
def test_schedule(case: tuple[Any, ...]) -> None:
    check("hived", *case)


def test_only_spot_jobs_pay_for_checkpoints() -> None:
    """a0 is guaranteed, a1 is not; no job takes the GPUs of either."""
    rows = jobs("a0 2 0 400", "a1 2 0 400", "b2 1 900 10")
    result = simulated(rows, 4, "hived", settings=Settings(checkpoint_overhead=5), lease_term=100)
    assert result.jobs["leases"].tolist() == [4, 5, 1]
    assert result.jobs["overhead"].tolist() == [0, 4 * 5, 0]
    assert result.jobs["end_time"].tolist() == [400, 420, 910]


class Held(NamedTuple):
    """A cell that a guaranteed job holds."""

    node: int
    first: int
    size: int


def blocks(root: Held, held: list[Held], is_root: bool = True) -> list[Held]:
    """Free cells of a cell: the cell itself if it is empty, or else those of its halves.

    A size that is no power of two is split into the largest power of two below it and the rest.
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
    sizes = [(p, t) for t, q in enumerate(quota) for _ in range(q // p)]
    for k in reversed(range(p.bit_length())):
        sizes += [(2**k, t) for t, q in enumerate(quota) if q % p & 2**k]
    filled: dict[int, int] = defaultdict(int)
    roots: list[list[Held]] = [[] for _ in quota]
    for size, t in sizes:
        node = next(n for n in range(10**6) if filled[n] + size <= p)
        roots[t].append(Held(node, filled[node], size))
        filled[node] += size
    return [sorted(r, key=lambda c: (c.size, c.node)) for r in roots]


@pytest.mark.parametrize("seed", range(9))
def test_nobody_waits_for_what_the_own_cells_hold(seed: int) -> None:
    """Follow a crowded run round by round with another implementation of the cells."""
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
    placement = ["consolidated", "spread", "strict"][seed % 3]
    how = Settings(checkpoint_overhead=2, restart_overhead=5, placement=placement)
    shares = dict(zip(names, weights.astype(float), strict=True))
    result = simulated(frame, cluster, "hived", weights=shares, settings=how, lease_term=60)
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
    """Return true if free cells hold a demand: whole nodes, and the rest in one cell."""
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
