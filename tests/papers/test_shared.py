"""Code that all papers share: scales and seeds."""

from __future__ import annotations

import pytest

from astraea.core.errors import InputError
from papers.scales import SCALES, SEEDS, at_scale, seeds


def test_scales_and_seeds() -> None:
    assert [[at_scale(numbers, scale) for scale in SCALES] for numbers in SEEDS.values()] == [[2, 5], [2, 2]]
    assert seeds("venus", "small") == (0, 1)
    assert seeds("venus", "paper", {"paper": 3}) == (0, 1, 2)
    assert seeds("helios-venus", "paper") == (0,)  # a real trace is one
    with pytest.raises(InputError, match="scale must be one of small, paper, got 'large'"):
        at_scale(SEEDS["venus"], "large")
