"""Code that all papers share: verdicts of numbers, scales and seeds."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

from astraea.core.errors import InputError
from papers import judging
from papers.judging import Missing, Source, Verdict
from papers.scales import SCALES, SEEDS, at_scale, seeds

HOLDS, OF_THOSE, DIRECTION, OTHERWISE, _ = Verdict


def source(paper: float) -> Source:
    return Source(lambda _: pd.DataFrame(), {"x": paper}, "table", "trace", "x", {})


@pytest.mark.parametrize(
    ("found", "verdicts"),
    [
        # a share within some points; otherwise its odds differ by less than a factor of 2
        (lambda x: judging.equal(source(67), x, "%", 2.0)[1], {69: HOLDS, 65: HOLDS, 60: DIRECTION, 40: OTHERWISE}),
        # a ratio within a factor of 1.1; otherwise from half as far to twice as far from 1; both if it is near 1
        (lambda x: judging.equal(source(2.5), x, "x")[1], {2.7: HOLDS, 1.9: DIRECTION, 6: DIRECTION, 1.3: OTHERWISE}),
        (lambda x: judging.equal(source(2.5), x, "x")[1], {2.28: HOLDS, 2.26: DIRECTION, 6.3: OTHERWISE}),
        (lambda x: judging.equal(source(1.4), x, "x")[1], {1.25: DIRECTION, 1.05: OTHERWISE, 0.9: OTHERWISE}),
        (lambda x: judging.equal(source(1.06), x, "x")[1], {1.04: HOLDS, 1.02: OTHERWISE, 1.13: OTHERWISE}),
        (lambda x: judging.equal(source(2.5), x, "x")[1], {0: OTHERWISE, -1: OTHERWISE}),
        (judging.alike, {1.05: HOLDS, 1.06: DIRECTION, 1.2: OTHERWISE}),
        (judging.alike, {1 / 1.05: HOLDS, 0.92: DIRECTION, 0.8: OTHERWISE}),
        (lambda x: judging.at_most(x, 1.2), {1.2: HOLDS, 1.43: DIRECTION, 1.45: OTHERWISE}),
        (lambda x: judging.at_most(x, 0.25, is_ratio=False), {0.2: HOLDS, 0.5: DIRECTION, 0.6: OTHERWISE}),
        (lambda x: judging.reaches(x, 3.5), {3.2: HOLDS, 7: HOLDS, 2: DIRECTION, 1.02: OTHERWISE, 0.9: OTHERWISE}),
        (lambda x: judging.reaches(x, 3.5), {13: DIRECTION}),
        (lambda x: judging.below(x, [2.0, 4.0]), {1.9: HOLDS, 2.0: DIRECTION, 2.2: DIRECTION, 2.3: OTHERWISE}),
        (lambda x: judging.below([2.0, 4.0], x), {4.1: HOLDS, 4.0: DIRECTION, 3.6: OTHERWISE}),
    ],
)
def test_verdicts_of_numbers(found: Callable[[float], Verdict], verdicts: dict[float, Verdict]) -> None:
    assert {x: found(x) for x in verdicts} == verdicts


def test_verdicts_of_many_numbers() -> None:
    assert judging.trend([10, 9.95, 11, 12], rising=True) == HOLDS  # a step of less than 1 %
    assert judging.trend([10, 9.5, 11, 12], rising=True) == DIRECTION
    assert judging.trend([3, 2, 1.5, 1.7], rising=False) == DIRECTION
    assert judging.trend([12, 11, 10, 9], rising=True) == OTHERWISE
    assert judging.worst([HOLDS, OTHERWISE, DIRECTION]) == OTHERWISE
    assert judging.worst([HOLDS, OF_THOSE]) == OF_THOSE and judging.worst([OF_THOSE, DIRECTION]) == DIRECTION
    for nothing in (lambda: judging.trend([1.0], rising=True), lambda: judging.below([], 1.0)):
        with pytest.raises(Missing, match="there is"):
            nothing()


def test_scales_and_seeds() -> None:
    assert [[at_scale(numbers, scale) for scale in SCALES] for numbers in SEEDS.values()] == [[2, 5], [2, 2]]
    assert seeds("venus", "small") == (0, 1)
    assert seeds("venus", "paper", {"paper": 3}) == (0, 1, 2)
    assert seeds("helios-venus", "paper") == (0,)  # a real trace is one
    with pytest.raises(InputError, match="scale must be one of small, paper, got 'large'"):
        at_scale(SEEDS["venus"], "large")
