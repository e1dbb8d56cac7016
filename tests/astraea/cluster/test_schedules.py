"""Schedules of every policy on workloads small enough to draw."""

from __future__ import annotations

from typing import Any

import pytest
from schedules import drawn, jobs, simulated


def test_fifo_head_of_line_blocks() -> None:
    result = simulated(jobs("a0 2 0 30", "a1 4 0 20", "a2 1 0 20"), 4, "fifo")
    assert drawn(result, 10) == [
        "a0 S==",
        "a1 ...S=",  # needs the whole cluster
        "a2 .....S=",  # would fit at once, but stands behind it
    ]


def test_yarn_cs_keeps_to_the_quota() -> None:
    result = simulated(jobs("a0 2 0 30", "a1 2 0 20", "a2 1 0 10", "b3 1 0 60", "b4 1 10 20"), 4, "yarn-cs")
    assert drawn(result, 10) == [
        "a0 S==",
        "a1 ...S=",  # over the quota of 2, though a GPU is free
        "a2 .....S",  # behind a1
        "b3 S=====",
        "b4  S=",
    ]


def test_tiresias_l_leaves_the_first_queue_at_the_threshold() -> None:
    # 60 GPU-s a lease: below 100 GPU-s after one, above it after two
    result = simulated(jobs("a0 2 0 90", "a1 2 0 90"), 2, "tiresias-l", lease_term=30, threshold=100)
    assert drawn(result, 10) == [
        "a0 S==r==......R==",
        "a1 ......S==r==...R==",
    ]


@pytest.mark.parametrize(
    "promote, picture",
    [
        (0, ["a0 S==.........R==r==", "a1    S==", "a2       S==", "a3          S=="]),
        (2, ["a0 S==......R==...R==", "a1    S==", "a2       S==", "a3          ...S=="]),  # waits 60 s after 30 s
    ],
)
def test_tiresias_l_promotes_what_starves(promote: float, picture: list[str]) -> None:
    rows = jobs("a0 2 0 90", "a1 2 30 30", "a2 2 60 30", "a3 2 90 30")
    assert drawn(simulated(rows, 2, "tiresias-l", lease_term=30, threshold=60, promote=promote), 10) == picture


@pytest.mark.parametrize(
    "immediate, picture",
    [
        ("no", ["a0 S==r==....R==", "a1     ..S=", "a2      ...S="]),
        # a0 has left the first queue: a1 takes its GPUs, a2 takes none of a1, which has not; a0's lease is lost
        ("yes", ["a0 S==r....R==r==", "a1     S=", "a2      .S="]),
    ],
)
def test_tiresias_l_takes_gpus_of_higher_queues_at_once(immediate: str, picture: list[str]) -> None:
    rows = jobs("a0 2 0 90", "a1 2 40 20", "a2 2 50 20")
    assert drawn(simulated(rows, 2, "tiresias-l", lease_term=30, threshold=60, immediate=immediate), 10) == picture


ASTRAEA: list[tuple[str, list[dict[str, Any]], float, dict[float, list[str]]]] = [
    (
        # tenant b comes when a has had all; at 30 it goes first, and a keeps its first job (equal rho, first submitted)
        "lease_term",
        jobs("a0 1 0 60", "a1 1 0 60", "b2 1 30 60"),
        10,
        {30: ["a0 S==r==", "a1 S==...R==", "b2    S==r=="]},
    ),
    (
        # a ran for two hours, an hour ago; over all time it is ahead, over the last hour it is not
        "tenant_window",
        jobs("a0 1 0 7200", "a1 1 0 7200", "a2 1 10800 1200", "a3 1 10800 1200", "b4 1 10800 1200", "b5 1 10800 1200"),
        600,
        {
            0: ["a0 Srrrrrrrrrrr", "a1 Srrrrrrrrrrr", "a2 @..Sr", "a3 @..Sr", "b4 @Sr", "b5 @Sr"],
            3600: ["a0 Srrrrrrrrrrr", "a1 Srrrrrrrrrrr", "a2 @S.R", "a3 @.S.R", "b4 @S.R", "b5 @.S.R"],
        },
    ),
    (
        # b had its share earlier and has nothing now
        "idle_guard",
        jobs("b0 1 0 60", "b1 1 0 60", "a2 1 90 30", "a3 1 90 30", "b4 1 90 30"),
        10,
        {
            0: ["b0 S==r==", "b1 S==r==", "a2          S==", "a3          S==", "b4          ...S=="],
            0.5: ["b0 S==r==", "b1 S==r==", "a2          S==", "a3          ...S==", "b4          S=="],
        },
    ),
    (
        # new jobs go first, until one has waited for 60 s
        "starvation",
        jobs("a0 2 0 60", "a1 2 30 30", "a2 2 60 30", "a3 2 90 30"),
        10,
        {
            0: ["a0 S==.........R==", "a1    S==", "a2       S==", "a3          S=="],
            60: ["a0 S==......R==", "a1    S==", "a2       S==", "a3          ...S=="],
        },
    ),
    (
        # a new job takes the GPUs of a lease that was renewed less than 20 s ago; what was done in it is lost
        "early_lease",
        jobs("a0 2 0 90", "a1 2 40 30"),
        10,
        {
            0: ["a0 S==r==...R==", "a1     ..S=="],
            20: ["a0 S==r...R==r==", "a1     S=="],
            10: ["a0 S==r==...R==", "a1     ..S=="],
        },
    ),
    (
        # turns, or to the end
        "renewal_bonus",
        jobs("a0 2 0 90", "a1 2 0 90"),
        10,
        {
            0: ["a0 S==...R==...R==", "a1 ...S==...R==...R=="],
            1: ["a0 S==.........R==r==", "a1 ...S==r==r=="],
        },
    ),
    (
        # a1 is ahead of its turn until its deadline at 60 s has passed
        "deadline_bonus",
        jobs("a0 2 0 90", "a1 2 0 90 60"),
        10,
        {
            0: ["a0 S==...R==...R==", "a1 ...S==...R==...R=="],
            1: ["a0 S==......R==r==", "a1 ...S==r==......R=="],
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize("option, rows, step, pictures", ASTRAEA, ids=[case[0] for case in ASTRAEA])
def test_astraea_and_each_of_its_options(
    option: str, rows: list[dict[str, Any]], step: float, pictures: dict[float, list[str]]
) -> None:
    for value, picture in pictures.items():
        result = simulated(rows, 2, "astraea", **{"lease_term": 30 if step == 10 else step, option: value})
        expected = [line.replace("@", 18 * " ") for line in picture]  # @ three hours of 600 s steps
        assert drawn(result, step) == expected, f"{option}={value}"
