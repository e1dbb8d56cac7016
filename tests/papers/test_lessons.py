"""Examples that only notebooks show: their numbers are those of the models that they explain."""

from __future__ import annotations

import numpy as np
import pytest

from papers.gavel.study import lessons as gavel
from papers.market.policies.astraea.batches import astraea_market
from papers.market.study import lessons as market
from papers.market.study.example import worked_example


def test_an_hour_of_each_type_in_turns_is_worth_an_hour() -> None:
    table = gavel.held_and_effective()
    turns = table[table["allocation"] == "both take turns"]
    assert turns[["held", "effective"]].to_numpy() == pytest.approx(1.0)
    alone = table[(table["allocation"] == "job 0 on the V100 alone") & (table["job"] == "job 0")]
    assert alone["held"].item() < 0.95 and alone["effective"].item() == pytest.approx(1.0)


def test_a_job_runs_inside_one_round() -> None:
    table = market.waits(astraea_market(worked_example(), theta=(2.0, 2.0), rounds=1))
    begin = 2 ** np.floor(np.log2(table["start"]))
    assert (table["end"] <= 2 * begin).all() and (table["start"] >= table["arrival"]).all()
