"""What all papers share: verdicts of numbers, scales and seeds."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

from astraea.core.errors import InputError
from papers import judging
from papers.judging import Missing, Source, Verdict
from papers.scales import SCALES, SEEDS, at_scale, seeds

HOLDS, DIRECTION, OTHERWISE, _ = Verdict


def source(paper: float) -> Source:
    return Source(lambda _: pd.DataFrame(), {"x": paper}, "table", "trace", "x", {})


@pytest.mark.parametrize(
    ("found", "verdicts"),
    [
        # a share within some points; otherwise its odds differ by less than a factor of 2
        (lambda x: judging.equal(source(67), x, "%", 2.0)[1], {69: HOLDS, 65: HOLDS, 60: DIRECTION, 40: OTHERWISE}),
        # a ratio within 10 %; otherwise half as far from 1
        (lambda x: judging.equal(source(2.5), x, "x")[1], {2.7: HOLDS, 1.9: DIRECTION, 4: DIRECTION, 1.3: OTHERWISE}),
        (lambda x: judging.equal(source(1.4), x, "x")[1], {1.25: DIRECTION, 1.05: OTHERWISE, 0.9: OTHERWISE}),
        (lambda x: judging.at_most(x, 1.2), {1.2: HOLDS, 1.3: DIRECTION, 1.41: OTHERWISE}),
        (lambda x: judging.at_most(x, 0.25, base=0.0), {0.2: HOLDS, 0.5: DIRECTION, 0.6: OTHERWISE}),
        (lambda x: judging.reaches(x, 3.5), {3.2: HOLDS, 7: HOLDS, 2: DIRECTION, 1.02: OTHERWISE, 0.9: OTHERWISE}),
        (lambda n: judging.most([k < n for k in range(4)]), {4: HOLDS, 3: DIRECTION, 2: OTHERWISE, 0: OTHERWISE}),
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
    for nothing in (lambda: judging.trend([1.0], rising=True), lambda: judging.most([])):
        with pytest.raises(Missing, match="there is"):
            nothing()


def test_scales_and_seeds() -> None:
    assert [[at_scale(numbers, scale) for scale in SCALES] for numbers in SEEDS.values()] == [[2, 5], [2, 2]]
    assert seeds("venus", "small") == (0, 1)
    assert seeds("venus", "paper", {"paper": 3}) == (0, 1, 2)
    assert seeds("helios-venus", "paper") == (0,)  # a real trace is one
    with pytest.raises(InputError, match="scale must be one of small, paper, got 'large'"):
        at_scale(SEEDS["venus"], "large")
