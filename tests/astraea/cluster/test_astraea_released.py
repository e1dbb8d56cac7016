"""ASTRAEA as released: against a naive twin on random workloads, and the flaw of its list walk as a drawing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from released_twin import Job, Simulator
from schedules import drawn, jobs, simulated

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.result import Result
from astraea.traces.trace import Trace
from verification.astraea_runs import released_rho

ORDERS = ("fairness", "2das", "themis", "fifo")


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


def ours(frame: pd.DataFrame, weights: dict[str, float], gpus: int, order: str, flawed: bool, **more: float) -> Result:
    """What the package makes of it."""
    policy = get_policy("astraea-released")(job_order=order, **more)
    settings = Settings(checkpoint_overhead=0, restart_overhead=0, list_removal_flaw=flawed)
    trace = Trace.from_frame(frame, weights=weights)
    return simulate(trace, Cluster(gpus // 4, 4), policy, settings=settings, keep_log=True)


@pytest.mark.parametrize("flawed", [False, True], ids=["mended", "flawed"])
@pytest.mark.parametrize("seed", range(12))
def test_it_does_what_the_twin_does(seed: int, flawed: bool) -> None:
    """Over all seeds, mended and flawed, every order of jobs meets every cluster, every weight and every lease."""
    order = ORDERS[(seed + flawed) % 4]
    frame, gpus = workload(seed), int([12, 16, 24][seed % 3])
    weights = [{"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 2.0, "b": 1.0, "c": 1.5}][seed % 2]
    lease, threshold = [(900.0, 300.0), (300.0, 200.0), (600.0, 0.0)][seed // 3 % 3]
    quotas = [int(gpus * w / sum(weights.values()) + 1e-9) for w in weights.values()]
    rows = [Job(str(r.job_id), "abc".index(r.tenant), r.demand, r.submit_time, r.duration) for r in frame.itertuples()]
    twins = [job for job in rows if job.demand <= quotas[job.tenant]]
    Simulator(twins, quotas, gpus, order, flawed, lease, threshold).run()
    result = ours(frame, weights, gpus, order, flawed, lease_term=lease, delay_threshold=threshold)
    found = result.jobs.set_index("job_id")
    assert list(found["end_time"].loc[[j.name for j in twins]]) == [j.end for j in twins]
    assert list(found["leases"].loc[[j.name for j in twins]] - 1) == [j.lease_ends + j.preemptions for j in twins]
    rho = pd.Series(released_rho(Trace.from_frame(frame, weights=weights), result, 10.0), index=found.index)
    np.testing.assert_allclose(rho.loc[[j.name for j in twins]], [j.fairness for j in twins], rtol=1e-9)


def test_the_job_behind_one_that_ends_is_a_round_late() -> None:
    """a0, a1 and a2 are launched in this order and end together: a1 is not looked at when a0 is removed."""
    rows = jobs("a0 1 0 30", "a1 1 0 30", "a2 1 0 30", "a3 1 10 20", "a4 1 10 20", "a5 1 10 20")
    mended = simulated(rows, 3, "astraea-released")
    flawed = simulated(rows, 3, "astraea-released", flawed=True)
    assert drawn(mended, 10) == ["a0 S==", "a1 S==", "a2 S==", "a3  ..S=", "a4  ..S=", "a5  ..S="]
    starts = dict(zip(flawed.jobs["job_id"], flawed.jobs["first_start_time"], strict=True))
    assert starts == {"a0": 0, "a1": 0, "a2": 0, "a3": 30, "a4": 30, "a5": 40}
    assert flawed.grants is not None
    held = flawed.grants.set_index("job_id")
    assert (held["end"]["a1"], flawed.jobs.set_index("job_id")["end_time"]["a1"]) == (40, 30)  # GPUs a round longer


def test_the_lease_of_the_job_behind_goes_on_for_a_round() -> None:
    """At 30 s a0 and a2 leave the list and are launched again behind a1, so that at 70 s a1 stands behind a2."""
    rows = jobs("a0 1 0 90", "a1 1 0 90", "a2 1 0 90")
    assert drawn(simulated(rows, 3, "astraea-released", lease_term=30, flawed=True), 10) == [
        "a0 S==r==r==",
        "a1 S===r===r",  # not looked at when the lease of a0 ends, nor when that of a2 does
        "a2 S==r===r==",  # behind a0 at 60 s, and when a0 completes at 90 s
    ]
