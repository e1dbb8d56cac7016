"""What the cache keeps of a simulation of Gavel: every measure gives the same of it as of the whole result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from astraea.core.metrics import summary, tenant_windows
from astraea.core.result import Result
from astraea.experiments.archive import pack, reduced, unpack
from papers.gavel.study import physical, runs, tables, tenants
from papers.gavel.study.cells import READ


@pytest.fixture(scope="module")
def results() -> tuple[Result, Result]:
    """All of a result, and what comes back of it from the cache."""
    run = runs.cost_grid(runs.GAVEL_SCALES["small"], runs.throughputs_of()).runs[0]
    function, *arguments = run.call
    whole = function(*arguments)
    kept = unpack(pack(reduced(whole, run.kept)))
    assert isinstance(kept, Result)
    return whole, kept


@pytest.mark.parametrize(
    "measure",
    [
        summary, tenant_windows, lambda result: tables.steady(result.jobs), lambda result: tables.by_gang(result.jobs),
        tables.bill, tenants.both_papers, physical.objectives,
    ],
)  # fmt: skip
def test_a_measure_of_what_is_kept(measure: Callable[[Result], Any], results: tuple[Result, Result]) -> None:
    whole, kept = (measure(result) for result in results)
    if isinstance(whole, pd.DataFrame):
        pd.testing.assert_frame_equal(whole, kept, check_exact=True)
        return
    assert list(whole) == list(kept)
    for name in whole:
        np.testing.assert_array_equal(whole[name], kept[name])


def test_nothing_else_is_kept(results: tuple[Result, Result]) -> None:
    whole, kept = results
    assert whole.grants is not None and kept.grants is None
    assert tuple(kept.jobs) == READ["jobs"] and len(pack(kept)) < len(pack(whole))


def test_expected_seconds_hang_on_pairs_and_no_name() -> None:
    grid = runs.makespan_grid(runs.GAVEL_SCALES["small"], runs.throughputs_of())
    seconds = dict(zip(grid.index["policy"], (run.expected for run in grid.runs), strict=True))
    assert seconds["makespan-het-ss"] > seconds["makespan-het"] == seconds["fifo"]
