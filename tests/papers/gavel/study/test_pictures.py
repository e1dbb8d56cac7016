"""Pictures of Gavel's figures: an arrow to where the published factor would lead, from where ours is largest."""

from __future__ import annotations

import pandas as pd
import pytest

from astraea.plots import charts
from papers.gavel.study import pictures, program_pictures
from papers.gavel.study.pictures import Factor, mark_factors


def test_arrow_begins_where_the_distance_is_largest() -> None:
    rows = [(rate, seed, policy, jct) for rate, las in ((1.0, 30.0), (2.0, 40.0), (3.0, 36.0)) for seed in (0, 1)
            for policy, jct in (("las", las), ("las-het", 20.0))]  # fmt: skip
    table = pd.DataFrame(rows, columns=["jobs_per_hour", "seed", "policy", "average_jct"])
    _, ax = charts.panels()
    mark_factors(table, "average_jct", [Factor("las", "las-het", 4.0)], ax)
    arrow, text = ax.texts
    assert (arrow.xyann, arrow.xy) == ((2.0, 40.0), (2.0, pytest.approx(10.0)))  # type: ignore[attr-defined]
    assert text.get_text() == "LAS het.: paper 4×, here 2×"


def test_published_costs_are_relative_to_the_dearest() -> None:
    policies = ["max-throughput", "min-cost"]
    bills = pd.DataFrame({"policy": policies, "seed": 0, "cost": [140.0, 90.0], "missed": [0.0, 0.5]})
    cost, missed = pictures.costs(bills, {"min-cost": 1.4}, {"min-cost": 0.35}).axes
    for ax, value in ((cost, 100.0), (missed, 0.35)):
        marks = [line for line in ax.get_lines() if line.get_marker() == "D"]
        assert [y for line in marks for y in line.get_ydata()] == pytest.approx([value] * 2)


def test_open_marks_of_solve_times_are_named() -> None:
    rows = [("las-het", n, v, s) for n, s in ((16, 0.1), (32, 0.2)) for v in ("a class", "a job")]
    fig = program_pictures.solve_times(pd.DataFrame(rows, columns=["policy", "jobs", "variables", "seconds"]), 600.0)
    (legend,) = fig.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "LAS het.", "full: a variable for each class of like jobs", "open: one for each job, as in the paper"
    ]  # fmt: skip
