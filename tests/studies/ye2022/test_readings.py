"""Two readings of one evaluation: who is in them, what is charged, and who knows what."""

from __future__ import annotations

import dataclasses

import pytest

from astraea.cluster.policies import get_policy
from astraea.core.errors import InputError
from astraea.reports.claims.ye2022 import SEVEN
from astraea.studies.ye2022.evaluation import load_workload
from astraea.studies.ye2022.readings import (
    ALGORITHM,
    ASTRAEA,
    BASELINES,
    COMPARED,
    FLAWED,
    MEASURED,
    MEMORIES,
    PAPERS,
    able,
    compared,
    settings_of,
)


def test_by_their_papers_all_seven_are_there_and_as_measured_those_of_the_program() -> None:
    assert set(SEVEN) <= {s.name for s in COMPARED[PAPERS]}
    program = [s for s in COMPARED[MEASURED] if s.name != "yarn-cs"]
    assert {s.policy for s in program} == {"astraea-released"}
    assert {s.made.as_text["job_order"] for s in program} == {"fairness", "2das", "themis", "fifo"}


def test_algorithm_1_has_none_of_what_the_paper_adds() -> None:
    assert ALGORITHM.made == get_policy("astraea")
    more = {k for k, v in ASTRAEA.made.parameters.items() if v != ALGORITHM.made.parameters[k]}
    assert more == {"tenant_window", "idle_guard", "starvation"}  # early leases stand in the program only


def test_memories_differ_from_algorithm_1_in_the_memory_only() -> None:
    assert MEMORIES[0] is ALGORITHM
    assert [s.made.parameters["half_life"] / 3600 for s in MEMORIES[2:]] == [1, 24, 168]
    assert {s.made.lease_term for s in MEMORIES} == {900.0}


def test_what_is_charged_and_known() -> None:
    themis = {reading: next(s for s in COMPARED[reading] if s.name == "themis") for reading in COMPARED}
    assert settings_of(MEASURED, themis[MEASURED]) == FLAWED and FLAWED.estimator == "oracle"
    assert FLAWED.checkpoint_overhead == FLAWED.restart_overhead == 0 and FLAWED.list_removal_flaw
    paid = settings_of(PAPERS, themis[PAPERS])
    assert paid.estimator == "gradient-boosting" and paid.restart_overhead > 0
    assert settings_of(PAPERS, ASTRAEA).estimator == "oracle"  # it asks for nothing


def test_nobody_knows_the_future_of_a_trace_without_a_past() -> None:
    trace = load_workload("venus", "small")[0]
    assert compared(PAPERS, trace) == COMPARED[PAPERS]
    without = dataclasses.replace(trace, history=None)
    assert {s.name for s in COMPARED[PAPERS]} - {s.name for s in compared(PAPERS, without)} == {"allox", "themis"}
    assert compared(MEASURED, without) == COMPARED[MEASURED]
    assert len(able(BASELINES, trace)) == len(BASELINES) > len(able(BASELINES, without))
    with pytest.raises(InputError, match="reading must be one of as measured, by its paper"):
        compared("mine", trace)
