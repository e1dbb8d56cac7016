"""Fairness and slowdown counted in whole rounds, as in the simulator that ASTRAEA's authors released."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas, whole
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulation import simulated
from astraea.cluster.tables import ratio
from astraea.core.arrays import FloatArray
from astraea.core.result import Result
from astraea.traces.trace import Trace


def simulate_in_whole_rounds(
    trace: Trace, cluster: Cluster, policy: Policy, seed: int = 0, settings: Settings | None = None
) -> Result:
    """Simulate, then count fairness and slowdown of jobs in whole rounds; arguments as in `simulate`."""
    result = simulated(trace, cluster, policy, seed, settings)
    run = trace._take(np.flatnonzero(pd.Index(trace.job_id).isin(result.jobs["job_id"])))  # without excluded ones
    ends, every = result.jobs["end_time"].to_numpy(), result.provenance["interval"]
    return replace(result, jobs=in_whole_rounds(run, result.jobs, ends, cluster.gpus, every))


def in_whole_rounds(trace: Trace, jobs: pd.DataFrame, left: FloatArray, gpus: int, interval: float) -> pd.DataFrame:
    """Return `jobs` with fairness and slowdown as the simulator of ASTRAEA's authors computes them.

    Deserved GPU-time is the sum of min(demand, floor(quota) / active jobs of the tenant) over the rounds from the one
    that first sees a job to the one that finds it ended. Attained GPU-time is demand x duration, plus the rest of the
    last round after its end. Waits of less than a round do not count. Slowdown is JCT over duration, lost work
    included.

    `trace` has the same n jobs. `left`, shape (n,), is when each gave its GPUs back, at a round or before it [s].
    `gpus` is the size of the cluster [GPU], `interval` the time between rounds [s].
    """
    first, last = (np.ceil(time / interval).astype(int) for time in (trace.submit_time, left))
    quota = whole(quotas(trace, gpus))
    deserved = np.zeros(len(jobs))
    for t in range(len(trace.tenants)):
        of = np.flatnonzero(trace.tenant == t)
        active = np.zeros(int(last[of].max(initial=0)) + 1)
        np.add.at(active, first[of], 1)
        np.add.at(active, last[of], -1)
        share = quota[t] / np.maximum(np.cumsum(active), 1)
        for demand in np.unique(trace.demand[of]):
            k = of[trace.demand[of] == demand]
            total = np.zeros(int(last[k].max()) + 1)  # in place, because long arrays are slow to allocate
            np.minimum(float(demand), share[: len(total) - 1], out=total[1:])
            total *= interval
            np.cumsum(total, out=total)
            deserved[k] = total[last[k]] - total[first[k]]
    executed = trace.duration + last * interval - jobs["end_time"].to_numpy()
    rho = ratio(trace.demand * executed, deserved)
    return jobs.assign(rho_job=rho, slowdown=jobs["jct"] / trace.duration)
