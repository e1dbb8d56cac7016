"""AlloX: completion times are those of the least matching, alpha chooses the tenants, nothing that fits waits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import drawn, jobs, simulated
from scipy.optimize import linear_sum_assignment


@settings(deadline=None, max_examples=10)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 4), st.sampled_from([1, 2]))
def test_completion_times_add_up_to_the_cost_of_the_solvers_matching(
    lengths: list[int], slots: int, demand: int
) -> None:
    rows = jobs(*(f"a{k:02} {demand} 0 {10 * length}" for k, length in enumerate(lengths)))
    matrix = 10.0 * np.outer(lengths, np.tile(np.arange(1, len(lengths) + 1), slots))
    least = matrix[linear_sum_assignment(matrix)].sum()
    assert simulated(rows, slots * demand, "allox").jobs["jct"].sum() == least


def test_shortest_first_by_gpu_time_to_the_end_and_gangs_are_passed_over() -> None:
    rows = jobs("a0 1 0 60", "a1 2 0 40", "a2 1 0 30", "a3 3 0 10", "a4 1 10 10")
    assert drawn(simulated(rows, 3, "allox"), 10) == [
        "a0 S=====",  # 60 GPU-s; a3 has less, but two GPUs are left
        "a1 ...S===",  # 80 GPU-s
        "a2 S==",  # 30 GPU-s as a3, and submitted before it
        "a3 .......S",
        "a4  S",  # at 30 it would have been in the way of a3
    ]


PAIR = ("a0 1 0 10", "a1 1 0 10", "b2 1 0 30")
LATER = ("b0 1 0 60", "a1 1 0 30", "b2 1 10 20", "b3 1 10 30", "a4 1 10 40")


@pytest.mark.parametrize(
    "alpha, rows, picture",
    [
        (1, PAIR, ["a0 S", "a1 S", "b2 .S=="]),
        (0.5, PAIR, ["a0 S", "a1 .S", "b2 S=="]),  # what is granted at this round counts: b is behind
        # all tenants are eligible: b2 and b3 are shorter than a4
        (1, LATER, ["a1 S==", "b0 S=====", "a4  .....S===", "b2  ..S=", "b3  ....S=="]),
        # one is: at 30 only b holds a GPU; at 60 only a does, however long b had one
        (0.3, LATER, ["a1 S==", "b0 S=====", "a4  ..S===", "b2  .....S=", "b3  ......S=="]),
    ],
)
def test_alpha_chooses_the_tenants_that_hold_the_least(alpha: float, rows: tuple[str, ...], picture: list[str]) -> None:
    assert drawn(simulated(jobs(*rows), 2, "allox", alpha=alpha), 10) == picture
