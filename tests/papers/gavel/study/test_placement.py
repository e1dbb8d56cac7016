"""Consolidated and unconsolidated workers as types of their own, and what a policy does with them."""

from __future__ import annotations

import numpy as np
import pytest
from gavel_small import pair, workload

from papers.gavel.policies import POLICIES, get_policy
from papers.gavel.simulate import simulate
from papers.gavel.study.policies import answer, moment
from papers.gavel.study.runs import GAVEL_SCALES, SERVERS, TOLD, belief, mixed_grid, servers_grid, throughputs_of
from papers.gavel.study.tables import by_gang
from papers.gavel.throughputs.table import Throughputs

#: gangs of two: "close" needs a server of its own, "loose" does not; each is also there on one GPU
TWO = Throughputs(
    name="two",
    configurations=(("close", 1), ("close", 2), ("loose", 1), ("loose", 2)),
    solo=np.array([[[2.0], [4.0], [2.0], [4.0]], [[2.0], [1.0], [2.0], [4.0]]]),
    shared=np.zeros((2, 4, 4, 2, 1)),
    measured=np.ones((2, 4, 4), np.bool_),
    types=("v100",),
)


def test_each_type_is_there_twice():
    split = TWO.by_placement()
    assert split.types == ("v100", "v100_unconsolidated")
    assert split.alone("close", 2).tolist() == [4.0, 1.0]
    assert split.alone("close", 1).tolist() == [2.0, 2.0]
    assert split.alone("close", 2, consolidated=False).tolist() == [4.0, 1.0]
    compact = Throughputs.compact()
    split = compact.by_placement()
    for kind, size in compact.configurations:
        for consolidated, columns in ((True, slice(0, 3)), (False, slice(3, 6))):
            expected = compact.alone(kind, size, consolidated=consolidated)
            assert split.alone(kind, size)[columns].tolist() == expected.tolist()
    one, other = compact.configurations[0], compact.configurations[5]
    assert pair(split, one, other)[:, 3:].tolist() == compact.shared[1, 0, 5].tolist()


@pytest.mark.parametrize("policy", ["las-het", "ftf-het", "makespan-het", "ltgf-het"])
def test_a_policy_gives_servers_to_gangs_that_need_them(policy):
    jobs = workload([("loose", 2, 14_400, 0), ("close", 2, 14_400, 0)])
    result = simulate(jobs, TWO.by_placement(), (2, 2), get_policy(policy), preemption_overhead=0.0)
    assert result.jobs["jct"].tolist() == [3600, 3600]


def test_who_is_told_nothing_takes_the_wrong_ones():
    jobs = workload([(kind, 2, 14_400 * k, 0) for k in (3, 4, 5) for kind in ("loose", "close")])
    split, las = TWO.by_placement(), get_policy("las-het")
    blind, aware = (simulate(jobs, split, (2, 2), las, believed=belief(TWO, told)) for told in ("blind", "aware"))
    assert aware.jobs["jct"].mean() < blind.jobs["jct"].mean()


def test_beliefs():
    assert belief(TWO, "aware").alone("close", 2).tolist() == [4.0, 1.0]
    assert belief(TWO, "blind").alone("close", 2).tolist() == [4.0, 4.0]
    assert belief(TWO, "strict").alone("loose", 2).tolist() == [4.0, 0.0]
    assert belief(TWO, "strict").alone("loose", 1).tolist() == [2.0, 2.0]


def test_shared_capacity_leaves_nothing_to_decide():
    """What `by_placement` says: the slower way of placing gets no time where both would use the same GPUs.

    One type twice with all GPUs each is more than the cluster has, and still nobody asks for the slower one.
    """
    split = TWO.by_placement()
    problem = moment([split.alone("close", 2), split.alone("close", 1)], [4, 4], scale_factor=np.array([2, 1]))
    assert answer("las-het", problem).alone[0, 1] == 0


def test_grids():
    size = GAVEL_SCALES["small"]
    throughputs = throughputs_of()
    servers, mixed = servers_grid(size, throughputs), mixed_grid(size, throughputs)
    n = len(size.fewer().multiple.rates)
    assert len(servers.runs) == n * len(SERVERS) and len(mixed.runs) == n * len(TOLD)
    assert {run.arguments.options.server_gpus for run in servers.runs} == set(SERVERS)
    for run, told in zip(mixed.runs, mixed.index["told"], strict=True):
        assert run.arguments.policy in POLICIES and sum(run.arguments.workers) == 3 * max(size.workers, 16)
        assert (run.arguments.believed is None) == (told == "aware")
    assert len({run.key for run in (*servers.runs, *mixed.runs)}) == n * (len(SERVERS) + len(TOLD))
    table = mixed.table(lambda result: by_gang(result.jobs.tail(size.multiple.measured)))
    assert (table["gang_jct"] > 0).all()
    both = table[["gang_jct", "single_jct"]]
    assert (table["average_jct"].between(both.min(axis=1), both.max(axis=1))).all()
