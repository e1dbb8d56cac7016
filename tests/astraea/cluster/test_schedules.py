"""Schedules of FIFO, EASY, YARN-CS, Tiresias-L and ASTRAEA on workloads small enough to draw."""

from __future__ import annotations

from typing import Any

import pytest
from schedules import check

LEASED = {"lease_term": 30}
SCHEDULES: dict[str, tuple[Any, ...]] = {
    "fifo: the head of the line blocks": (
        "fifo", 4, {},
        "a0 2 0 30 |S==",
        "a1 4 0 20 |...S=",  # needs the whole cluster
        "a2 1 0 20 |.....S=",  # would fit at once, but stands behind it
    ),
    "easy: who may pass the head of the line": (  # a1, which is planned to start at 60 s, beside one extra GPU
        "easy", 4, {},
        "a0 2 0 40  <60 |S===",
        "a1 3 0 20  <20 |....S=",  # starts at 40 s, because a0 ends before its limit
        "a2 1 0 30  <60 |S==",  # ends by then
        "a3 1 0 50  <70 |S====",  # does not, and takes the extra GPU
        "a4 1 0 20  <70 |.....S=",  # finds no GPU, and at 30 s none is extra
        "a5 1 30 10 <40 |   ...S",  # would end at 70 s, too late
        "a6 1 30 10 <30 |   S",  # ends by 60 s
    ),
    "easy: nobody passes if a job without a limit is in the way": (
        "easy", 4, {},
        "a0 2 0 30     |S==",
        "a1 4 0 20 <20 |...S=",
        "a2 1 0 10 <10 |.....S",
    ),
    "easy: only extra GPUs are given away beside a job that is past its limit": (
        "easy", 4, {},
        "a0 2 0 50 <20  |S====",
        "a1 3 0 20 <20  |.....S=",
        "a2 1 30 30 <30 |   S==",  # the extra one
        "a3 1 30 10 <10 |   ...S",  # would end before a0 does, but nobody knows
    ),
    "yarn-cs: keeps to the quota": (
        "yarn-cs", 4, {},
        "a0 2 0 30  |S==",
        "a1 2 0 20  |...S=",  # over the quota of 2, though a GPU is free
        "a2 1 0 10  |.....S",  # behind a1
        "b3 1 0 60  |S=====",
        "b4 1 10 20 | S=",
    ),
    "tiresias-l: a job leaves the first queue at the threshold": (
        "tiresias-l", 2, LEASED | {"threshold": 100},  # 60 GPU-s a lease: below it after one, above it after two
        "a0 2 0 90 |S==r==......R==",
        "a1 2 0 90 |......S==r==...R==",
    ),
    "tiresias-l: what starves is promoted": (
        "tiresias-l", 2, LEASED | {"threshold": 60, "promote": [0, 2]},
        "a0 2 0 90  |S==.........R==r== |S==......R==...R==",  # waits 60 s after 30 s
        "a1 2 30 30 |   S==             |   S==",
        "a2 2 60 30 |      S==          |      S==",
        "a3 2 90 30 |         S==       |         ...S==",
    ),
    "tiresias-l: GPUs of higher queues are taken at once": (
        "tiresias-l", 2, LEASED | {"threshold": 60, "immediate": ["no", "yes"]},
        "a0 2 0 90  |S==r==....R==  |S==r....R==r==",  # has left the first queue, and its lease is lost
        "a1 2 40 20 |    ..S=       |    S=",
        "a2 2 50 20 |     ...S=     |     .S=",  # takes none of a1, which has not left it
    ),
    "astraea: the tenant that comes goes first": (
        "astraea", 2, LEASED,
        "a0 1 0 60  |S==r==",  # the first submitted of two with equal rho
        "a1 1 0 60  |S==...R==",
        "b2 1 30 60 |   S==r==",
    ),
    "astraea: renewal_bonus": (  # turns, or to the end
        "astraea", 2, LEASED | {"renewal_bonus": [0, 1]},
        "a0 2 0 90 |S==...R==...R==    |S==.........R==r==",
        "a1 2 0 90 |...S==...R==...R== |...S==r==r==",
    ),
    "astraea: deadline_bonus": (  # a1 is ahead of its turn until its deadline at 60 s has passed
        "astraea", 2, LEASED | {"deadline_bonus": [0, 1]},
        "a0 2 0 90    |S==...R==...R==    |S==......R==r==",
        "a1 2 0 90 60 |...S==...R==...R== |...S==r==......R==",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SCHEDULES.values(), ids=SCHEDULES)
def test_schedule(case: tuple[Any, ...]) -> None:
    check(*case)
