"""Causes of waits on schedules small enough to draw: 2 nodes of 4 GPUs, tenants a and b with 4 GPUs each.

One sign is a second: = holds its GPUs, . waits.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from recorded_logs import recorded

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas, whole
from astraea.cluster.observed import recorded_runs
from astraea.cluster.rules import no_rules
from astraea.traces.trace import Trace
from astraea_ops.audit.causes import Cause, causes
from astraea_ops.audit.recorded import Log, waits
from astraea_ops.forecast.moment import still_waiting

TWO = Cluster(2, 4)


def explained(trace: Trace, cluster: Cluster = TWO) -> pd.DataFrame:
    runs = recorded_runs(trace)
    return causes(trace, runs, cluster, waits(trace, runs)).set_index("job_id")


# the log, the job in question, its cause and how long it lasted, and how the sentence goes on after the head
EXAMPLES = {
    # a1 (8) ==========
    # b1 (4)   ........====
    "those before hold too much": (
        ("a1 8 0 0 10", "b1 4 2 10 14"), "b1", Cause.QUEUE, 8,
        "for 8 s, jobs that came before it held too many GPUs (8 by a when it came), and no job was ahead of it in the "
        "queue",
    ),
    # a1 (4) ==========
    # a2 (8)  .........====
    # b1 (1)   ............==
    "there is room but another is ahead": (
        ("a1 4 0 0 10", "a2 8 1 10 14", "b1 1 2 14 16"), "b1", Cause.ORDER, 8,
        "for 8 s, it had room (4 GPUs were free on average), but was kept back behind an earlier job, "
        "a2 of a (8 GPUs)",
    ),
    # a1 (2) ==========
    # a2 (2) ==========
    # b1 (4)  .........====    if the free ones are on one node; a log does not tell
    "free GPUs may lie on two nodes": (
        ("a1 2 0 0 10", "a2 2 0 0 10", "b1 4 1 10 14"), "b1", Cause.GANG, 9,
        "for 9 s, 4 GPUs were free on average, but on nodes that its gang could not have together, or kept for another "
        "job",
    ),
    # a1 (4) ==========
    # a2 (2)  .........====    a has its four, and nobody ever has more
    "the quota is a wall": (
        ("a1 4 0 0 10", "a2 2 1 10 14", "b1 1 20 20 21"), "a2", Cause.QUOTA, 9,
        "for 9 s, 4 GPUs were free on average, but with it a would have exceeded its quota of 4 GPUs",
    ),
    # a1 (4) ==========
    # a2 (2)  .........====
    # a3 (6)                =
    "quotas are no walls where somebody has more": (
        ("a1 4 0 0 10", "a2 2 1 10 14", "a3 6 15 15 16", "b1 1 20 20 21"), "a2", Cause.ORDER, 9,
        "for 9 s, it had room (4 GPUs were free on average), but was kept back, although no job that came before "
        "it was waiting",
    ),
    # a1 (4) ======
    # a2 (8)  ...........====
    # a3 (4)   ==========
    "a later job of the same tenant went first": (
        ("a1 4 0 0 6", "a2 8 1 12 16", "a3 4 2 2 12", "b1 1 20 20 21"), "a2", Cause.BACKFILL, 6,
        "for 6 s, it would have had room without 1 job that came later, a3 of a",
    ),
    # b0 (2) =
    # a1 (4) ======
    # a2 (8)  ...........====
    # b3 (4)   ==========
    "a later job of a tenant that had used less went first": (
        ("b0 2 0 0 1", "a1 4 0 0 6", "a2 8 1 12 16", "b3 4 2 2 12"), "a2", Cause.SHARE, 6,
        "for 6 s, its GPUs went to 1 job that came later, b3 of b; when b3 started, a had used 4.0 times as much as b, "
        "relative to their shares",
    ),
    # the same without b0
    "a later job of a tenant that had used nothing went first": (
        ("a1 4 0 0 6", "a2 8 1 12 16", "b3 4 2 2 12"), "a2", Cause.SHARE, 6,
        "for 6 s, its GPUs went to 1 job that came later, b3 of b; when b3 started, b had used nothing yet",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_causes_by_hand(name: str) -> None:
    rows, job, cause, lasted, text = EXAMPLES[name]
    found = explained(recorded(*rows)).loc[job]
    assert (found["cause"], found[cause]) == (cause, lasted)
    assert found["why"].partition(": ")[2] == text


def test_who_waits_still() -> None:
    """b1 waits until the log ends, where a2 does."""
    found = explained(recorded("a1 8 0 0 5", "a2 8 0 5 10", "b1 1 1", "b0 1 0 10 11")).loc["b1"]
    assert (found["wait"], found["still"], found["cause"]) == (10, True, Cause.QUEUE)
    assert found["why"].startswith("b1 of b (1 GPU) has waited 10 s: for 9 s, jobs that came before it")
    assert explained(recorded("a1 1 0 0 5", "b1 1 2 2 4")).empty  # nobody waits


run = st.tuples(
    st.sampled_from("abc"), st.integers(1, 8), st.integers(0, 12), st.integers(0, 12) | st.none(), st.integers(1, 12)
)
weights = st.fixed_dictionaries({t: st.sampled_from([1.0, 2.0, 0.5]) for t in "abc"})


def plain_causes(trace: Trace, cluster: Cluster) -> dict[str, dict[str, float]]:
    """The definition, second by second: seconds of each wait that each cause has."""
    runs = recorded_runs(trace)
    first, last = runs.groupby("job")["start"].min(), int(runs["end"].max())
    rest = still_waiting(trace)
    end = max(last, int(rest["submit_time"].max())) if len(rest) else last
    quota = dict(zip(trace.tenants, whole(quotas(trace, cluster.gpus)), strict=True))
    name, demand = [trace.tenants[t] for t in trace.tenant], trace.demand.tolist()
    weight = dict(zip(trace.tenants, trace.tenant_weight, strict=True))
    held = [{r.job for r in runs.itertuples() if r.start <= s < r.end} for s in range(end)]

    @cache
    def of(tenant: str, second: int) -> int:
        return sum(demand[j] for j in held[second] if name[j] == tenant)

    @cache
    def used(tenant: str, until: int) -> float:
        return sum(of(tenant, s) for s in range(until)) / weight[tenant]

    walls = all(of(t, s) <= quota[t] for t in trace.tenants for s in range(end))
    waiting = [
        (trace.job_id[j], name[j], demand[j], int(trace.submit_time[j]), int(first[j]), set(range(j + 1, len(trace))))
        for j in range(len(trace))
    ]
    for row in rest.itertuples():
        later = {j for j in range(len(trace)) if trace.submit_time[j] > row.submit_time}
        waiting.append((row.job_id, row.tenant, row.demand, int(row.submit_time), end, later))
    out: dict[str, dict[str, float]] = {}
    for job, tenant, gpus, since, until, later in waiting:
        if until <= since:
            continue
        found = out[job] = dict.fromkeys(map(str, Cause), 0.0)
        for s in range(since, until):
            free = cluster.gpus - sum(demand[j] for j in held[s])
            over = [j for j in held[s] if j in later]
            others = [(j, int(first[j])) for j in over if name[j] != tenant]
            poorer = [j for j, start in others if used(name[j], start) < used(tenant, start)]
            passed, fairly = (sum(demand[j] for j in some) for some in (over, poorer))
            if free >= gpus and walls and of(tenant, s) + gpus > quota[tenant]:
                cause = Cause.QUOTA
            elif free >= gpus:
                cause = Cause.ORDER if surely_fits(gpus, free, cluster) else Cause.GANG
            elif free + passed >= gpus:
                cause = Cause.SHARE if 2 * fairly > passed else Cause.BACKFILL
            else:
                cause = Cause.QUEUE
            found[cause] += 1
    return out


@cache
def surely_fits(gpus: int, free: int, cluster: Cluster) -> bool:
    """Return true if a gang fits wherever that many free GPUs are."""
    size = cluster.gpus_per_node
    return all(
        max(nodes) >= gpus if gpus <= size else sum(n == size for n in nodes) >= -(-gpus // size)
        for nodes in combinations_with_replacement(range(size + 1), cluster.nodes)
        if sum(nodes) == free
    )


@given(st.lists(run, min_size=1, max_size=12), weights)
def test_every_second_of_a_wait_has_one_cause(
    drawn: list[tuple[str, int, int, int | None, int]], of: dict[str, float]
) -> None:
    rows = [
        f"{t}{k} {d} {since}" if wait is None else f"{t}{k} {d} {since} {since + wait} {since + wait + ran}"
        for k, (t, d, since, wait, ran) in enumerate(drawn)
    ]
    assume(any(wait is not None for *_, wait, _ in drawn))
    trace = recorded(*rows, weights=of)
    runs = recorded_runs(trace)
    start, end, gpus = (a.to_numpy() for a in (runs["start"], runs["end"], runs["job"].map(trace.demand.__getitem__)))
    peak = max(int(gpus[(start <= s) & (s < end)].sum()) for s in start)
    cluster = Cluster(max(2, -(-peak // 4)), 4)
    found = explained(trace, cluster)
    parts = found[list(Cause)]
    assert (parts >= 0).all(axis=None)
    assert parts.sum(axis=1).to_numpy() == pytest.approx(found["wait"].to_numpy())
    assert not found["why"].str.contains("nan|None").any()
    expected = plain_causes(trace, cluster)
    assert found.index.tolist() == list(expected)
    for job, seconds in expected.items():
        assert parts.loc[job].to_dict() == seconds, job
        assert seconds[found.loc[job, "cause"]] == max(seconds.values())


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.integers(0, 15), st.integers(1, 8), st.integers(0, 3))
def test_room_is_sure_on_nodes_that_differ(sizes: list[int], mask: int, demand: int, nodes: int) -> None:
    """Every placement of the GPUs in use is tried."""
    assume(max(sizes) > 0)
    trace, cluster = recorded(f"a1 {demand} 0 0 1"), Cluster.of(sizes)
    allowed = np.array([[bool(mask >> k & 1) for k in range(len(sizes))]])
    rules = no_rules(trace, cluster)._replace(allowed=allowed, nodes=np.array([nodes]))
    log = Log(trace, recorded_runs(trace), cluster, rules)
    asked = nodes or -(-demand // max(sizes))
    each = -(-demand // asked) if nodes else min(demand, max(sizes))
    fits: dict[int, bool] = {}
    for free in product(*(range(size + 1) for size in sizes)):
        good = sum(f >= each for f, may in zip(free, allowed[0], strict=True) if may) >= asked
        fits[sum(free)] = fits.get(sum(free), True) and good
    free_gpus = np.array(sorted(fits))
    assert log.has_room(demand, 0, free_gpus).tolist() == [fits[f] for f in free_gpus.tolist()]


def test_limits_that_are_known_are_walls_and_quotas_are_not() -> None:
    # a1 (2) ==========
    # a2 (2)  .........====    four GPUs are free; a limit of 3 GPUs on a1 and a2 together
    trace = recorded("a1 2 0 0 10", "a2 2 1 10 14", "b1 1 20 20 21")
    runs = recorded_runs(trace)
    usual = no_rules(trace, TWO)
    limit = usual._replace(cap=np.array([3.0]), caps=np.array([[0], [0], [-1]]), takes=np.array([[2.0], [2.0], [0.0]]))
    for rules, cause in ((usual, Cause.ORDER), (limit, Cause.QUOTA)):
        found = causes(trace, runs, TWO, waits(trace, runs), rules).set_index("job_id").loc["a2"]
        assert (found["cause"], found[cause]) == (cause, 9)
    assert found["why"].endswith("for 9 s, it would have exceeded a limit of Slurm, while 6 GPUs were free")


def test_a_job_with_a_constraint_never_counts_as_having_room() -> None:
    trace = recorded("a1 4 0 0 10", "a2 8 1 10 14", "b1 1 2 14 16")
    for constraint, cause in (("", Cause.ORDER), ("h100", Cause.GANG)):
        details = pd.DataFrame({"constraint": ["", "", constraint], "flags": ""})
        found = explained(dataclasses.replace(trace, details=details)).loc["b1"]
        assert found["cause"] == cause
    assert "but on nodes that its gang could not have together or that are not h100, or kept" in found["why"]


def test_who_started_those_that_went_first() -> None:
    trace = recorded("a1 4 0 0 6", "a2 8 1 12 16", "a3 2 2 2 12", "a4 2 3 3 12", "b1 1 20 20 21")
    flags = ["SchedMain", "", "SchedBackfill,StartReceived", "SchedSubmit", ""]
    details = pd.DataFrame({"constraint": "", "flags": flags})
    why = explained(dataclasses.replace(trace, details=details)).loc["a2", "why"]
    assert why.endswith("without 2 jobs that came later, a3 of a, a4 of a (1 in order of priority, 1 by backfill)")
