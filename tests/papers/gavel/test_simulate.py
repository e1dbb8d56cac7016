"""`simulate`: its result and records, refusals, times of solving, and the ideal execution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from gavel_small import crowd, fixed, of, throughputs, workload
from hypothesis import given, settings
from hypothesis import strategies as st

from astraea.core.errors import InputError, PolicyError
from astraea.core.metrics import summary
from astraea.core.result import JOB_COLUMNS
from papers.gavel.policies import get_policy
from papers.gavel.policy_calls import Speeds
from papers.gavel.problem import Problem
from papers.gavel.record import _merged, pace
from papers.gavel.simulate import AS_RELEASED, Options, simulate
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload
from papers.step_function import Stepped

SPEED = {"a": (4.0, 1.0, 0.5), "b": (2.0, 2.0, 1.0), "c": (3.0, 0.0, 0.0)}
TYPES = ("v100", "p100", "k80")
TABLE = throughputs(SPEED, TYPES)
SHARED = {("a", "b"): 0.8, ("b", "b"): 0.7}
PAIRED = throughputs({"a": (4.0, 1.0), "b": (2.0, 2.0), "c": (3.0, 0.0)}, ("v100", "k80"), shared=SHARED)
READINGS = {
    "paper": Options(), "released": AS_RELEASED, "refill": Options(refill=True, leftovers=True),
    "ideal": Options(ideal=True),
}  # fmt: skip
EVERY = pytest.mark.parametrize("reading", READINGS)


def test_the_result_has_the_columns_of_every_result_and_its_own() -> None:
    w = workload([("a", 1, 7200, 0), ("b", 2, 7200, 60)], slo=np.array([1800.0, 1000.0]))
    result = simulate(w, TABLE, (1, 2, 0), get_policy("las-het"), preemption_overhead=0.0)
    jobs = result.jobs
    assert set(JOB_COLUMNS) <= set(jobs.columns)
    assert list(jobs["end_time"]) == [1800, 2160]  # j1: 2 GPUs of p100 at 4 steps/s, from the second round on
    assert list(jobs["slo_met"]) == [True, False]
    assert jobs["cost"].to_numpy() == pytest.approx([0.5 * 0.74, 2 * 0.5 * 0.43])
    assert list(jobs["attained_service"]) == [1800, 3600]
    assert list(jobs["duration"]) == [1800, 1800]
    # 2 jobs on 1 + 2 GPUs: half a V100 and a P100, of which j0 can use 2/3 of its time at most on P100
    assert jobs["contention"].iloc[0] == pytest.approx((60 + 2 * 1740) / 1800)
    assert (jobs["finish_time_fairness"] < 1).all()
    assert result.gpus == 3
    assert result.provenance["policy"] == "las-het"
    assert result.provenance["parameters"]["round_length"] == 360
    assert summary(result)["makespan"] == 2160
    assert simulate(w, TABLE, (1, 2, 0), get_policy("fifo-het")).jobs["slo_met"].notna().all()


def test_the_same_again() -> None:
    once, again = (simulate(crowd(), PAIRED, (2, 3), get_policy("las-het-ss")) for _ in range(2))
    pd.testing.assert_frame_equal(once.jobs, again.jobs)
    pd.testing.assert_frame_equal(once.timeline, again.timeline)
    assert once.provenance == again.provenance


def test_the_mechanism_is_close_to_the_ideal() -> None:
    w = crowd(120, seed=4)
    policy, options = get_policy("las-het"), {"solve_interval": 0.0, "preemption_overhead": 0.0}
    runs = [simulate(w, TABLE, (3, 5, 5), policy, round_length=length, **options) for length in (60.0, 1800.0)]
    rounds = [r.jobs["jct"].mean() for r in runs]
    ideal = simulate(w, TABLE, (3, 5, 5), policy, ideal=True, **options).jobs["jct"].mean()
    assert rounds[0] == pytest.approx(ideal, rel=0.06)
    assert abs(rounds[0] - ideal) < abs(rounds[1] - ideal)


def test_ideal_execution_by_hand() -> None:
    w = workload([("a", 1, 400, 0), ("a", 1, 400, 0)])
    policy = fixed({0: (0.5, 0, 0.5), 1: (0.5, 0, 0.25)})
    result = simulate(w, TABLE, (1, 0, 1), policy, ideal=True, solve_interval=0.0)
    # 2.25 steps/s, and 2.125
    assert result.jobs["end_time"].to_numpy() == pytest.approx([400 / 2.25, 400 / 2.125])
    assert result.jobs["attained_service"].to_numpy() == pytest.approx([400 / 2.25, 400 / 2.125 * 0.75])


def asked(
    w: Workload, table: Throughputs, solve_interval: float = 1920.0, ideal: bool = False, **declared: Any
) -> list[Problem]:
    """Calls of a policy that divides all jobs' time evenly."""
    problems: list[Problem] = []

    def spread(problem):
        problems.append(problem)
        return np.full((len(problem.job), 3), 1 / 3)

    simulate(w, table, (2, 2, 2), of(spread, **declared), solve_interval=solve_interval, ideal=ideal)
    return problems


@pytest.mark.parametrize("ideal", [False, True])
@pytest.mark.parametrize(
    "first, interval, expected",
    [(5, 1920.0, [0, 2160, 4320]), (5, 0.0, [0, 360, 3240]), (0, 1920.0, [0, 360, 3240]), (0, 3000.0, [0, 360, 3600])],
)
def test_the_program_is_solved_when_jobs_came_or_went_and_time_has_passed(first, interval, expected, ideal) -> None:
    """Solved in second 0, it need not have passed."""
    w = workload([("b", 1, 20_000, first), ("b", 1, 20_000, first + 100), ("b", 1, 20_000, first + 3000)])
    calls = asked(w, TABLE, interval, ideal)[:3]
    if ideal:  # and no round must end
        since = interval if first else 0
        expected = [0, max(100, since), max(3000, max(100, since) + interval)]
    assert [problem.elapsed[0] for problem in calls] == expected
    assert [len(problem.job) for problem in calls] == [1, 2, 3]


def test_pairs_are_offered_where_they_pay() -> None:
    table = throughputs(SPEED, TYPES, shared={("a", "a"): 0.54, ("a", "b"): 0.6})
    w = workload([("a", 1, 100, 0), ("a", 1, 100, 0), ("b", 1, 100, 0), ("b", 2, 100, 0)])
    assert asked(w, table, space_sharing=True)[0].pairs.tolist() == [[0, 2], [1, 2]]
    assert asked(w, table, space_sharing=True, least_gain=0.0)[0].pairs.tolist() == [[0, 1], [0, 2], [1, 2]]


def test_a_policy_that_knows_no_speeds_is_told_none() -> None:
    w = workload([("a", 1, 400, 0), ("c", 1, 400, 0)])
    table = throughputs({"a": (1.0, 4.0, 2.0), "c": (0.0, 1.0, 3.0)}, TYPES)
    assert asked(w, table, knows_speeds=False)[0].throughput.tolist() == [[1, 1, 1], [0, 3, 3]]
    assert asked(w, table, knows_speeds=True)[0].throughput.tolist() == [[1, 4, 2], [0, 1, 3]]


def nothing(problem):
    return np.zeros((len(problem.job), 3))


def test_leftovers_are_given_away_unless_the_policy_says_no() -> None:
    w = workload([("a", 1, 400, 0), ("a", 1, 400, 0)])
    for declared, leftovers, start in ((False, True, 0), (True, True, 100), (False, False, 100)):
        jobs = simulate(w, TABLE, (2, 0, 0), of(only_first, leaves_idle=declared), leftovers=leftovers).jobs
        assert jobs["first_start_time"].tolist() == [0, start]


def only_first(problem):
    x = np.zeros((len(problem.job), 3))
    x[0, 0] = 1.0
    return x


def test_prices_are_asked_for_by_who_needs_them() -> None:
    w, table = workload([("a", 1, 100, 0)]), replace(TABLE, types=("a100", "p100", "k80"))
    assert simulate(w, table, (1, 1, 1), of(only_first, "min-cost-mine")).makespan > 0
    with pytest.raises(InputError, match=r"min-cost: the price of every accelerator type must be .* got {'a100': nan"):
        simulate(w, table, (1, 1, 1), get_policy("min-cost"))


def test_until_ends_the_run_and_cuts_the_table() -> None:
    whole = simulate(crowd(), TABLE, (2, 3, 2), get_policy("las-het")).jobs
    part = simulate(crowd(), TABLE, (2, 3, 2), get_policy("las-het"), until=10).jobs
    assert len(part) == 10
    assert (part["end_time"] == whole["end_time"].iloc[:10]).all()
    with pytest.raises(InputError, match="until must be at most the number of jobs in small, 40; got 41"):
        simulate(crowd(), TABLE, (1, 1, 1), get_policy("las"), until=41)


@pytest.mark.parametrize(
    ("gang", "share", "hours", "ratio"), [(1, (1, 0), 1.0, 1.6), (1, (0, 1), 4.0, 0.4), (2, (1, 0), 1.0, 1.6)]
)
def test_raw_gpu_time_hides_on_which_type_a_job_ran(gang, share, hours, ratio):
    w = workload([("a", gang, gang * 14_400, 0)])
    policy = fixed({0: share}, leaves_idle=True)
    result = simulate(w, PAIRED, (gang, gang), policy, preemption_overhead=0.0, round_length=3600.0)
    job, line = result.jobs.iloc[0], result.timeline.set_index("time")
    assert job["end_time"] == 3600 * hours
    assert job["attained_service"] == job["fair_service"] == 3600 * hours * gang
    assert job["rho_job"] == 1
    assert job["effective_service"] == pytest.approx(gang * 14_400 / 2.5)  # mean speed: (4 + 1) / 2
    assert job["rho_effective"] == pytest.approx(ratio)
    assert line.loc[3600.0, "effective_service"] == pytest.approx(3600 * ratio * gang)
    assert line.loc[3600.0, "attained_service"] == 3600 * gang


def test_a_part_of_every_type_is_worth_the_same_in_both_units():
    w = workload([("a", 1, 9_000, 0), ("b", 1, 9_000, 0), ("c", 1, 9_000, 0)])
    policy = fixed(dict.fromkeys(range(3), (0.2, 0.6)))
    jobs = simulate(w, PAIRED, (2, 6), policy, ideal=True, solve_interval=0.0).jobs
    assert jobs["effective_service"].to_numpy() == pytest.approx(jobs["attained_service"].to_numpy())
    assert jobs["rho_effective"].to_numpy() == pytest.approx(jobs["rho_job"].to_numpy())


@pytest.mark.parametrize(
    "policy", ["las", "las-het-ss", "hierarchical-het", "min-cost", "isolated", "gandiva", "ltgf-het", "sjf-het"]
)
@EVERY
def test_every_step_is_counted_once(policy, reading):
    workers = (2, 3)
    w = crowd(gangs=(1, 1, 2), entity=np.arange(40) % 2, entity_weight=np.array([1.0, 3.0]))
    result = simulate(w, PAIRED, workers, policy, READINGS[reading])
    speed = pace(w, Speeds(w, PAIRED, np.array(workers)).alone, np.array(workers))
    jobs, line = result.jobs, result.timeline
    assert jobs["effective_service"].to_numpy() * speed == pytest.approx(w.total_steps)
    # of a fluid, GPUs are taken as held evenly from a job's first to its last second
    assert reading == "ideal" or (line.groupby("time")["held"].sum() <= 5).all()
    assert (line["waiting"] >= -1e-9).all()
    for tenant, own in line.groupby("tenant"):
        total, last = jobs[jobs["tenant"] == tenant].sum(numeric_only=True), own.iloc[-1]
        ended = jobs.loc[jobs["tenant"] == tenant, "end_time"].max()
        for column in ("attained_service", "effective_service"):
            assert (own[column].diff().dropna() >= -1e-6).all()
            assert last[column] <= total[column] * (1 + 1e-9)
        if ended <= last["time"]:
            assert last["effective_service"] == pytest.approx(total["effective_service"])
        assert last["fair_service"] == pytest.approx(total["fair_service"], rel=0.1)
    # nobody is faster than on the fastest GPU
    assert line.groupby("time")["effective_service"].sum().diff().max() <= 4.0 / 1.0 * 5 * 3600


def test_a_job_that_goes_on_when_the_simulation_ends_has_its_progress():
    w = workload([("a", 1, 4 * 5400, 0), ("a", 1, 1e6, 0)], entity=np.array([0, 1]), entity_weight=np.ones(2))
    policy = fixed({0: (1.0, 0.0), 1: (0.0, 1.0)})
    result = simulate(w, PAIRED, (1, 1), policy, preemption_overhead=0.0, round_length=7200.0, until=1)
    line = result.timeline.set_index(["time", "tenant"])["effective_service"]
    assert len(result.jobs) == 1 and result.makespan == 5400
    assert line[3600.0, "entity 0"] == pytest.approx(3600 * 1.6)
    assert line[3600.0, "entity 1"] == pytest.approx(3600 * 0.4)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_three_sums_in_one_go_are_those_of_three(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 60))
    start = rng.integers(0, 20, n) / 3
    end = start + rng.integers(0, 5, n) / 7
    amounts = rng.random((3, n))
    orders = np.argsort(start, kind="stable"), np.argsort(end, kind="stable")
    time, *rates = _merged(start, end, *orders, *amounts)
    assert (np.diff(time) > 0).all()
    when = np.concatenate([start, end, rng.random(20) * 12])
    for rate, amount in zip(rates, amounts, strict=True):
        one, other = Stepped(time, rate), Stepped.between(start, end, amount)
        assert np.array_equal(one.at(when), other.at(when))
        assert np.array_equal(one.until(when), other.until(when))


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"round_length": 0}, "round_length must be a time above 0 and up to 1e9 s, got 0"),
        ({"solve_interval": -1}, "solve_interval must be a time from 0 and up to 1e9 s, got -1"),
        ({"round_length": 5}, "preemption_overhead must be below round_length (5 s), otherwise a preempted job"),
        ({"optimum": "best"}, "optimum must be one of largest-sum, central, got 'best'"),
        ({"until": 0}, "until must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_options_get_a_sentence(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError) as error:
        Options(**options)
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize(
    "workers, sentence",
    [
        ((1, 2), "workers must be 3 numbers, of v100, p100, k80; got [1, 2]"),
        ((0, 0, 0), "workers must be at least 1 of some type, got none of v100, p100, k80"),
        ((1, -1, 0), "workers of type p100 must be a whole number from 0 to 1000000, got -1"),
        ((0, 3, 0), "small: job 'j1', c on 1 GPUs, can run on none of 0 v100 + 3 p100 + 0 k80"),
        ((1, 1, 1), "small: job 'j2', a on 2 GPUs, can run on none of 1 v100 + 1 p100 + 1 k80"),
    ],
)
def test_bad_clusters_get_a_sentence(workers: tuple[int, ...], sentence: str) -> None:
    w = workload([("a", 1, 100, 0), ("c", 1, 100, 0), ("a", 2, 100, 0)])
    with pytest.raises(InputError) as error:
        simulate(w, TABLE, workers, get_policy("las"))
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    "function, sentence",
    [
        (lambda p: np.zeros((1, 1)), "policy given, at 5 s: gave alone of shape (1, 1) where (1, 3) was asked"),
        (lambda p: np.full((1, 3), np.nan), "policy given, at 5 s: gave the fraction of time nan, expected 0 to 1"),
        (lambda p: np.full((1, 3), 2.0), "policy given, at 5 s: gave the fraction of time 2, expected 0 to 1"),
    ],
)
def test_bad_answers_get_a_sentence(function, sentence: str) -> None:
    with pytest.raises(PolicyError) as error:
        simulate(workload([("a", 1, 100, 5)]), TABLE, (1, 1, 1), of(function))
    assert str(error.value) == sentence


@EVERY
def test_a_policy_that_leaves_the_cluster_idle_is_named(reading) -> None:
    w = workload([("a", 1, 100, 5), ("a", 1, 100, 6)])
    with pytest.raises(PolicyError, match="leaves job 'j0' and 1 more waiting in an idle cluster for ever"):
        simulate(w, TABLE, (1, 1, 1), of(nothing, leaves_idle=True), READINGS[reading])
