"""Examples that only notebooks show: their numbers are those of the models that they explain."""

from __future__ import annotations

import numpy as np

from papers.themis.study import lessons as themis


def test_the_worst_off_bid_and_no_more_gpus_are_given_than_there_are() -> None:
    r = themis.one_round()
    assert set(r.may_bid) == set(np.argsort(-r.rho)[:3])
    assert r.rho.argmax() == 0  # has waited longest
    assert ((r.kept > 0) & (r.kept <= 1)).all()
    assert 4 * r.gangs.sum() <= sum(themis.MACHINES)
