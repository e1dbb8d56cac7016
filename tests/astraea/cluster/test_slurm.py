"""The policy `slurm`: its documentation by hand, schedules small enough to draw, and a naive twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from schedules import jobs, simulated, small_state, trace_of
from slurm_naive import Job, Slurm

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.policies.slurm_priority import FACTOR, MEMORY, USAGE, rank
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError


def starts(rows: list[dict[str, Any]], time_limit: float, gpus: int = 4, **parameters: float | str) -> dict[str, float]:
    """First start of every job, in rounds of 1 s."""
    made = simulated(pd.DataFrame(rows).assign(time_limit=time_limit), gpus, "slurm", interval=1, **parameters)
    return dict(zip(made.jobs["job_id"], made.jobs["first_start_time"], strict=True))


def ranked(usage: list[float], shares: list[float]) -> list[float]:
    """Fair-share factors of accounts."""
    trace = trace_of(jobs(*(f"{t} 1 0 1" for t in "abcd"[: len(shares)])), dict(zip("abcd", shares, strict=False)))
    view, _ = small_state(trace, Cluster(1), memory=MEMORY)
    view.association_memory[USAGE] = [*usage, 0]
    rank(view)
    return [float(f) for f in view.association_memory[FACTOR, :-1]]


def test_accounts_are_ranked_by_shares_over_usage() -> None:
    """Level fair share is shares over usage; of equal ones the next rank is lost, and root shares that of no usage.

    With five users, root among them, the ranks are 4, 3, 2 and 1 of 5.
    """
    assert ranked([149, 57, 1238], [1, 1, 2]) == [0.5, 0.75, 0.25]  # as `sshare` of a Slurm 22.05 shows them
    assert ranked([30, 30, 10, 20], [3, 3, 3, 1]) == [0.6, 0.6, 0.8, 0.2]
    assert ranked([0, 10, 0], [1, 5, 2]) == [1, 0.25, 1]


@pytest.mark.parametrize(
    "weights, order",
    [
        ({"weight_jobsize": 0}, ["a1", "a2"]),  # the first submitted
        ({"weight_jobsize": 1000}, ["a2", "a1"]),  # the larger one
        ({"weight_jobsize": 1000, "favor_small": "yes"}, ["a1", "a2"]),
        ({"weight_jobsize": 1000, "weight_age": 100_000, "max_age": 100}, ["a1", "a2"]),  # the older one
    ],
)
def test_age_and_size_are_in_the_priority(weights: dict[str, Any], order: list[str]) -> None:
    begin = starts(jobs("a0 4 0 130", "a1 3 10 10", "a2 4 90 10"), 180, **weights)
    assert sorted(["a1", "a2"], key=lambda name: begin[name]) == order


def test_accounts_keep_to_their_limit_and_let_others_pass() -> None:
    """Half of 8 GPUs each: a has 4 and waits with a1 although 4 are free, and b2 behind it does not."""
    rows = jobs("a0 4 0 100", "a1 2 5 50", "b2 4 10 50")
    assert starts(rows, 120, gpus=8, limit=1) == {"a0": 0, "a1": 100, "b2": 10}
    assert starts(rows, 120, gpus=8) == {"a0": 0, "a1": 5, "b2": 55}


def test_jobs_beyond_their_quota_run_but_those_beyond_the_limit_are_set_aside() -> None:
    trace = trace_of(jobs("a0 6 0 10", "b1 1 0 10"))
    assert simulate(trace, Cluster(1, 8), "slurm").excluded_jobs.empty
    assert simulate(trace, Cluster(1, 8), "fifo").excluded_jobs["job_id"].tolist() == ["a0"]
    held = simulate(trace, Cluster(1, 8), get_policy("slurm")(limit=1))
    assert held.excluded_jobs["reason"].tolist() == ["demand exceeds the quota of its tenant (4 GPUs)"]


def test_it_runs_in_rounds_of_its_own() -> None:
    trace = trace_of(jobs("a0 4 3 10", "a1 1 20 5"))
    made = simulate(trace, Cluster(1, 4), "slurm", settings=Settings(interval=10))
    assert made.jobs["first_start_time"].tolist() == [5, 20]
    assert made.provenance["interval"] == 2.5
    slower = simulate(trace, Cluster(1, 4), get_policy("slurm")(interval=7))
    assert slower.jobs["first_start_time"].tolist() == [7, 21]
    with pytest.raises(InputError, match="interval"):
        get_policy("slurm")(interval=0)


@pytest.mark.parametrize("backfill", ["conservative", "easy", "none"])
@pytest.mark.parametrize("seed", range(5))
def test_a_naive_twin_starts_every_job_at_the_same_second_on_the_same_nodes(backfill: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, nodes, gpus = 60, int(rng.integers(2, 7)), int(rng.choice([4, 8]))
    shares = {"a": 1.0, "b": 2.0, "c": 4.0}
    duration = np.round(rng.lognormal(4, 1.2, n)) + 1
    limit = 60 * np.ceil(duration * rng.choice([1, 1.5, 4], n) / 60)
    demand = np.minimum(rng.choice([1, 1, 1, 2, 3, gpus, gpus, 2 * gpus], n), nodes * gpus)
    table = pd.DataFrame(
        {
            "job_id": range(n), "tenant": rng.choice(list(shares), n), "demand": demand,
            "submit_time": np.sort(rng.integers(0, 600, n)).astype(float), "duration": duration, "time_limit": limit,
        }
    )  # fmt: skip
    parameters: dict[str, Any] = {
        "half_life": float(rng.choice([100, 1000])), "backfill": backfill, "bf_max_job_test": int(rng.choice([3, 500])),
        "bf_window": float(rng.choice([900, 86400])), "interval": 2, "weight_age": 0,
    }  # fmt: skip
    made = simulated(table, Cluster(nodes, gpus), "slurm", weights=shares, **parameters)
    twins = [Job(k, *row) for k, row in enumerate(table.drop(columns="job_id").itertuples(index=False, name=None))]
    Slurm(
        twins, shares, nodes, gpus, parameters["half_life"], parameters["bf_window"], parameters["bf_max_job_test"],
        backfill,
    ).run()  # fmt: skip
    assert made.jobs["first_start_time"].tolist() == [j.start for j in twins]
    assert made.grants is not None and made.placements is not None
    where = made.placements.groupby("grant")["node"].agg(set)
    chosen = dict(zip(made.grants["job_id"], where, strict=True))
    assert [chosen[str(k)] for k in range(n)] == [set(j.nodes) for j in twins]
