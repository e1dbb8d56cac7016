"""What the searches among random auctions find, and one auction by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from papers.themis.apps import MODELS
from papers.themis.auction import Outcome, auction
from papers.themis.study import auctions
from papers.themis.study.auctions import (
    bid,
    example_table,
    expected_value,
    failures,
    is_maximal,
    random_case,
    random_offer,
)


def test_a_seed_is_an_auction_in_any_chunk() -> None:
    pd.testing.assert_frame_equal(failures(0, 8)[5:8].reset_index(drop=True), failures(5, 8))


def test_brute_force_notices_what_is_not_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """An auction that gives nothing to anybody is found out wherever something could be won."""
    cases = [random_case(seed) for seed in range(60)]
    best = [bool(auction(*case).row.any()) for case in cases]
    nothing = lambda bids, _: Outcome(np.zeros(len(bids), np.int64), np.ones(len(bids)))  # noqa: E731
    monkeypatch.setattr(auctions, "auction", nothing)
    assert [is_maximal(case) for case in cases] == [not won for won in best] and 0 < sum(best) < len(best)


def test_parts_of_a_prize_are_worth_what_the_app_says() -> None:
    """Whole parts are rows of the bid, others lie between; what is on one machine is kept first."""
    tried = 0
    for seed in range(20):
        arbiter, agents = random_offer(seed)
        table, rows = bid(arbiter, agents[0])
        known = {tuple(row): value for row, value in zip(rows.tolist(), table.value, strict=True)}
        for row in rows:
            gangs = int(row.sum())
            kept = [min(n, row[0]) for n in range(gangs + 1)]
            worth = [known[local, n - local] for n, local in enumerate(kept)]
            for n in range(gangs):
                for part in (0.0, 0.25, 1.0):
                    got = expected_value(arbiter, agents[0], row, (n + part) / gangs)
                    assert got == pytest.approx((1 - part) * worth[n] + part * worth[n + 1])
                    tried += 1
    assert tried > 100


def test_the_example_by_hand() -> None:
    """Twelve gang-epochs of 2 min, of which each app could have run one at a time with a third of the cluster.

    One row is won by each, and the two that suffer from being spread are not. Each keeps what the others have with it
    over what they would have without it; all ways are tried.
    """
    table = example_table()
    rho = table.set_index(["app", "local", "spread"])["rho"]
    alone, waited, lease = 12 * 120, 600, 900
    first, second = 8 * 120, 4 * 120  # of both jobs, of the better one
    for app, slowdown in (("vgg16", 2.0), ("resnet50", 1.25), ("inception-v3", 1.0)):
        assert rho[app, 0, 0] == pytest.approx((waited + lease + alone) / alone)
        assert rho[app, 1, 0] == pytest.approx((waited + alone) / alone)
        assert rho[app, 0, 1] == pytest.approx((waited + slowdown * alone) / alone)
        assert rho[app, 2, 0] == pytest.approx((waited + first / 2 + second) / alone)
        assert rho[app, 1, 1] == pytest.approx((waited + first / (1 + 1 / slowdown) + second) / alone)
    won = table[table["won"]].set_index("app")
    assert won.index.tolist() == list(MODELS)
    assert won["local"].tolist() == [1, 1, 0] and won["spread"].tolist() == [0, 0, 1]
    assert table["kept"].notna().tolist() == table["won"].tolist()
    rows = {app: table.loc[table["app"] == app, ["local", "spread", "rho"]].to_numpy() for app in MODELS}

    def best(apps: list[str]) -> float:
        ways = np.array(list(product(*(rows[app] for app in apps))))  # (ways, apps, columns)
        near, far, rho = ways.transpose(2, 0, 1)
        fits = (near.sum(axis=1) <= 2) & ((near + far).sum(axis=1) <= 3)
        return float(np.max(np.prod(1 / rho, axis=1)[fits]))

    assert np.prod(1 / won["rho"]) == pytest.approx(best(list(MODELS)))
    for app in MODELS:
        others = [other for other in MODELS if other != app]
        assert won["kept"][app] == pytest.approx(np.prod(1 / won["rho"][others]) / best(others))
        assert won["kept"][app] < 0.8
