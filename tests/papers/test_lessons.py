"""Examples that only notebooks show: their numbers are those of the models that they explain."""

from __future__ import annotations

import numpy as np

from papers.market.policies.astraea.batches import astraea_market
from papers.market.study import lessons as market
from papers.market.study.example import worked_example
from papers.themis.study import lessons as themis


def test_the_worst_off_bid_and_no_more_gpus_are_given_than_there_are() -> None:
    r = themis.one_round()
    assert set(r.may_bid) == set(np.argsort(-r.rho)[:3])
    assert r.rho.argmax() == 0  # has waited longest
    assert ((r.kept > 0) & (r.kept <= 1)).all()
    assert 4 * r.gangs.sum() <= sum(themis.MACHINES)


def test_a_job_runs_inside_one_round() -> None:
    table = market.waits(astraea_market(worked_example(), theta=(2.0, 2.0), rounds=1))
    begin = 2 ** np.floor(np.log2(table["start"]))
    assert (table["end"] <= 2 * begin).all() and (table["start"] >= table["arrival"]).all()
