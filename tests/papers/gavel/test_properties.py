"""Searches for counter-examples to properties of policies: each check by hand, and what must hold."""

from __future__ import annotations

import numpy as np
import pytest

from papers.gavel import properties
from papers.gavel.moment import answer, moment
from papers.gavel.problem import Allocation

TWO = moment([[4, 3], [4, 1]], [1, 1])
NONE = np.zeros((0, 2))


def given(*rows: list[float]) -> Allocation:
    return Allocation(np.array(rows), NONE)


def test_objectives_by_hand() -> None:
    x = given([0, 1], [1, 0])  # speeds 3 and 4; with half of each, 3.5 and 2.5
    found = {name: properties.objective(name, TWO, x) for name in ("las-het", "ftf-het", "makespan", "fifo", "sjf")}
    assert found == pytest.approx(
        {"las-het": 3 / 3.5, "ftf-het": 3 / 3.5, "makespan": 3e-6, "fifo": 3e-6, "sjf": 4e-6}
    )  # fmt: skip


def test_fifo_breaks_the_sharing_incentive_of_its_first_job() -> None:
    """2 * 3/4 + 4/4 is more than 2 * 4/4 + 1/4, so the first job has 3 steps/s and not 3.5."""
    fifo, even = answer("fifo-het", TWO), answer("isolated", TWO)
    assert properties.objective_lost("fifo-het", TWO, fifo, even) == pytest.approx(0.5 / 3.5)
    assert properties.objective_lost("fifo-het", TWO, even, fifo) == 0
    assert properties.slower_than_own(TWO, fifo) == pytest.approx(0.5 / 3.5)
    assert properties.slower_than_own(TWO, given([1, 0], [0, 1])) == pytest.approx(1.5 / 2.5)


def test_room_is_what_one_job_can_have_more() -> None:
    assert properties.room_left(TWO, given([0, 1], [1, 0])) == pytest.approx(0, abs=1e-6)
    # job 1 keeps its 2 steps/s with 1/3 of the first GPU and 2/3 of the second; the rest is 2/3 * 4 + 1/3 * 3 for job 0
    idle = given([0, 0.5], [0.5, 0])
    assert properties.room_left(TWO, idle) == pytest.approx((8 / 3 + 1) / 1.5 - 1)
    gangs = moment([[2.0], [1.0]], [2], scale_factor=np.array([2, 1]))
    assert properties.room_left(gangs, Allocation(np.array([[0.5], [0.5]]), np.zeros((0, 1)))) == pytest.approx(1.0)


def test_a_lie_under_fifo() -> None:
    lie = properties.gained_by_lying(TWO, lambda problem: answer("fifo-het", problem))
    assert (lie.job, lie.gain) == (0, pytest.approx(1 / 3)) and lie.reported[1] / lie.reported[0] < 3 / 4
    alone = moment([[4.0, 1.0]], [1, 1])
    assert properties.gained_by_lying(alone, lambda problem: answer("las-het", problem)).gain == 0


@pytest.mark.parametrize("kind", [{}, {"types": 1}, {"gangs": True}, {"pairs": True}])
def test_small_moments_can_run(kind: dict[str, int]) -> None:
    many = [properties.small_moment(seed, **kind) for seed in range(50)]
    assert {len(p.job) for p in many} == {2, 3, 4} and {p.workers.max() for p in many} == {1, 2}
    assert {p.throughput.shape[1] for p in many} == {kind.get("types", 2)}
    assert all((p.throughput > 0).any(axis=1).all() for p in many)
    assert any((p.scale_factor == 2).any() for p in many) == ("gangs" in kind)
    assert any(len(p.pairs) for p in many) == ("pairs" in kind)
    assert (many[3].throughput == properties.small_moment(3, **kind).throughput).all()


@pytest.mark.parametrize(
    ("prop", "policies"),
    [
        ("as the agnostic policy on one type", ("las-het", "ftf-het", "makespan-het", "fifo-het", "sjf-het")),
        ("objective at least as with 1/n", ("las-het", "las-het-water-filling", "ftf-het", "makespan-het", "sjf-het")),
        ("no job slower than with its 1/n", ("las-het", "las-het-water-filling", "ftf-het")),
        ("objective at least as without sharing", ("las-het", "ftf-het", "makespan-het", "fifo-het")),
        ("Pareto efficient", ("las-het-water-filling", "las-het")),
    ],
)
def test_what_holds(prop: str, policies: tuple[str, ...]) -> None:
    for policy in policies:
        assert properties.search(prop, policy, 25) == {"tried": 25, "broken": 0, "by": 0.0, "counter-example": "none"}


def test_the_smallest_counter_example_comes_first() -> None:
    found = properties.search("Pareto efficient", "las-het", 25, "central")
    assert found["broken"] > 0 and found["by"] > 0
    assert found["counter-example"].startswith("speeds (") and found["counter-example"].endswith(" GPUs")
    assert properties.in_words(TWO) == "speeds (4, 3; 4, 1) on 1 + 1 GPUs"
