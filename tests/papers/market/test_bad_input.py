"""What cannot be a market is said in one sentence."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from market_small import with_jobs

from astraea.core.errors import InputError
from papers.market.model import Market, checked
from papers.market.policies.astraea.batches import astraea_market
from papers.market.study.example import small_market, worked_example

M = worked_example()


def but(**changes: Any) -> Market:
    return dataclasses.replace(M, **changes)


def jobs(**changes: Any) -> Market:
    return with_jobs(M, **changes)


@pytest.mark.parametrize(
    "bad, said",
    [
        (but(worker_quota=np.array([4, 3])), "worker_quota must add up to the 8 workers of the servers, got 7"),
        (but(ps_quota=np.array([4])), "ps_quota must have 2 values, one a tenant, got shape (1,)"),
        (but(workers=np.array([9, -1, 0, 0])), "server 1: workers must be a whole number of at least 0, got -1"),
        (but(ps_bandwidth=0.0), "ps_bandwidth must be above 0 [Mbit/s], got 0.0"),
        (
            but(ps=np.zeros(4, np.int64), ps_quota=np.zeros(2, np.int64)),
            "job 'j11': it fits nowhere; a server must host a worker and a parameter server, "
            "or parameter servers with the bandwidth of a worker on another server",
        ),
        (jobs(slope=np.array([-1, -1, 2.0, -1])), "slope must be below 0: a job that ends later is worth less, got 2"),
        (jobs(tenant=np.array([0, 2, 0, 0])), "job 'j12': tenant must be a whole number from 0 to 1, got 2"),
        (jobs(chunks=np.array([0, 2, 1, 1])), "job 'j11': chunks must be a whole number of at least 1, got 0"),
        (jobs(train=np.array([1, 1, np.nan, 1])), "job 'j21': train must be a time above 0, got nan"),
        (jobs(job_id=("a", "a", "b", "c")), "job_id must be unique, got 4 jobs with 3 names"),
        (jobs(utility="concave"), "utility must be one of linear, convex, got 'concave'"),
        (jobs(job_id=()), "there is no job in it"),
    ],
)
def test_no_market(bad: Market, said: str) -> None:
    with pytest.raises(InputError) as err:
        checked(bad)
    assert str(err.value).startswith("market 'worked example'")
    assert str(err.value).endswith(said)


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"theta": (2.0,)}, "theta must be two numbers, theta_w and theta_p, got (2.0,)"),
        ({"theta": (1.0, 16.0)}, "theta_w: must be above 1, so that what is in use has a price, got 1.0"),
        ({"theta": (16.0, np.nan)}, "theta_p: must be above 1, so that what is in use has a price, got nan"),
        ({"rounds": 0}, "rounds: lambda must be a whole number of at least 1, got 0"),
    ],
)
def test_no_setting(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as err:
        astraea_market(M, **{"theta": (16.0, 16.0)} | settings)
    assert str(err.value) == said


def test_a_queue_that_few_rounds_never_end() -> None:
    """One worker, one job a round that is worth anything, and one round an interval."""
    n = 60
    queue = small_market("small", [1], [1], [(1, 1)], chunks=[1] * n, epochs=9, height=19.0)
    with pytest.raises(InputError, match=r"'small': 1125899906842624 slots are too short for 1 rounds.*; \d+ jobs"):
        astraea_market(queue, theta=(16.0, 16.0), rounds=1)
    assert len(astraea_market(queue, theta=(16.0, 16.0), rounds=n).schedules) == n
