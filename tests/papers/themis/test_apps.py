"""Apps and workloads that can be simulated, and how successive halving goes through an app's jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astraea.core.errors import InputError
from papers.themis.apps import App, AppTrace, Phase, Tuner, course

LOSSES = (np.array([3.0, 2.0, 1.5]), np.array([4.0, 1.0]))
GOOD = App("a", 5.0, "vgg16", 2, 60.0, LOSSES)


def workload(*apps: App, machines: tuple[int, ...] = (8, 2)) -> AppTrace:
    return AppTrace("small", apps, np.array(machines, np.int64))


def app(*losses: list[float], **changes: Any) -> App:
    return replace(GOOD, loss=tuple(np.array(one) for one in losses), **changes)


TUNER = "a tuner needs first >= 1, eta >= 2, longest >= first and tolerance > 0, got Tuner"


@pytest.mark.parametrize(
    "bad, said",
    [
        ({"loss": ()}, ": it needs at least one job, got none"),
        ({"loss": (LOSSES[0], np.ones(0))}, ", job 1: it must have from 1 to 120 epochs, got 0"),
        ({"tuner": Tuner(longest=4), "loss": (np.ones(5),)}, ", job 0: it must have from 1 to 4 epochs, got 5"),
        ({"loss": (np.array([2.0, np.nan, np.inf]),)}, ", job 0, epoch 2: the loss must be finite, got nan"),
        ({"model": "gpt"}, ": model must be one of vgg16, resnet50, inception-v3, got 'gpt'"),
        ({"arrival": -1.0}, ": arrival must be a time from 0 [s], got -1.0"),
        ({"gang": 9}, ": gang must be from 1 to the 8 GPUs of the largest machine, got 9"),
        ({"tuner": Tuner(first=0)}, f": {TUNER}(first=0, eta=2, tolerance=0.0005, longest=120)"),
        ({"tuner": Tuner(tolerance=np.nan)}, f": {TUNER}(first=4, eta=2, tolerance=nan, longest=120)"),
    ],
)
def test_no_app(bad: dict[str, Any], said: str) -> None:
    """One number out of range, in the second of two apps: the sentence names that app, the job, and the value.

    Jobs are counted from 0, epochs from 1.
    """
    with pytest.raises(InputError) as err:
        workload(GOOD, replace(GOOD, name="b", **bad))
    assert str(err.value) == f"app 'b'{said}"


@pytest.mark.parametrize(
    "apps, machines, said",
    [
        ([], (8, 2), "small: a workload needs at least one app"),
        ([GOOD, GOOD], (8, 2), "small: two apps have the same name"),
        ([GOOD, replace(GOOD, name="b", arrival=4.0)], (8,), "app 'b': apps must come in order of arrival, got 4 s"),
        ([replace(GOOD, gang=4), replace(GOOD, name="b", gang=6)], (8,),
         "small: every gang must divide the next larger one, got 4 and 6"),
        ([GOOD], (4, 0), "small: every machine needs at least one GPU, got [4, 0]"),
        ([GOOD], (4.0, 2.5), "small: machines must be whole numbers of GPUs, got [4.0, 2.5]"),
    ],
)  # fmt: skip
def test_no_workload(apps: list[App], machines: tuple[Any, ...], said: str) -> None:
    """What is wrong with all of it together is said in one sentence."""
    with pytest.raises(InputError) as err:
        AppTrace("small", tuple(apps), np.array(machines or [], None if machines else np.int64))
    assert str(err.value) == said


def test_course_by_hand() -> None:
    """Four jobs of 1, 7, 3 and 5 epochs of 10 s in rungs that end after 2 and 4 epochs.

    The first rung is 1 + 2 + 2 + 2 epochs. Jobs 0 and 1 go on; job 0 has converged, so the second rung is the 2 epochs
    of job 1, whose other 3 are the last rung. A rung of jobs that have all converged is there and needs no work.
    """
    losses = [0.5], [0.7, 0.4, 0.35, 0.3, 0.3, 0.3, 0.3], [1.0, 0.9, 0.1], [0.9, 0.8, 0.2, 0.2, 0.2]
    four = app(*losses, epoch=10.0, tuner=Tuner(first=2, longest=10))
    assert course(four) == [Phase(4, 70.0), Phase(2, 20.0), Phase(1, 30.0)]
    assert course(app([1.0, 0.5], [2.0], epoch=10.0)) == [Phase(2, 30.0), Phase(1, 0.0)]


def halving_epoch_by_epoch(losses: list[list[float]], tuner: Tuner) -> list[tuple[int, int]]:
    """(jobs, epochs trained) of every rung, with nothing but loops."""
    trained = [0] * len(losses)
    jobs, goal, out = list(range(len(losses))), tuner.first, []
    while True:
        is_last, epochs = len(jobs) == 1, 0
        for j in jobs:
            while trained[j] < len(losses[j]) and (is_last or trained[j] < min(goal, tuner.longest)):
                trained[j] += 1
                epochs += 1
        out.append((len(jobs), epochs))
        if is_last:
            return out
        kept: list[int] = []
        while len(kept) * tuner.eta < len(jobs):
            kept.append(min((j for j in jobs if j not in kept), key=lambda j: (losses[j][trained[j] - 1], j)))
        jobs, goal = kept, goal * tuner.eta


@given(
    losses=st.lists(st.lists(st.sampled_from([1.0, 2.0, 3.0, 4.0]), min_size=1, max_size=12), min_size=1, max_size=20),
    first=st.integers(1, 5),
    eta=st.integers(2, 4),
)
def test_course_is_what_training_epoch_by_epoch_gives(losses: list[list[float]], first: int, eta: int) -> None:
    """Jobs and work of every rung, against a twin that trains one epoch after the other; many losses are equal."""
    tuner = Tuner(first=first, eta=eta, longest=12)
    expected = halving_epoch_by_epoch(losses, tuner)
    assert course(app(*losses, epoch=1.0, tuner=tuner)) == [Phase(jobs, float(done)) for jobs, done in expected]
