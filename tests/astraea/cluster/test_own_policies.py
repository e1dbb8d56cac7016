"""Policies of one's own: how they are declared, tried, and refused."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from schedules import FREE, jobs, simulated, trace_of

import astraea
from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import View
from astraea.cluster.policies import all_policies, get_policy
from astraea.cluster.policy import (
    LeaseTerm,
    all_candidates,
    fits,
    grant,
    in_use,
    is_open,
    policy,
    revoke,
    running,
    unpack,
)
from astraea.cluster.simulate import simulate, waiting
from astraea.core.compilation import compiled
from astraea.core.errors import InputError, PolicyError


@policy
def small_first(s: View) -> None:
    """Smallest gang first.

    Ties go to the job that came first.
    """
    while True:
        best = -1
        for j in all_candidates(s):
            if is_open(s, j) and fits(s, j) and (best < 0 or s.job[j].demand < s.job[best].demand):
                best = j
        if best < 0:
            break
        grant(s, best)


def test_a_bare_decorator_is_enough() -> None:
    assert (small_first.name, small_first.about) == ("small-first", "Smallest gang first.")
    assert not small_first.preempts and not small_first.needs_estimates
    trace = trace_of(jobs("a0 4 0 10", "a1 2 0 10", "a2 1 0 10"))
    assert simulate(trace, Cluster(1, 4), small_first).jobs["first_start_time"].tolist() == [10, 0, 0]


def test_a_policy_is_called_like_a_function() -> None:
    trace = trace_of(jobs("a0 4 0 10", "a1 2 0 10", "a2 1 0 10", "a3 2 20 10"))
    state = waiting(trace, Cluster(1, 4), small_first)
    assert small_first(state) == [2, 1]
    assert in_use(state, 0) == 3
    assert get_policy("fifo")(waiting(trace, Cluster(1, 4), "fifo")) == [0]
    slow_to_fast = get_policy("allox").with_parameters(alpha=1)
    uneven = trace_of(jobs("a0 1 0 90", "a1 1 0 10", "b2 1 0 50"))
    assert slow_to_fast(waiting(uneven, Cluster(1, 2), slow_to_fast)) == [1, 2]


def test_a_policy_called_with_something_else_says_what_it_wants() -> None:
    with pytest.raises(InputError, match=r"policy fifo is called with a state, got 300; with_parameters"):
        get_policy("fifo")(300)  # type: ignore[arg-type]
    trace = trace_of(jobs("a0 1 0 10"))
    with pytest.raises(InputError, match=r"policy hived: the state was made for another policy"):
        get_policy("hived")(waiting(trace, Cluster(1, 4), "fifo"))
    with pytest.raises(InputError, match=r"job 'a0' can never run: demand exceeds the cluster"):
        waiting(trace_of(jobs("a0 9 0 10", "a1 1 0 10")), Cluster(1, 4), "fifo")


class NoDefault(NamedTuple):
    a: float
    b: float = 5.0


class Word(NamedTuple):
    a: Any = "x"


class Fraction(NamedTuple):
    n: int = 2.5  # type: ignore[assignment]


class NoTuple:
    a = 1.0


@pytest.mark.parametrize(
    "parameters, message",
    [
        (NoDefault, "policy p: parameter a has no default"),
        (Word, "policy p: the default of parameter a must be a number, got 'x'"),
        (Fraction, "policy p: the default of n must be a whole number, got 2.5"),
        (NoTuple, "policy p: its parameters must be a NamedTuple class, got"),
    ],
)
def test_parameters_that_cannot_work_are_refused_when_they_are_declared(parameters: type, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        policy("p", parameters)(lambda s: None)


def test_other_declarations_that_cannot_work_are_refused() -> None:
    with pytest.raises(InputError, match=r"policy p: it reads parameters but declares none: @policy\('p', Pa"):
        policy("p")(lambda s: unpack(LeaseTerm, s.parameters))
    with pytest.raises(InputError, match=r"policy p: a property must be one of .*revisit.*, got 'revist'"):
        policy("p", revist=1)(lambda s: None)
    with pytest.raises(InputError, match=r"the name of a policy must be text, got"):
        policy(LeaseTerm)  # type: ignore[call-overload]


def test_whole_numbers_stay_whole() -> None:
    tiresias = get_policy("tiresias-l")
    assert repr(tiresias.parameters["queues"]) == "2"
    assert repr(tiresias.with_parameters(queues=3.0).parameters["queues"]) == "3"
    with pytest.raises(InputError, match=r"policy tiresias-l: queues must be a whole number, got 2.5"):
        tiresias.with_parameters(queues=2.5)
    with pytest.raises(InputError, match=r"policy slurm: bf_max_job_test must be a whole number, got 1.5"):
        get_policy("slurm").with_parameters(bf_max_job_test=1.5)


@compiled
def wrong_helper(s: Any, j: int) -> bool:
    return s.job[j].gpuz <= 4


@policy
def wrong_field(s: Any) -> None:
    for j in all_candidates(s):
        if s.job[j].gpus <= 4:
            grant(s, j)


@policy
def wrong_in_a_helper(s: Any) -> None:
    for j in all_candidates(s):
        if wrong_helper(s, j):
            grant(s, j)


@policy
def wrong_table(s: Any) -> None:
    for j in all_candidates(s):
        if s.jobs[j].demand <= 4:
            grant(s, j)


@policy
def wrong_name(s: Any) -> None:
    grant(s, k)  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    "own, fault, line",
    [
        (wrong_field, "there is no field 'gpus'", "if s.job[j].gpus <= 4:"),
        (wrong_in_a_helper, "there is no field 'gpuz'", "return s.job[j].gpuz <= 4"),
        (wrong_table, "Unknown attribute 'jobs'", "if s.jobs[j].demand <= 4:"),
        (wrong_name, "NameError: name 'k' is not defined", "grant(s, k)"),
    ],
)
def test_a_mistyped_name_is_reported_with_policy_and_line(own: Any, fault: str, line: str) -> None:
    with open(__file__, encoding="utf-8") as file:
        number = 1 + next(k for k, text in enumerate(file) if text.strip().startswith(line))
    with pytest.raises(PolicyError) as raised:
        simulate(trace_of(jobs("a0 1 0 10")), Cluster(1, 4), own)
    assert str(raised.value) == f"policy {own.name}, test_own_policies.py, line {number}: {fault}"


@policy(revokes=True)
def gives_way(s: View) -> None:
    """Take the GPUs of the gang of five at 300 s, and give none to it until 500 s."""
    now = s.now
    for j in running(s):
        if s.job[j].demand == 5 and now == 300:
            revoke(s, j)
    for j in all_candidates(s):
        if is_open(s, j) and fits(s, j) and (s.job[j].demand < 5 or now < 300 or now >= 500):
            grant(s, j)


def test_a_policy_that_revokes_is_asked_at_every_round() -> None:
    """Between 10 s and 300 s nothing happens, and no waiting job fits."""
    trace = trace_of(jobs("a0 5 0 600", "a1 4 10 100"))
    found = simulate(trace, Cluster(1, 8), gives_way, checkpoint_overhead=0, restart_overhead=0).jobs
    assert gives_way.preempts
    assert found["first_start_time"].tolist() == [0, 300] and found["end_time"].tolist() == [1100, 400]


def crowd() -> list[dict[str, Any]]:
    """Jobs of two tenants that crowd four GPUs."""
    rng = np.random.default_rng(5)
    return jobs(*(f"{'ab'[k % 3 > 0]}{k} {rng.integers(1, 3)} {30 * k} {rng.integers(100, 900)}" for k in range(40)))


@pytest.mark.parametrize("name", all_policies())
def test_a_policy_is_what_it_declares(name: str) -> None:
    """It preempts jobs or not, and depends on their tenants or not."""
    rows, options = crowd(), {"lease_term": 60} if "lease_term" in all_policies()[name].parameters else {}
    swapped = [{**row, "tenant": {"a": "b", "b": "a"}[row["tenant"]]} for row in rows]
    weights = {"a": 3.0, "b": 1.0}
    cluster = Cluster(1, 8)
    mine, theirs = (
        simulated(some, cluster, name, weights=weights, settings=FREE, **options).jobs for some in (rows, swapped)
    )
    assert (mine["preemptions"].sum() > 0) == all_policies()[name].preempts
    assert (mine["end_time"].tolist() != theirs["end_time"].tolist()) == all_policies()[name].sees_tenants


def test_the_table_of_policies() -> None:
    table = astraea.policies()
    assert [*table.index] == [*all_policies()]
    assert table.loc["fifo"].tolist() == ["One FIFO queue for all.", "[Ye2022] §3.2", False, False, False, ""]
    assert table.loc["tiresias-l", "parameters"].startswith("lease_term=900 [s], queues=2, threshold=18000 [GPU-s]")
    assert table.loc["themis", ["preempts", "needs_running_times", "sees_tenants"]].tolist() == [True, True, False]
    assert all(table["about"].str.fullmatch(r"[A-Z].*\.", flags=re.S))


def test_arguments_of_another_kind_are_refused_in_a_sentence() -> None:
    frame = pd.DataFrame(jobs("a0 1 0 10"))
    trace, cluster = trace_of(jobs("a0 1 0 10")), Cluster(1, 4)
    undecorated: Any = small_first.select
    cases: tuple[tuple[tuple[Any, ...], str], ...] = (
        ((frame, cluster, "fifo"), "trace must be a Trace, as read_trace and Trace.from_frame make one, got a DataF"),
        ((cluster, trace, "fifo"), "trace must be a Trace, .* got a Cluster"),
        ((trace, 100, "fifo"), r"cluster must be a Cluster, such as Cluster\(nodes=100\), got 100"),
        ((trace, "fifo", cluster), "cluster must be a Cluster, .* got 'fifo'"),
        ((trace, cluster, undecorated), "policy must be a name, or a function made with @policy, got a "),
        ((trace, cluster, "fife"), "policy must be one of astraea, .*, got 'fife'"),
        ((trace, cluster, "fifo", {"lease_term": 900}), "seed must be a whole number"),
    )
    for arguments, message in cases:
        with pytest.raises(InputError, match=f"^{message}"):
            simulate(*arguments)
    unknown = "unknown parameter 'leaseterm'; policy astraea has lease_term, .*; every simulation has interval, "
    with pytest.raises(InputError, match=unknown):
        simulate(trace, cluster, "astraea", leaseterm=900)


def test_parameters_and_settings_are_given_by_name() -> None:
    trace = trace_of(jobs("a0 1 0 100", "a1 1 0 100"))
    named = simulate(trace, Cluster(1, 1), "astraea", lease_term=60, restart_overhead=7, placement="spread")
    about = named.provenance
    assert (about["parameters"]["lease_term"], about["restart_overhead"], about["placement"]) == (60, 7, "spread")
    given = simulate(trace, Cluster(1, 1), "astraea", settings=FREE, interval=20, lease_term=60).provenance
    assert (given["interval"], given["restart_overhead"]) == (20, 0)
