"""The policy `slurm`: its documentation by hand, schedules small enough to draw, and a naive twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from schedules import FREE, jobs, simulated, small_state, trace_of
from slurm_naive import Job, Slurm

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.rules import no_rules
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.core.result import Result
from astraea_ops.policies.slurm import cut_end
from astraea_ops.policies.slurm_backfill import choose, expected_start, new_plan
from astraea_ops.policies.slurm_priority import ASSOCIATION_MEMORY, JOB_MEMORY, Parameters
from astraea_ops.policies.slurm_priority import rank as compute_ranks

SHARES = {"a": 1.0, "b": 2.0, "c": 4.0}
TREE = {"a": "", "b": "", "b1": "b", "a/u": "a", "a/v": "a", "b/u": "b", "b1/u": "b1", "b1/v": "b1", "w": ""}
"""Accounts and users, each with its parent; `w` is a user at the top."""

KEPT: Any = {"memory": JOB_MEMORY, "association_memory": ASSOCIATION_MEMORY}


def starts(rows: list[dict[str, Any]], time_limit: float, gpus: int = 4, **parameters: float | str) -> dict[str, float]:
    """First start of every job, in rounds of 1 s."""
    made = simulated(pd.DataFrame(rows).assign(time_limit=time_limit), gpus, "slurm", interval=1, **parameters)
    return dict(zip(made.jobs["job_id"], made.jobs["first_start_time"], strict=True))


def ranked(usage: list[float], shares: list[float]) -> list[float]:
    """Fair-share factors of accounts."""
    trace = trace_of(jobs(*(f"{t} 1 0 1" for t in "abcd"[: len(shares)])), dict(zip("abcd", shares, strict=False)))
    view, _ = small_state(trace, Cluster(1), **KEPT)
    view.association_memory.view(ASSOCIATION_MEMORY).usage = [*usage, 0]
    compute_ranks(view)
    return [float(f) for f in view.association_memory.view(ASSOCIATION_MEMORY).factor[:-1]]


def test_accounts_are_ranked_by_shares_over_usage() -> None:
    """Level fair share is shares over usage; after equal ones a rank is left out, and root counts as having no usage.

    With five users, root among them, the ranks are 4, 3, 2 and 1 of 5.
    """
    assert ranked([149, 57, 1238], [1, 1, 2]) == [0.5, 0.75, 0.25]  # as `sshare` of a Slurm 22.05 shows them
    assert ranked([30, 30, 10, 20], [3, 3, 3, 1]) == [0.6, 0.6, 0.8, 0.2]
    assert ranked([0, 10, 0], [1, 5, 2]) == [1, 0.25, 1]


@pytest.mark.parametrize("seed", range(20))
def test_a_tree_is_ranked_as_by_the_twin_with_ties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names, top = list(TREE), {a: above for a, above in TREE.items() if above}
    twin = Slurm([], {a: float(rng.integers(1, 3)) for a in names}, [8], 100, 100, 1, "none", parent=top)
    twin.usage = {user: float(rng.choice([0, 0, 1, 2, 4])) for user in twin.users}
    order = twin.walk([""], False)
    rank = [len(order) - k for k in range(len(order))]
    for k, (_, is_tied) in enumerate(order):
        rank[k] = rank[k - 1] if is_tied else rank[k]
    trace = trace_of(jobs("a 1 0 1"))
    rules = no_rules(trace, Cluster(1))._replace(
        parent=np.array([*(names.index(above) if above else -1 for above in TREE.values()), -1]),
        shares=np.array([*twin.shares.values(), 1.0]),
    )
    view, _ = small_state(trace, Cluster(1), **KEPT, rules=rules)
    view.association_memory.view(ASSOCIATION_MEMORY).usage = [twin.usage.get(a, 0) for a in [*names, "root"]]
    compute_ranks(view)
    found = dict(zip([*names, "root"], view.association_memory.view(ASSOCIATION_MEMORY).factor, strict=True))
    assert [found[user] for user, _ in order] == [r / len(order) for r in rank]


@pytest.mark.parametrize(
    "weights, order",
    [
        ({"weight_jobsize": 0}, ["a1", "a2"]),  # the first submitted
        ({"weight_jobsize": 1000}, ["a2", "a1"]),  # the larger one
        ({"weight_jobsize": 1000, "favor_small": "yes"}, ["a1", "a2"]),
        ({"weight_jobsize": 1000, "weight_age": 100_000, "max_age": 100}, ["a1", "a2"]),  # the older one
    ],
)
def test_age_and_size_are_in_the_priority(weights: dict[str, Any], order: list[str]) -> None:
    begin = starts(jobs("a0 4 0 130", "a1 3 10 10", "a2 4 90 10"), 180, **weights)
    assert sorted(["a1", "a2"], key=lambda name: begin[name]) == order


def test_accounts_keep_to_their_limit_and_let_others_pass() -> None:
    """Half of 8 GPUs each: a has 4 and waits with a1 although 4 are free, and b2 behind it does not."""
    rows = jobs("a0 4 0 100", "a1 2 5 50", "b2 4 10 50")
    assert starts(rows, 120, gpus=8, limit=1) == {"a0": 0, "a1": 100, "b2": 10}
    assert starts(rows, 120, gpus=8) == {"a0": 0, "a1": 5, "b2": 55}


def test_jobs_beyond_their_quota_run_but_those_beyond_the_limit_are_excluded() -> None:
    trace = trace_of(jobs("a0 6 0 10", "b1 1 0 10"))
    assert simulate(trace, Cluster(1, 8), "slurm").excluded_jobs.empty
    assert simulate(trace, Cluster(1, 8), "fifo").excluded_jobs["job_id"].tolist() == ["a0"]
    held = simulate(trace, Cluster(1, 8), get_policy("slurm").with_parameters(limit=1))
    assert held.excluded_jobs["reason"].tolist() == ["demand exceeds the quota of its tenant (4 GPUs)"]


def test_it_runs_in_rounds_of_its_own() -> None:
    trace = trace_of(jobs("a0 4 3 10", "a1 1 20 5"))
    made = simulate(trace, Cluster(1, 4), "slurm", settings=Settings(interval=10))
    assert made.jobs["first_start_time"].tolist() == [5, 20]
    assert made.provenance["interval"] == 2.5
    slower = simulate(trace, Cluster(1, 4), get_policy("slurm").with_parameters(interval=7))
    assert slower.jobs["first_start_time"].tolist() == [7, 21]
    with pytest.raises(InputError, match="interval"):
        get_policy("slurm").with_parameters(interval=0)


@pytest.mark.parametrize(
    "version, alone, end, begin, later",
    [("22.05", 3, 120, 90, 3), ("23.11", 3, 120, 90, 1), ("24.11", 3, 180, 90, 1), ("25.11", 0, 180, 50, 1)],
)  # fmt: skip
def test_versions_of_backfill(version: str, alone: int, end: float, begin: float, later: int) -> None:
    """Nodes for one and two, the end of a reservation until 130 s, and two nodes with jobs until 50 s and later.

    A third job begins when both have ended by 90 s, within the first 30 s after second 60, or is tried at 105 s.
    """
    p = Parameters(bf_rules=float(get_policy("slurm").choices["bf_rules"].index(f"slurm-{version}")))
    everywhere, free = np.ones(4, np.bool_), np.array([4, 4, 0, 4])
    assert choose(free, everywhere, 1, 4, p.bf_rules).tolist() == [alone]
    assert choose(free, everywhere, 2, 4, p.bf_rules).tolist() == [0, 1]
    assert cut_end(p, 130.0) == end
    view, _ = small_state(trace_of(jobs("a 1 0 1")), Cluster(4, 4), **KEPT)

    def expected(at: float, first: int, second: int, later: float) -> tuple[float, list[int]]:
        plan = new_plan(view, np.zeros(0, np.int64), 0.0, 3600.0, 1, 0.0)
        plan.free[:], plan.n[0] = 0, 2
        plan.end[:2], plan.job[:2], plan.node[:2], plan.gpus[:2] = (50, later), (0, 1), (first, second), 4
        found, nodes = expected_start(plan, everywhere, 1, 4, 0.0, at, np.inf, p.bf_rules, 0.0)
        return found, nodes.tolist()

    assert expected(0.0, 1, 3, 90) == (begin, [1])
    assert expected(0.0, 1, 3, 91) == (50, [1])  # of the next group
    assert expected(105.0, 3, 1, 100)[1] == [later]


def rows_of(rng: np.random.Generator, n: int, largest: int, gpus: int) -> pd.DataFrame:
    """Random jobs of three accounts."""
    duration = np.round(rng.lognormal(4, 1.2, n)) + 1
    return pd.DataFrame(
        {
            "job_id": range(n), "tenant": rng.choice(list(SHARES), n),
            "demand": np.minimum(rng.choice([1, 1, 1, 2, 3, gpus, gpus, 2 * gpus], n), largest),
            "submit_time": np.sort(rng.integers(0, 600, n)).astype(float), "duration": duration,
            "time_limit": 60 * np.ceil(duration * rng.choice([1, 1.5, 4], n) / 60),
        }
    )  # fmt: skip


def agrees(made: Result, twins: list[Job]) -> None:
    """Every job starts at the same second on the same nodes."""
    assert made.jobs["first_start_time"].tolist() == [j.start for j in twins]
    assert made.grants is not None and made.placements is not None
    where = made.placements.groupby("grant")["node"].agg(set)
    chosen = dict(zip(made.grants["job_id"], where, strict=True))
    assert [chosen[str(k)] for k in range(len(twins))] == [set(j.nodes) for j in twins]


@pytest.mark.parametrize("backfill", ["conservative", "easy", "none"])
@pytest.mark.parametrize("seed", range(5))
def test_a_naive_twin_starts_every_job_at_the_same_second_on_the_same_nodes(backfill: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes, gpus = int(rng.integers(2, 7)), int(rng.choice([4, 8]))
    table = rows_of(rng, 60, nodes * gpus, gpus)
    parameters: dict[str, Any] = {
        "half_life": float(rng.choice([100, 1000])), "backfill": backfill, "bf_max_job_test": int(rng.choice([3, 500])),
        "bf_window": float(rng.choice([900, 86400])), "interval": 2, "weight_age": 0,
    }  # fmt: skip
    made = simulated(table, Cluster(nodes, gpus), "slurm", weights=SHARES, **parameters)
    twins = [Job(k, *row) for k, row in enumerate(table.drop(columns="job_id").itertuples(index=False, name=None))]
    Slurm(
        twins, SHARES, [gpus] * nodes, parameters["half_life"], parameters["bf_window"], parameters["bf_max_job_test"],
        backfill,
    ).run()  # fmt: skip
    agrees(made, twins)


@pytest.mark.parametrize("backfill", ["conservative", "easy"])
@pytest.mark.parametrize("seed", range(10))
def test_the_twin_agrees_under_rules(backfill: str, seed: int) -> None:
    """Different nodes, classes of them, a tree, limits, two partitions of which one goes first; rarer backfill."""
    rng = np.random.default_rng(100 + seed)
    sizes = [int(g) for g in rng.choice([4, 8], int(rng.integers(4, 8)))]
    sizes[:3], cluster = [4, 8, 8], Cluster.of([4, 8, 8, *sizes[3:]])
    n, names = 60, list(TREE)
    users = [a for a in names if a not in TREE.values()]
    table = rows_of(rng, n, 8, 4)
    shares = {a: float(rng.integers(1, 5)) for a in names}
    high = {1, 2} | {int(k) for k in rng.integers(0, len(sizes), 2)}
    classes = [set(range(len(sizes))), high, {1, 2}, {0, 1, 2}]
    caps = {"b": 10.0, "b1/u": 6.0, "jobs of a/v": 2.0, "high": 12.0}
    twins = []
    for k, (account, demand, *times) in enumerate(table.drop(columns="job_id").itertuples(index=False, name=None)):
        user, is_high = str(rng.choice(users)), bool(rng.random() < 0.3)
        held = {"b": float(demand)} if user.startswith("b") else {}
        held |= {"b1/u": float(demand)} if user == "b1/u" and demand <= 6 else {}
        held |= {"jobs of a/v": 1.0} if user == "a/v" else {}
        held |= {"high": float(demand)} if is_high else {}
        twins.append(Job(
            k, account, demand, times[0], times[1], times[2], user=user, caps=held, free_of="b" if is_high else "",
            partition="high" if is_high else "all", tier=int(is_high),
            allowed=frozenset(classes[int(rng.choice([1, 2] if is_high else [0, 0, 3]))]),
            asks=int(rng.choice([0, 0, 0, 2])) if demand > 1 else 0, charge=demand * float(rng.integers(1, 4)),
            bonus=float(rng.integers(0, 3) * 20_000),
        ))  # fmt: skip
    place = {c: k for k, c in enumerate(caps)}
    trace = trace_of(table, SHARES)
    rules = no_rules(trace, cluster)._replace(
        allowed=np.array([[node in c for node in range(len(sizes))] for c in classes]),
        kind=np.array([classes.index(set(j.allowed)) for j in twins]),
        nodes=np.array([j.asks for j in twins]),
        parent=np.array([*(names.index(above) if above else -1 for above in TREE.values()), -1]),
        shares=np.array([*shares.values(), 1.0]),
        usage=np.zeros(len(names) + 1),
        association=np.array([names.index(j.user) for j in twins]),
        charge=np.array([j.charge for j in twins]),
        cap=np.array([*caps.values()]),
        caps=np.array([[place[c] for c in j.caps] + [-1] * (3 - len(j.caps)) for j in twins]),
        takes=np.array([[*j.caps.values()] + [0.0] * (3 - len(j.caps)) for j in twins]),
        binds=np.array([[c != j.free_of for c in j.caps] + [True] * (3 - len(j.caps)) for j in twins]),
        partition=np.array([int(j.partition == "high") for j in twins]),
        partition_nodes=np.array([[True] * len(sizes), [node in high for node in range(len(sizes))]]),
        tier=np.array([j.tier for j in twins]),
        bonus=np.array([j.bonus for j in twins]),
    )
    parameters = {"half_life": float(rng.choice([100, 1000])), "bf_interval": float(rng.choice([0, 6]))}
    version = str(rng.choice(["22.05", "23.11", "24.11", "25.11"]))
    policy = get_policy("slurm").with_parameters(
        backfill=backfill, interval=2, weight_age=0, bf_rules=f"slurm-{version}", **parameters
    )
    made = simulate(trace, cluster, policy, rules=rules, settings=FREE, keep_log=True)
    twin = Slurm(
        twins, shares, sizes, parameters["half_life"], 86400.0, 500, backfill,
        parent={a: above for a, above in TREE.items() if above}, caps=caps, version=float(version),
        partitions={"all": set(range(len(sizes))), "high": high}, bf_interval=parameters["bf_interval"] or 2.0,
    )  # fmt: skip
    twin.run()
    agrees(made, twins)
