"""Published statistics beside those of the synthetic traces: one row each, and how near is near enough."""

from __future__ import annotations

import numpy as np
import pytest
from listed_jobs import listed

from astraea.cluster.cluster import Cluster
from astraea.cluster.simulate import simulate
from astraea.traces.synthetic import SYNTHETIC, compromises
from papers.ye2022.generator import PUBLISHED, accepted, beside_published, described, further_grid


@pytest.mark.parametrize(
    ("within", "low", "high"),
    [("± 2", 98, 102), ("× 2", 50, 200), ("5 %", 95, 105), ("above", 100, np.inf), ("at least", 100, np.inf)],
)
def test_how_near_is_near_enough(within: str, low: float, high: float) -> None:
    assert accepted(100.0, within) == pytest.approx((low, high))


def test_every_published_statistic_is_measured() -> None:
    # the node is busy with `a` until second 100, with `b` until 150
    trace = listed(("a", "t", 1, 0.0, 100.0), ("b", "t", 8, 0.0, 50.0), ("c", "t", 1, 10.0, 100.0))
    found = described(trace, simulate(trace, Cluster(1), "yarn-cs"))
    assert found["demand, mean [GPU]"] == pytest.approx(10 / 3)
    assert found["GPU-time of jobs of 8 GPUs and more [%]"] == pytest.approx(100 * 400 / 600)
    assert found["8 GPUs over 1 GPU, mean running time"] == 0.5
    assert found["larger gangs that are shorter, at any quantile [%]"] == 100
    assert found["queueing delay, mean [s]"] == pytest.approx((0 + 100 + 140) / 3)
    assert found["busy GPUs, mean"] == pytest.approx(600 / 86_400)
    assert found["jobs with slowdown above 5 [%]"] == 0
    for name in SYNTHETIC:
        published = PUBLISHED[name]
        assert set(published["statistic"]) <= set(found) and published["statistic"].is_unique
        if "why" in published:
            assert set(published["why"].dropna()) <= set(compromises(name)["statistic"])


def test_table() -> None:
    waits = [{"jobs": 11_304.0, "queueing delay, mean [s]": x} for x in (1000.0, 2000.0)] + [{"jobs": 11_304.0}]
    table = beside_published("venus", waits).set_index("statistic")
    row = table.loc["queueing delay, mean [s]"]
    assert row[["published", "within", "mean", "smallest", "largest", "seeds"]].to_list() == [
        1253, "× 2", 1500, 1000, 2000, 2,
    ]  # fmt: skip
    assert row["holds"] and row["why"].startswith("preferred")
    assert table.loc["jobs", "seeds"] == 3
    assert not table.loc["tenants", "holds"]  # nothing was measured


def test_seeds_that_are_described_beside() -> None:
    assert further_grid("philly", "paper").index["seed"].tolist() == [2, 3, 4]
    for name, scale in (("venus", "paper"), ("philly", "full"), ("philly", "small"), ("w2", "paper")):
        assert not further_grid(name, scale).runs
