"""HiveD: its buddy cells, its schedules, and that nobody waits for what the own cells could hold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import drawn, jobs

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import View, new_state, whole
from astraea.cluster.policies.hived import hived
from astraea.cluster.policies.hived_cells import (
    NO_CELL,
    Cells,
    best_cell,
    cell_size,
    free_cell,
    lay_out,
    mark,
    owned,
    take_cells,
)
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.result import Result
from astraea.traces.trace import Trace


def state(cluster: Cluster, weights: list[float], demands: list[int]) -> tuple[View, Cells]:
    """Nothing runs; tenants of these weights, and jobs of these demands, all of the first tenant but one of each."""
    names = [f"t{t:02}" for t in range(len(weights))]
    rows = [(names[0], d) for d in demands] + [(name, 1) for name in names]
    frame = pd.DataFrame(rows, columns=["tenant", "demand"]).assign(submit_time=0.0, duration=1.0)
    trace = Trace.from_frame(
        frame.assign(job_id=[f"{k:03}" for k in range(len(rows))]), weights=dict(zip(names, weights, strict=True))
    )
    nothing = (np.full(len(trace), np.nan),) * 3
    view, _ = new_state(
        trace, cluster, parameters=np.zeros(2), estimate=nothing, memory=hived.memory, seed=0, keep_log=False
    )
    return view, lay_out(view)


def free_cells(taken: str) -> list[int]:
    """Sizes of the free buddies of a cell, from left to right; x is a GPU that is taken."""
    flags, sizes, a = np.array([c == "x" for c in taken]), [], 0
    while a < len(taken):
        sizes.append(int(free_cell(flags, 0, len(taken), a)))
        a += max(sizes[-1], 1)
    return [size for size in sizes if size > 0]


@pytest.mark.parametrize(
    "taken, sizes",
    [
        ("........", [8]),
        ("x.......", [1, 2, 4]),  # one GPU splits the node to the bottom
        ("xx......", [2, 4]),
        ("xxx.....", [1, 4]),
        (".x......", [1, 2, 4]),
        ("..xx....", [2, 4]),
        ("...x....", [2, 1, 4]),
        ("xx..xx..", [2, 2]),  # four are free, but no buddies: no cell of 4
        ("xxxx....", [4]),
        ("xxxxxxx.", [1]),
        ("xxxxxxxx", []),
        ("......", [6]),  # a node of six is 4 + 2
        ("x.....", [1, 2, 2]),
        ("....x.", [4, 1]),
        (".......", [7]),
        ("......x", [4, 2]),
    ],
)
def test_free_buddies(taken: str, sizes: list[int]) -> None:
    assert free_cells(taken) == sizes


@pytest.mark.parametrize("per_node, sizes", [(8, [1, 2, 4, 4, 8, 8, 8, 8]), (6, [1, 2, 4, 4, 6, 6]), (1, [1])])
def test_a_cell_is_the_next_power_of_two_or_the_node(per_node: int, sizes: list[int]) -> None:
    assert [cell_size(gpus, per_node) for gpus in range(1, per_node + 1)] == sizes


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 9), st.integers(1, 17), st.lists(st.integers(1, 40), min_size=1, max_size=9))
def test_cells_of_all_tenants_add_up_to_their_quotas_and_do_not_overlap(n: int, p: int, weights: list[float]) -> None:
    view, cells = state(Cluster(n, p), weights, [])
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


def test_cells_split_from_the_smallest_that_fits_and_merge_again() -> None:
    view, cells = state(Cluster(2, 8), [1], [3, 1, 2, 8, 9])
    assert take_cells(view, cells, 0).tolist() == [0]  # 3 GPUs: a cell of 4 of the first node
    assert take_cells(view, cells, 1).tolist() == [4]  # 1: its buddy is split in 1 + 1 + 2
    assert take_cells(view, cells, 2).tolist() == [6]  # 2: that is smaller than any other that fits
    assert take_cells(view, cells, 3).tolist() == [8]  # 8: the second node
    assert cells.left.tolist() == [1]
    assert take_cells(view, cells, 4).tolist() == []  # 9 GPUs do not fit ...
    assert cells.taken.tolist() == [True] * 5 + [False] + [True] * 10  # ... and take nothing
    assert best_cell(view, cells, 0, 2) == NO_CELL
    mark(cells, 4, 1, False)
    assert best_cell(view, cells, 0, 2) == 4  # merged
    mark(cells, 0, 4, False)
    assert best_cell(view, cells, 0, 4) == 0
    assert best_cell(view, cells, 0, 8) == NO_CELL
    mark(cells, 6, 2, False)
    assert best_cell(view, cells, 0, 8) == 0


def test_of_equal_cells_the_one_that_displaces_fewest() -> None:
    view, cells = state(Cluster(3, 4), [1], [])
    cells.idle[:] = [1, 3, 2]
    assert [best_cell(view, cells, 0, gpus) for gpus in (1, 2, 3, 4)] == [0, 4, 4, 4]
    mark(cells, 0, 1, True)
    assert best_cell(view, cells, 0, 2) == 2  # the smaller cell first, though that node has but one idle


def simulated(rows: list[dict[str, Any]], cluster: Cluster, weights: dict[str, float], lease_term: float) -> Result:
    """Run without overheads."""
    trace = Trace.from_frame(pd.DataFrame(rows), weights=weights)
    free_of_charge = Settings(checkpoint_overhead=0, restart_overhead=0)
    result = simulate(trace, cluster, hived(lease_term=lease_term), settings=free_of_charge, keep_log=True)
    assert len(result.excluded_jobs) == 0
    return result


@pytest.mark.parametrize(
    "lease_term, picture",
    [
        (200, ["a0 S=====", "a1 S==...R=====", "b2    S=="]),  # a1 had no checkpoint, and has all to do again
        (20, ["a0 S=r=r=", "a1 S=r...R=r=", "b2    S=r"]),  # its checkpoint at 20 s saves it 20 of 30 s
    ],
)
def test_a_spot_job_loses_what_it_did_since_its_checkpoint(lease_term: float, picture: list[str]) -> None:
    # a and b own 2 of 4 GPUs each; a1 runs in b's cell until b2 needs it, then waits for its own
    rows = jobs("a0 2 0 60", "a1 2 0 60", "b2 2 30 30")
    assert drawn(simulated(rows, Cluster(1, 4), {"a": 1, "b": 1}, lease_term), 10) == picture


def test_a_spot_job_is_not_renewed_where_it_stands_in_the_way() -> None:
    # at the end of its lease a1 has lost nothing yet: 60 s of work in 60 s
    rows = jobs("a0 2 0 60", "a1 2 0 60", "b2 2 20 20")
    assert drawn(simulated(rows, Cluster(1, 4), {"a": 1, "b": 1}, 20), 10) == [
        "a0 S=r=r=",
        "a1 S=..R=r=",
        "b2   S=",
    ]


def test_only_spot_jobs_pay_for_checkpoints() -> None:
    """a0 is guaranteed, a1 is not; nobody takes the GPUs of either."""
    trace = Trace.from_frame(pd.DataFrame(jobs("a0 2 0 400", "a1 2 0 400", "b2 1 900 10")), weights={"a": 1, "b": 1})
    result = simulate(trace, Cluster(1, 4), hived(lease_term=100), settings=Settings(checkpoint_overhead=5))
    assert result.jobs["leases"].tolist() == [4, 5, 1]
    assert result.jobs["overhead"].tolist() == [0, 4 * 5, 0]
    assert result.jobs["end_time"].tolist() == [400, 420, 910]


def test_a_demand_that_no_cells_hold_is_a_spot_job() -> None:
    # a owns 4 + 2 + 1 of 8 GPUs, of which none holds 5: a0 runs at once, but gives way to a3
    rows = jobs("a0 5 0 40", "b1 1 0 10", "a2 2 10 40", "a3 4 20 20")
    assert drawn(simulated(rows, Cluster(1, 8), {"a": 7, "b": 1}, 200), 10) == [
        "a0 S=..R===",
        "b1 S",
        "a2  S===",
        "a3   S=",
    ]


def test_a_job_that_does_not_fit_is_passed_over() -> None:
    # a2 wants all cells of a, and b's are in use: a3 goes first
    rows = jobs("a0 2 0 30", "b1 4 0 80", "a2 4 10 20", "a3 1 20 30")
    assert drawn(simulated(rows, Cluster(1, 8), {"a": 1, "b": 1}, 200), 10) == [
        "a0 S==",
        "b1 S=======",
        "a2  ....S=",
        "a3   S==",
    ]


def test_a_guaranteed_job_goes_where_no_spot_job_is() -> None:
    # a owns the first two nodes and b the third; b3 is a spot job on the first
    rows = jobs("b2 4 0 90", "b3 2 0 90", "a4 4 10 60", "a5 3 20 30")
    result = simulated(rows, Cluster(3, 4), {"a": 2, "b": 1}, 200)
    assert drawn(result, 10) == [
        "b2 S========",
        "b3 S=...R========",  # back to the beginning when a5 needs the first node
        "a4  S=====",
        "a5   S==",
    ]
    assert result.grants is not None and result.placements is not None
    nodes = result.placements.assign(job=result.grants["job_id"].to_numpy()[result.placements["grant"]])
    assert nodes.groupby("job")["node"].first().to_dict() == {"a4": 1, "a5": 0, "b2": 2, "b3": 0}


@pytest.mark.parametrize(
    "rows, picture",
    [
        (
            jobs("a0 4 0 60", "a1 1 0 60", "a2 1 10 60", "a3 2 20 60", "b4 1 30 30", "b5 2 40 20"),
            [
                "a0 S==r==",
                "a1 S==...R==",  # has just saved its state: b4 costs it nothing, and would cost a2 20 s
                "a2  S==r==",
                "a3   S=..R==r==",  # one gang for b5's two GPUs
                "b4    S==",
                "b5     S=",
            ],
        ),
        (
            jobs("a0 4 0 60", "a1 2 0 60", "a2 1 10 60", "a3 1 20 60", "b4 1 30 30"),
            [
                "a0 S==r==",
                "a1 S==r==",  # would lose nothing, but is larger
                "a2  S==r==",
                "a3   S...R==r==",  # of the small ones it has run least
                "b4    S==",
            ],
        ),
    ],
)
def test_who_makes_room(rows: list[dict[str, Any]], picture: list[str]) -> None:
    # a0 fills a's half of the node; the other jobs of a run in b's
    assert drawn(simulated(rows, Cluster(1, 8), {"a": 1, "b": 1}, 30), 10) == picture


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


@pytest.mark.parametrize("seed", range(18))
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
