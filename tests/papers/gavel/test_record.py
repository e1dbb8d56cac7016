"""What is recorded: effective GPU-time by hand, against the steps of every job, and beside the GPU-time held."""

from __future__ import annotations

import numpy as np
import pytest
from gavel_small import crowd, fixed, throughputs, workload
from hypothesis import given, settings
from hypothesis import strategies as st

from astraea.core.step_function import Stepped
from papers.gavel.policies import get_policy
from papers.gavel.policy_calls import Speeds
from papers.gavel.record import _merged, pace
from papers.gavel.rounds.ideal import IDEAL
from papers.gavel.rounds.mechanism import IN_ROUNDS
from papers.gavel.simulate import simulate
from verification.gavel_rounds import RELEASED_ROUNDS

TABLE = throughputs({"a": (4.0, 1.0), "b": (2.0, 2.0), "c": (3.0, 0.0)}, shared={("a", "b"): 0.8, ("b", "b"): 0.7})
PLAIN = {"preemption_overhead": 0.0}


@pytest.mark.parametrize(("share", "hours", "ratio"), [((1.0, 0.0), 1.0, 1.6), ((0.0, 1.0), 4.0, 0.4)])
def test_raw_gpu_time_hides_on_which_type_a_job_ran(share, hours, ratio):
    w = workload([("a", 1, 14_400, 0)])
    result = simulate(w, TABLE, (1, 1), fixed({0: share}, leaves_idle=True), **PLAIN, round_length=3600.0)
    job, line = result.jobs.iloc[0], result.timeline.set_index("time")
    assert job["end_time"] == 3600 * hours
    assert job["attained_service"] == job["fair_service"] == 3600 * hours
    assert job["rho_job"] == 1
    assert job["effective_service"] == pytest.approx(14_400 / 2.5)  # mean speed: (4 + 1) / 2
    assert job["rho_effective"] == pytest.approx(ratio)
    assert line.loc[3600.0, "effective_service"] == pytest.approx(3600 * ratio)
    assert line.loc[3600.0, "attained_service"] == 3600


def test_a_gang_counts_each_of_its_gpus():
    w = workload([("a", 2, 2 * 14_400, 0)])
    result = simulate(w, TABLE, (2, 2), fixed({0: (1.0, 0.0)}), **PLAIN)
    assert result.jobs["effective_service"].iloc[0] == pytest.approx(2 * 14_400 / 2.5)


def test_a_part_of_every_type_is_worth_the_same_in_both_units():
    w = workload([("a", 1, 9_000, 0), ("b", 1, 9_000, 0), ("c", 1, 9_000, 0)])
    policy = fixed(dict.fromkeys(range(3), (0.2, 0.6)))
    jobs = simulate(w, TABLE, (2, 6), policy, mechanism=IDEAL, solve_interval=0.0).jobs
    assert jobs["effective_service"].to_numpy() == pytest.approx(jobs["attained_service"].to_numpy())
    assert jobs["rho_effective"].to_numpy() == pytest.approx(jobs["rho_job"].to_numpy())


@pytest.mark.parametrize("policy", ["las", "las-het-ss", "hierarchical-het"])
@pytest.mark.parametrize("how", ["rounds", "fluid", "released"])
def test_every_step_is_counted_once(policy, how):
    workers = (2, 3)
    w = crowd(gangs=(1, 1, 2), entity=np.arange(40) % 2, entity_weight=np.array([1.0, 3.0]))
    mechanism = {"rounds": IN_ROUNDS, "fluid": IDEAL, "released": RELEASED_ROUNDS}[how]
    result = simulate(w, TABLE, workers, get_policy(policy), mechanism=mechanism)
    own = pace(w, Speeds(w, TABLE, np.array(workers), 1).alone, np.array(workers))
    jobs, line = result.jobs, result.timeline
    done = jobs["effective_service"].to_numpy() * own
    if how == "released":  # it drops a rest of fewer steps than the gang has GPUs
        assert (done > w.total_steps - 2).all()
    else:
        assert done == pytest.approx(w.total_steps)
    at_end = line.groupby("tenant")["effective_service"].last()
    for tenant, total in jobs.groupby("tenant")["effective_service"].sum().items():
        last = jobs.loc[jobs["tenant"] == tenant, "end_time"].max()
        assert at_end[tenant] <= total * (1 + 1e-9)
        if last <= line["time"].max():
            assert at_end[tenant] == pytest.approx(total)
    assert (line.groupby("tenant")["effective_service"].diff().dropna() >= -1e-6).all()
    # nobody is faster than on the fastest GPU
    most = float((4.0 / 1.0) * 5 * 3600)
    assert line.groupby("time")["effective_service"].sum().diff().max() <= most


def test_a_job_that_goes_on_when_the_simulation_ends_has_its_progress():
    w = workload([("a", 1, 4 * 5400, 0), ("a", 1, 1e6, 0)], entity=np.array([0, 1]), entity_weight=np.ones(2))
    policy = fixed({0: (1.0, 0.0), 1: (0.0, 1.0)})
    result = simulate(w, TABLE, (1, 1), policy, **PLAIN, round_length=7200.0, until=1)
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
