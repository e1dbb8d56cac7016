"""Examples that only notebooks show: their numbers are those of the models that they explain."""

from __future__ import annotations

import numpy as np
import pytest

from papers.gavel.study import lessons as gavel
from papers.themis.study import lessons as themis


def test_an_hour_of_each_type_in_turns_is_worth_an_hour() -> None:
    table = gavel.held_and_effective()
    turns = table[table["allocation"] == "both take turns"]
    assert turns[["held", "effective"]].to_numpy() == pytest.approx(1.0)
    alone = table[(table["allocation"] == "job 0 on the V100 alone") & (table["job"] == "job 0")]
    assert alone["held"].item() < 0.95 and alone["effective"].item() == pytest.approx(1.0)


def test_the_worst_off_bid_and_no_more_gpus_are_given_than_there_are() -> None:
    r = themis.one_round()
    assert set(r.may_bid) == set(np.argsort(-r.rho)[:3])
    assert r.rho.argmax() == 0  # has waited longest
    assert ((r.kept > 0) & (r.kept <= 1)).all()
    assert 4 * r.gangs.sum() <= sum(themis.MACHINES)
