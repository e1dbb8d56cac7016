"""Gavel's policies: the paper's examples, results of the authors' code, bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gavel_moments import answer, assert_valid, moment, random_moment, rates, unmet

from astraea.core.errors import InputError, PolicyError
from papers.gavel.policies import POLICIES, get_policy
from papers.gavel.policies.hierarchical import hierarchical, job_weights
from papers.gavel.programs.program import Program

TYPES = ("v100", "p100", "k80")


def test_las_example_of_the_paper():
    """§4.1: three jobs, one V100 and one K80; about 10 % more than with a third of each."""
    problem = moment([[4, 1], [3, 1], [2, 1]], [1, 1])
    allocation = answer("las-het", problem)
    np.testing.assert_allclose(allocation.alone, [[0.45, 0.0], [0.45, 0.09], [0.09, 0.91]], atol=0.006)
    third = problem.throughput.sum(axis=1) / 3
    np.testing.assert_allclose(rates(problem, allocation) / third, 12 / 11)


@pytest.mark.parametrize(
    ("throughput", "expected"),
    [
        ([[3, 1, 1], [3, 2, 1], [3, 2, 1]], [1.765, 2.118, 2.118]),
        ([[3, 2, 0.9], [3, 2, 1.1], [3, 2, 1.1]], [1.988, 2.055, 2.055]),
    ],
)
def test_las_of_the_released_code(throughput, expected):
    problem = moment(throughput, [1, 1, 1])
    np.testing.assert_allclose(rates(problem, answer("las-het", problem)), expected, atol=5e-4)


def test_objectives_of_the_released_code():
    problem = moment([[2, 1, 0.5], [3, 2, 1]], [1, 2, 3], steps=[300, 500])
    assert answer("las-het", problem).objective == pytest.approx(1.5484, abs=1e-4)
    assert answer("ftf-het", problem).objective == pytest.approx(0.6458, abs=1e-4)


def three_entities(weight):
    """§7.3: 3 GPUs of each of 3 types; entities of weight 1, 2, 3 with 6 jobs each."""
    random = np.random.default_rng(0)
    return moment(
        random.uniform(1, 4, (18, 3)), [3, 3, 3], weight=np.tile(weight, 9), entity=np.repeat([0, 1, 2], 6),
        entity_weight=[1.0, 2.0, 3.0],
    )  # fmt: skip


def test_hierarchical_fairness_of_the_released_code():
    problem = three_entities([1.0, 2.0])
    time = answer("hierarchical", problem).alone.sum(axis=1)
    np.testing.assert_allclose(time, np.tile([1 / 6, 1 / 3], 9) * np.repeat([1, 2, 3], 6), atol=1e-6)


def test_hierarchical_fifo_goes_on_where_a_job_waits():
    """The released code takes every job that had a turn for a bottleneck as soon as one waits."""
    time = answer("hierarchical-fifo", three_entities([1.0, 1.0])).alone.sum(axis=1).reshape(3, 6)
    expected = [[1, 0.5, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0.5, 0]]
    np.testing.assert_allclose(time, expected, atol=1e-6)


def test_water_filling_example_of_the_paper():
    """§4.3: four identical jobs, one of weight 3, on four GPUs; one step, then the others have a GPU each too."""
    problem = moment(np.ones((4, 1)), [4], weight=[3.0, 1.0, 1.0, 1.0])
    allocation = answer("las-het-water-filling", problem)
    assert allocation.objective == pytest.approx(1 / 3)
    np.testing.assert_allclose(allocation.alone, 1)


def test_fairness_in_one_entity_and_fifo_in_the_other():
    """Fig 5: two of four GPUs each; the research team's jobs in order, the product team's in equal parts."""
    problem = moment(np.ones((6, 1)), [4], entity=[0, 0, 0, 1, 1, 1], entity_weight=[1.0, 1.0])
    time = hierarchical("both", ("fairness", "fifo")).make()(problem).alone[:, 0]
    np.testing.assert_allclose(time, [2 / 3, 2 / 3, 2 / 3, 1, 1, 0], atol=1e-6)


def test_fifo_shortest_and_most_throughput():
    problem = moment([[3, 1], [4, 3], [1, 1]], [1, 1], steps=[600, 900, 100], types=("v100", "k80"))
    assert answer("fifo-het", problem).alone.tolist() == [[1, 0], [0, 1], [0, 0]]
    # the third ends first, in 100 s on either type; of the others the first, 200 s, goes before the second, 225 s
    shortest = answer("sjf-het", problem)
    assert shortest.objective == pytest.approx(100)
    np.testing.assert_allclose(shortest.alone, [[1, 0], [0, 0], [0, 1]], atol=1e-6)
    assert answer("max-throughput", problem).objective == pytest.approx(3 + 3)


def test_least_cost_takes_the_cheaper_steps():
    """Fig 1b: one job has more steps for a dollar on the fast type, the other on the slow one."""
    problem = moment([[10, 1], [2, 1]], [1, 1], cost=[3.0, 0.5], types=("v100", "k80"))
    allocation = answer("min-cost", problem)
    assert allocation.objective == pytest.approx(10 / 3)
    np.testing.assert_allclose(allocation.alone, np.eye(2), atol=1e-6)


def test_a_deadline_moves_a_job_to_the_faster_type():
    problem = moment([[4, 1]], [1, 1], steps=[200], cost=[8.0, 1.0], slo=[100.0], types=("v100", "k80"))
    assert answer("min-cost", problem).alone.tolist() == [[0, 1]]
    np.testing.assert_allclose(answer("min-cost-slo", problem).alone, [[1 / 3, 2 / 3]], atol=1e-6)
    assert unmet(problem).tolist() == [0]
    assert unmet(replace(problem, slo=np.array([49.0]))).tolist() == [1]


def test_agnostic_time_follows_the_cluster():
    """Also where a job cannot run on one of the types."""
    problem = moment([[4, 2, 1], [4, 2, 0]], [2, 1, 1], types=TYPES)
    alone = answer("las", problem).alone
    np.testing.assert_allclose(alone, [[1 / 2, 1 / 4, 1 / 4], [2 / 3, 1 / 3, 0]], atol=1e-6)


def test_weights_of_an_entity_go_to_those_that_can_have_more():
    problem = random_moment(0, jobs=6)
    stuck = np.zeros(6, bool)
    for inside in ("fairness", "fifo"):
        for job in range(5):
            weight = job_weights(problem, (inside,), stuck | (np.arange(6) < job))
            of_entity = np.bincount(problem.entity, weight, minlength=3)
            alive = np.isin(np.arange(3), problem.entity[job:])
            np.testing.assert_allclose(of_entity, np.where(alive, problem.entity_weight, 0))
            assert (weight[:job] == 0).all()


@pytest.mark.parametrize("name", POLICIES)
def test_no_jobs(name):
    allocate = POLICIES[name].make()
    for jobs in (0, 3, 0):
        problem = random_moment(0, jobs=jobs, gangs=False)
        assert_valid(problem, allocate(problem))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"throughput": np.array([[-1.0, 1, 1]])}, "every throughput must be 0 or more"),
        ({"throughput": np.zeros((1, 3))}, "job 5 with a gang of 1 GPUs can run on none of .* v100, p100, k80"),
        ({"scale_factor": np.array([4])}, "job 5 with a gang of 4 GPUs can run on none"),
        ({"weight": np.array([0.0])}, "job 5 has the weight 0, expected more than 0"),
        ({"steps": np.array([np.nan])}, "job 5 has the number of steps nan"),
        ({"entity": np.array([1])}, "job 5 belongs to entity 1, expected one of the 1 entities"),
        ({"entity_weight": np.array([-1.0])}, "entity 0 has the weight -1, expected more than 0"),
        ({"cost": np.array([1.0, 0.0, 1.0])}, "price of every accelerator type must be above 0"),
    ],
)
def test_what_no_program_can_have(changed, words):
    problem = replace(moment(np.ones((1, 3)), [2, 2, 2], job=[5], types=TYPES), **changed)
    name = "min-cost" if "cost" in changed else "hierarchical-het"
    with pytest.raises(InputError, match=f"{name}: .*{words}"):
        POLICIES[name].make()(problem)


def test_a_program_without_optimum_says_whose_it_is():
    program = Program(moment(np.ones((2, 1)), [1]), "some-policy")
    with pytest.raises(PolicyError, match=r"some-policy: the linear program of 2 jobs has no optimum; .*infeasible"):
        program.maximize(np.ones(2), floor=np.array([1.0, 1.0]))


def test_unknown_names():
    with pytest.raises(InputError, match=r"policy must be one of fifo, fifo-het.*, got .lass."):
        get_policy("lass")
    assert get_policy("las") is POLICIES["las"]
    with pytest.raises(InputError, match="unknown policy inside an entity 'lottery'"):
        hierarchical("h", ("lottery",))
