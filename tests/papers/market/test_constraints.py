"""Each constraint, broken once."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from market_small import with_jobs

from papers.market.constraints import violations
from papers.market.model import Plan, Schedule
from papers.market.study.example import worked_example

M = worked_example()
GOOD = Schedule(1, 8, 12, np.array([2, 3]), np.array([2, 1]), np.array([1, 0]), is_shared=True)


def of(*schedules: Schedule, market: Any = M) -> list[str]:
    return violations(market, Plan(market, schedules, np.zeros((2, 2))))


def but(**changes: Any) -> Schedule:
    return dataclasses.replace(GOOD, **{k: np.array(v) if isinstance(v, list) else v for k, v in changes.items()})


def test_nothing_to_say() -> None:
    assert of(GOOD) == []
    assert of() == []


@pytest.mark.parametrize(
    "schedule, said",
    [
        (but(end=8), "(3m), (3n) job 'j12': it must end after its start 8, got 8"),
        (but(start=2), "(3l) job 'j12': it starts at 2, before it arrives at 3"),
        (but(start=9), "(3j), (3k) job 'j12': 3 workers, distributed, train 4.5 mini-batches"),
        (but(ps=[0, 0]), "(3g) job 'j12': it needs a parameter server, got 0"),
        (but(workers=[1, 2]), "(3i) job 'j12', server 2: workers elsewhere need 2 Mbit/s, its 1"),
        (but(workers=[2, -1]), "(3o) job 'j12': workers must be whole numbers of at least 0, got [2, -1]"),
        (but(server=[2, 2]), "(3o) job 'j12': its servers must be different ones from 0 to 3, got [2, 2]"),
        (but(server=[2, 4]), "(3o) job 'j12': its servers must be different ones from 0 to 3, got [2, 4]"),
        (but(start=-1), "(3o) job 'j12': its start must be at least 0, got -1"),
        (but(job=4), "(3o) job 4: it must be one of the 4 jobs"),
        (but(workers=[3, 1]), "(3e) job 'j12': 4 workers, allowed are its 3 chunks"),
        (but(workers=[3, 1]), "(3c) server 2, slot 9: 3 workers, allowed 2"),
        (but(ps=[2, 0]), "(3d) server 2, slot 9: 2 parameter servers, allowed 1"),
    ],
)
def test_one_broken(schedule: Schedule, said: str) -> None:
    assert any(said in line for line in of(schedule))


def test_twice() -> None:
    assert "(5c) job 'j12': it must have one schedule at most, got another" in of(GOOD, but(start=12, end=16))


def test_shares() -> None:
    small = dataclasses.replace(M, worker_quota=np.array([2, 6]), ps_quota=np.array([0, 4]))
    assert of(GOOD, market=small) == []
    assert of(but(is_shared=False), market=small) == [
        "(3a) own share of tenant 0, slot 9: 3 workers, allowed 2",
        "(3b) own share of tenant 0, slot 9: 1 parameter servers, allowed 0",
    ]
    big = with_jobs(M, chunks=np.array([2, 9, 2, 30]))
    many = but(server=[0, 1, 2, 3], workers=[3, 2, 2, 2], ps=[2, 1, 1, 1], end=99)
    said = of(many, market=big)
    assert "(3a) all tenants, slot 9: 9 workers, allowed 8" in said
    assert "(3b) all tenants, slot 9: 5 parameter servers, allowed 4" in said


def test_one_after_the_other_on_the_same_server() -> None:
    a = Schedule(0, 8, 10, np.array([0]), np.array([2]), np.array([1]))
    b = Schedule(2, 10, 12, np.array([0]), np.array([2]), np.array([1]))
    assert of(a, b) == []
    assert "(3c) server 0, slot 10: 4 workers, allowed 2" in of(a, dataclasses.replace(b, start=9))
