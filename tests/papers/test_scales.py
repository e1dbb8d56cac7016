"""The scales, said once: every study knows them all, and no other."""

from __future__ import annotations

import pytest

from astraea.core.errors import InputError
from papers.scales import SCALES, SEEDS, at_scale, seeds


def test_every_scale_is_known() -> None:
    assert [[at_scale(numbers, scale) for scale in SCALES] for numbers in SEEDS.values()] == [[2, 5, 5], [2, 2, 5]]


def test_no_other_scale_is() -> None:
    with pytest.raises(InputError, match="scale must be one of small, paper, full, got 'large'"):
        at_scale(SEEDS["venus"], "large")


def test_a_real_trace_is_one_trace() -> None:
    assert seeds("venus", "small") == (0, 1)
    assert len(seeds("philly", "paper")) < len(seeds("venus", "paper"))
    assert seeds("venus", "paper", {"paper": 3}) == (0, 1, 2)
    assert seeds("helios-venus", "paper") == (0,)
