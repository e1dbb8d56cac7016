"""Priorities by the part of the time on a type ([Narayanan2020] §5)."""

from __future__ import annotations

import pytest

from papers.gavel.generators import continuous
from papers.gavel.simulate import simulate
from papers.gavel.throughputs.table import Throughputs

COMPACT = Throughputs.compact()
JOBS = continuous(60, 2.0, COMPACT, multiple=False, seed=0)


@pytest.mark.parametrize("policy", ["las-het", "las-het-ss"])
def test_the_order_on_one_type_does_not_change(policy):
    ends = [
        simulate(JOBS, COMPACT, (4, 4, 4), policy, by_type=True, by_part=by_part).jobs["end_time"].to_numpy()
        for by_part in (False, True)
    ]
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)


def test_that_of_all_types_does():
    ends = [
        simulate(JOBS, COMPACT, (4, 4, 4), "las-het", by_part=by_part).jobs["end_time"].to_numpy()
        for by_part in (False, True)
    ]
    assert ends[0] != pytest.approx(ends[1], rel=1e-3)
