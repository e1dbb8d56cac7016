"""The two algorithms turn by turn: by hand, and against the leases that the simulation grants."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from listed_jobs import listed
from matplotlib import pyplot as plt

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.simulate import simulate
from astraea.core.units import MINUTE
from astraea.traces.trace import Trace
from papers.ye2022.decisions import (
    NONE,
    Turns,
    fair_shares,
    rounds_picture,
    turns,
    two_tenants,
    two_tenants_turns,
    written_out,
)
from papers.ye2022.examples import NO_OVERHEADS, ROUND


@pytest.fixture(scope="module")
def example() -> tuple[Turns, pd.DataFrame]:
    return two_tenants_turns()


def granted(found: Turns) -> list[list[object]]:
    rows: list[list[object]] = found.picks.loc[found.picks["is_granted"], ["time", "job_id"]].to_numpy().tolist()
    return rows


def leases(trace: Trace, cluster: Cluster) -> pd.DataFrame:
    """Leases that the simulation grants."""
    policy = get_policy("astraea")(lease_term=ROUND)
    grants = simulate(trace, cluster, policy, settings=NO_OVERHEADS, keep_log=True).grants
    assert grants is not None
    return grants


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.exhaustive) for k in range(1, 6))])
def test_the_picks_are_those_of_the_simulation(seed: int) -> None:
    # running times in whole minutes: leases do not end together, and jobs come and go inside those of others
    rng, n = np.random.default_rng(seed), 14
    jobs = pd.DataFrame(
        {"job_id": [f"J{k:02d}" for k in range(n)], "tenant": rng.choice(["a", "b", "c"], n),
         "demand": rng.integers(1, 4, n), "submit_time": np.sort(rng.integers(0, 40, n)) * MINUTE,
         "duration": rng.integers(1, 60, n) * MINUTE}
    )  # fmt: skip
    weights = {name: float(k + 2) for k, name in enumerate(sorted(set(jobs["tenant"])))}
    trace, cluster = Trace.from_frame(jobs, name="random", weights=weights), Cluster(nodes=1, gpus_per_node=14)
    grants = leases(trace, cluster)
    assert granted(turns(trace, cluster, grants, ROUND)) == grants[["start", "job_id"]].to_numpy().tolist()


def test_fairness_values_by_hand(example: tuple[Turns, pd.DataFrame]) -> None:
    found, grants = example
    assert granted(found) == grants[["start", "job_id"]].to_numpy().tolist()
    at = found.considered[(found.considered["time"] == 10 * MINUTE)].set_index(["turn", "name"])
    # vision has had 6 GPUs for 10 minutes, and owns 3 for the 20 up to the end of the next lease
    assert at.loc[(1, "vision"), "rho"] == pytest.approx(60 / 60)
    assert at.loc[(1, "speech"), "rho"] == 0 and at.loc[(1, "speech"), "is_picked"]
    # its 3 GPUs are due to three jobs in equal parts
    assert at.loc[(3, "A1"), "rho"] == pytest.approx(30 / 10)
    assert at.loc[(3, "A3"), "rho"] == pytest.approx(10 / 10) and at.loc[(3, "A3"), "is_picked"]
    # A3's GPU counts at once, for a whole lease
    assert at.loc[(4, "vision"), "rho"] == pytest.approx(70 / 60)


def test_a_job_is_owed_nothing_after_its_end(example: tuple[Turns, pd.DataFrame]) -> None:
    _, grants = example
    past = grants[grants["start"] < 40 * MINUTE]
    owed = dict(zip("A1 A2 A3 B1 B2".split(), fair_shares(two_tenants(), 6, past, 40 * MINUTE) / MINUTE, strict=True))
    # vision: thirds of 3 GPUs for 40 minutes; speech: B1 alone, half of 3 beside B2, and then B2 alone
    assert owed == pytest.approx({"A1": 40, "A2": 40, "A3": 40, "B1": 45, "B2": 35})


def test_a_tenant_without_open_jobs_gets_a_turn_in_vain(example: tuple[Turns, pd.DataFrame]) -> None:
    found, _ = example
    second = found.picks[(found.picks["time"] == 10 * MINUTE) & (found.picks["turn"] == 2)].iloc[0]
    assert (second["tenant"], second["job_id"], second["is_granted"]) == ("speech", NONE, False)
    words = written_out(found)
    assert words.loc[("10", "2"), "outcome"] == "has leases already"
    assert words.loc[("0", "1"), "outcome"] == "A1 gets 3"
    assert written_out(found, 10 * MINUTE).index.get_level_values("turn").tolist() == ["1", "2", "3", "4"]


def test_a_gang_that_does_not_fit_closes_its_tenant() -> None:
    jobs = [("A", "t", 4, 0.0, ROUND), ("B", "u", 3, 0.0, ROUND), ("C", "u", 1, 0.0, ROUND)]
    trace = listed(*jobs, name="closed", weights={"t": 1.0, "u": 1.0})
    grants = leases(trace, Cluster(nodes=1, gpus_per_node=8))
    assert grants["job_id"].tolist() == ["A", "B", "C"]
    found = turns(trace, Cluster(nodes=1, gpus_per_node=6), grants, ROUND).picks
    first = found[found["time"] == 0]
    assert first[["job_id", "is_granted"]].to_numpy().tolist() == [["A", True], ["B", False], [NONE, False]]


def test_the_picture_marks_a_round(example: tuple[Turns, pd.DataFrame]) -> None:
    fig = rounds_picture(*example, time=20 * MINUTE)
    assert [ax.get_ylabel() for ax in fig.axes] == ["GPU", r"$\rho$ of tenants", r"$\rho$ of jobs"]
    assert all(ax.get_xlim() == (0, 70 * MINUTE) for ax in fig.axes)
    plt.close(fig)
