"""Pictures of Gavel's figures: an arrow to where the published factor would lead, from where ours is largest."""

from __future__ import annotations

import pandas as pd
import pytest

from astraea.plots import charts
from astraea.studies.gavel.pictures import Factor, mark_factors


def test_arrow_begins_where_the_distance_is_largest() -> None:
    rows = [(rate, seed, policy, jct) for rate, las in ((1.0, 30.0), (2.0, 40.0), (3.0, 36.0)) for seed in (0, 1)
            for policy, jct in (("las", las), ("las-het", 20.0))]  # fmt: skip
    table = pd.DataFrame(rows, columns=["jobs_per_hour", "seed", "policy", "average_jct"])
    _, ax = charts.panels()
    mark_factors(table, "average_jct", [Factor("las", "las-het", 4.0)], ax)
    arrow, text = ax.texts
    assert (arrow.xyann, arrow.xy) == ((2.0, 40.0), (2.0, pytest.approx(10.0)))  # type: ignore[attr-defined]
    assert text.get_text() == "LAS het.: paper 4×, here 2×"
