"""ASTRAEA as released: against a naive twin on random workloads, and the flaw of its list walk as a drawing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from released_twin import Job, Simulator
from schedules import FREE, check, jobs, simulated, trace_of

from astraea.cluster.cluster import Cluster
from papers.ye2022.readings import FLAWED
from verification.astraea_runs import released_rho


def workload(seed: int) -> pd.DataFrame:
    """Jobs of three tenants that ask for more than there is for hours; many are submitted, and end, together."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 60))
    grid = rng.choice([1.0, 10.0, 60.0])
    return pd.DataFrame(
        {
            "job_id": np.arange(n),
            "tenant": rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
            "demand": rng.choice([1, 1, 1, 2, 2, 3, 4], n),
            "submit_time": np.sort(np.round(rng.uniform(0, rng.choice([500, 20_000]), n) / grid) * grid),
            "duration": np.maximum(1.0, np.round(rng.lognormal(7 + seed % 2, 1.3, n) / grid) * grid),
        }
    )


@pytest.mark.parametrize("flawed", [False, True], ids=["mended", "flawed"])
@pytest.mark.parametrize("seed", range(12))
def test_it_does_what_the_twin_does(seed: int, flawed: bool) -> None:
    """Over all seeds, mended and flawed, every order of jobs meets every cluster, every weight and every lease."""
    order = ("fairness", "2das", "themis", "fifo")[(seed + flawed) % 4]
    frame, gpus = workload(seed), int([12, 16, 24][seed % 3])
    weights = [{"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 2.0, "b": 1.0, "c": 1.5}][seed % 2]
    lease, threshold = [(900.0, 300.0), (300.0, 200.0), (600.0, 0.0)][seed // 3 % 3]
    quotas = {t: int(gpus * w / sum(weights.values()) + 1e-9) for t, w in weights.items()}
    frame = frame[frame["demand"] <= frame["tenant"].map(quotas)]
    twins = [Job(str(r.job_id), "abc".index(r.tenant), r.demand, r.submit_time, r.duration) for r in frame.itertuples()]
    Simulator(twins, list(quotas.values()), gpus, order, flawed, lease, threshold).run()
    result = simulated(
        frame, Cluster(gpus // 4, 4), "astraea-released", weights=weights, settings=FLAWED if flawed else FREE,
        job_order=order, lease_term=lease, delay_threshold=threshold,
    )  # fmt: skip
    found = result.jobs.set_index("job_id").loc[[j.name for j in twins]]
    assert found["end_time"].tolist() == [j.end for j in twins]
    assert (found["leases"] - 1).tolist() == [j.lease_ends + j.preemptions for j in twins]
    rho = pd.Series(released_rho(trace_of(frame, weights), result, 10.0), index=result.jobs["job_id"])
    np.testing.assert_allclose(rho.loc[found.index], [j.fairness for j in twins], rtol=1e-9)


def test_the_job_behind_one_that_ends_is_a_round_late() -> None:
    """a0, a1 and a2 are launched in this order and end together: a1 is not looked at when a0 is removed."""
    rows = jobs("a0 1 0 30", "a1 1 0 30", "a2 1 0 30", "a3 1 10 20", "a4 1 10 20", "a5 1 10 20")
    mended, flawed = (simulated(rows, 3, "astraea-released", settings=s) for s in (FREE, FLAWED))
    assert mended.jobs["first_start_time"].tolist() == [0, 0, 0, 30, 30, 30]
    assert flawed.jobs["first_start_time"].tolist() == [0, 0, 0, 30, 30, 40]
    held = flawed.log.set_index("job_id")
    assert (held["end"]["a1"], flawed.jobs.set_index("job_id")["end_time"]["a1"]) == (40, 30)  # GPUs a round longer


def test_the_lease_of_the_job_behind_goes_on_for_a_round() -> None:
    """At 30 s a0 and a2 leave the list and are launched again behind a1, so that at 70 s a1 is behind a2."""
    check(
        "astraea-released", 3, {"lease_term": 30, "settings": FLAWED},
        "a0 1 0 90 |S==r==r==",
        "a1 1 0 90 |S===r===r",  # not looked at when the lease of a0 ends, nor when that of a2 does
        "a2 1 0 90 |S==r===r==",  # behind a0 at 60 s, and when a0 completes at 90 s
    )  # fmt: skip
