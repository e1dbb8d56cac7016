"""The worked example of [Wang2023] §4.2-§4.4 beside the numbers of `example_table`: places, and where it departs."""

from __future__ import annotations

import numpy as np
from market_small import spans

from papers.market.policies.astraea.batches import astraea_market
from papers.market.policies.astraea.capacity import Round, demand, empty_round, occupy
from papers.market.policies.astraea.max_revenue import best_schedule, cost, min_cost_d, spread
from papers.market.study.example import EXAMPLE_ROUNDS, J11, J12, J21, J22, SLOTS, THETA, worked_example

M = worked_example()
S1, S2, S3, S4 = range(4)
EVERYONE = 2


def empty() -> Round:
    return empty_round(M, SLOTS, THETA)


def put(r: Round, a: int, b: int, tenant: int, workers: list[int], ps: list[int]) -> None:
    occupy(r, a, b, tenant, np.array(workers), np.array(ps))


def chosen(r: Round, job: int, whose: int) -> tuple[object, ...]:
    return best_schedule(r, whose, M.jobs.ideal(job, SLOTS), demand(M, job))


def test_first_jobs_distributed() -> None:
    r, needed = empty(), M.ps_needed(2)
    assert min_cost_d(r, 0, 4, 2, 2, needed) == (S1, 1)
    assert spread(r, 0, 4, 2, S1, False).tolist() == [1, 1, 0, 0]
    assert cost(r, 0, 4, 2, 1) == 0
    put(r, 0, 4, 0, [1, 1, 0, 0], [1, 0, 0, 0])
    # then j21 likewise; the text has it on s3 and s4, but line 16 starts with the servers that have fewest free
    # workers, which are s1 and s2
    assert min_cost_d(r, 0, 4, 2, 2, needed) == (S2, 1)
    assert spread(r, 0, 4, 2, S2, False).tolist() == [1, 1, 0, 0]


def test_own_shares_and_the_job_that_pays() -> None:
    r = empty()
    assert chosen(r, J11, 0) == (0, 2, 2, 1, S1, True, 96.0)
    put(r, 0, 2, 0, [2, 0, 0, 0], [1, 0, 0, 0])
    start, end, workers, ps, _, is_central, income = chosen(r, J21, 1)
    # "any server" of line 7: the text takes s2; s1 is free again and as good
    assert (start, end, workers, ps, is_central, income) == (2, 4, 2, 1, True, 92.0)
    # §4.3 says that the own share is not enough for j12; two workers of one server do it in three slots
    assert chosen(r, J12, 0) == (1, 4, 2, 1, S2, True, 89.0)  # 92 - 3 for the one slot that has a price
    put(r, 2, 4, 1, [0, 2, 0, 0], [0, 1, 0, 0])
    assert min_cost_d(r, 0, 4, 3, 3, M.ps_needed(3)) == (S3, 1)
    assert spread(r, 0, 4, 3, S3, False).tolist() == [0, 0, 2, 1]
    assert r.unused.sum(axis=2).tolist() == [[6] * 4, [3] * 4]  # a_w and a_p
    start, end, workers, _, _, is_central, income = chosen(r, J12, EVERYONE)
    assert (start, end, workers, is_central, income) == (0, 3, 2, True, 85.0)  # 94 - 9, more than the paper's 76


def test_whole_example() -> None:
    plan = astraea_market(M, theta=THETA, rounds=EXAMPLE_ROUNDS)
    # j22 takes 30 slots: postponed to the fifth interval, whose rounds have 32
    assert spans(plan) == {J11: (8, 10), J12: (9, 12), J21: (10, 12), J22: (64, 94)}
    assert not any(s.is_shared for s in plan.schedules)
    last = plan.schedules[-1]
    assert last.ideal == 40
    assert M.jobs.value(J22, last.end - 3) == -82  # admitted by ideal revenue, at a loss
