"""Markets sampled from a trace as [Wang2023] §5.1 samples them.

From the trace come the tenants, their shares, and who submits when; everything else of a job is drawn uniformly from
the printed ranges, each property from a random stream of its own.

§5.1 takes the demand for workers from the GPUs that the trace's jobs requested, and draws D_j from 20 to 50. The model
has one number for both, the chunks that are also the most workers of a job (constraint 3e). So ``chunks`` is what the
jobs requested, or drawn. With drawn chunks a job takes 1,580 worker hours in the median, and 200 jobs are three weeks
of work for 800 workers. With the theta of §4.4 the last jobs then end after millions of years. With requested chunks it
is 90 to 200 worker hours on average, and revenues are of the size that the paper reports. But one parameter server for
each server then leaves most workers idle, and in Fig 13 all are in use.
"""

from __future__ import annotations

from typing import Any, Final, Literal, get_args

import numpy as np

from astraea.core.arrays import FloatArray, IntArray, apportion
from astraea.core.checks import one_of, whole_number
from astraea.core.errors import InputError
from astraea.core.random import streams
from astraea.traces.trace import Trace
from papers.market.model import SLOT, TINY, Jobs, Market, Utility, checked

GPUS_PER_NODE: Final = 8
"""Workers of a server: GPUs of a machine of the Philly trace as [Ye2022] has it."""

MIX: Final = (0.42, 2)
"""Part of the servers with `GPUS_PER_NODE` workers, and workers of the others.

The machines of the Philly trace have 8 or 2 GPUs; about 550 with 2,490 GPUs are 232 with 8 and 318 with 2.
"""

WHOLE: Final[dict[str, tuple[int, int]]] = {"epochs": (50, 100), "chunks": (20, 50), "batches": (10, 50)}
"""E_j, D_j and M_j, both ends included."""

REAL: Final[dict[str, tuple[float, float]]] = {
    "train": (0.001, 0.05),
    "update": (0.010 / SLOT, 0.100 / SLOT),
    "size": (30 * 8.0, 575 * 8.0),
    "slope": (-2.0, -0.1),
    "height": (100.0, 1000.0),
    "power": (-2.0, -1.0),
    "worker_bandwidth": (100.0, 5 * 1024.0),
    "ps_bandwidth": (5_000.0, 20_000.0),
}
"""m_j and G_j [slot], epsilon_j [Mbit], k_j, g_j and e_j, -kappa_j, b_w and b_p [Mbit/s].

g_j and e_j have the same range and are the same draws.
"""

Chunks = Literal["drawn", "requested"]

_STREAMS: Final = ("stretch", *WHOLE, *REAL)


def sample_market(
    trace: Trace,
    *,
    jobs: int,
    servers: int = 100,
    tenants: int = 14,
    utility: Utility = "linear",
    seed: int,
    chunks: Chunks = "requested",
    mixed: bool = False,
) -> Market:
    """Draw a market of a contiguous stretch of the trace ("a small continuous timespan").

    The tenants are those with the largest weights, which stand for the machines of their virtual clusters. As a virtual
    cluster consists of machines, each brings in whole servers, in the order of the servers: at least one, and of the
    others in proportion to the weights, rounded by largest remainder. Jobs of other tenants are passed over. A job that
    is submitted in the first hour of the stretch arrives at 0.

    Parameters
    ----------
    jobs, servers, tenants : int
        Numbers; each server has `GPUS_PER_NODE` workers and one parameter server. At least as many servers as tenants.
    chunks : {"drawn", "requested"}
        D_j is drawn from its printed range, or is the number of GPUs of the trace's job.
    mixed : bool
        If True, servers have the workers of `MIX` instead, the larger spread evenly among them.
    seed : int
        At least 0. Job i of two markets of one seed has the same properties, whatever the other parameters are.

    Raises
    ------
    InputError
        A number is out of range, the trace has fewer tenants or jobs, or there are fewer servers than tenants.
    """
    for name, value in {"jobs": jobs, "servers": servers, "tenants": tenants}.items():
        whole_number(value, f"the number of {name}", 1)
    one_of(utility, get_args(Utility), "utility")
    one_of(chunks, get_args(Chunks), "chunks")
    draws = streams(seed, _STREAMS)
    if tenants > len(trace.tenants):
        raise InputError(f"{trace.name}: it has {len(trace.tenants)} tenants, so {tenants} cannot be taken")
    if servers < tenants:
        raise InputError(f"each of {tenants} tenants brings in a server, so {servers} servers are too few")
    chosen = np.sort(np.argsort(-trace.tenant_weight, kind="stable")[:tenants])
    rows = np.flatnonzero(np.isin(trace.tenant, chosen))
    if jobs > len(rows):
        found = f"its {tenants} largest tenants have {len(rows)} jobs"
        raise InputError(f"{trace.name}: {found}, so {jobs} cannot be taken")
    first = int(draws["stretch"].random() * (len(rows) - jobs + 1))
    rows = rows[first : first + jobs]
    hours = np.floor((trace.submit_time[rows] - trace.submit_time[rows[0]]) / SLOT)
    slope = "slope" if utility == "linear" else "power"
    columns: dict[str, Any] = {
        name: draws[name].integers(low, high, jobs, endpoint=True) for name, (low, high) in WHOLE.items()
    }
    columns |= {name: draws[name].uniform(*REAL[name], jobs) for name in ("train", "update", "size", "height")}
    columns["slope"] = draws[slope].uniform(*REAL[slope], jobs)
    if chunks == "requested":
        columns["chunks"] = trace.demand[rows].astype(np.int64)
    drawn = Jobs(
        job_id=tuple(trace.job_id[rows]),
        tenant=np.searchsorted(chosen, trace.tenant[rows]).astype(np.int64),
        arrival=hours.astype(np.int64),
        utility=utility,
        **columns,
    )
    part, few = MIX
    larger = np.diff(np.floor(part * np.arange(servers + 1) + 1 - part)) > 0
    workers = np.where(larger | (not mixed), GPUS_PER_NODE, few).astype(np.int64)
    owned = _whole_servers(trace.tenant_weight[chosen], servers)
    return checked(
        Market(
            name=f"{trace.name}-{tenants}-tenants-{utility}",
            jobs=drawn,
            workers=workers,
            ps=np.ones(servers, np.int64),
            worker_bandwidth=float(draws["worker_bandwidth"].uniform(*REAL["worker_bandwidth"])),
            ps_bandwidth=float(draws["ps_bandwidth"].uniform(*REAL["ps_bandwidth"])),
            worker_quota=np.add.reduceat(workers, np.cumsum(owned) - owned),
            ps_quota=owned,
            tenants=tuple(trace.tenants[u] for u in chosen),
        )
    )


def _whole_servers(weight: FloatArray, servers: int) -> IntArray:
    """Servers of each tenant, at least one: those whose part is less get one, the others divide the rest."""
    least = np.zeros(len(weight), bool)
    while True:
        left = servers - int(least.sum())
        part = np.where(least, 0.0, weight) * left / max(weight[~least].sum(), TINY)
        if not (low := (part < 1) & ~least).any():
            return apportion(np.where(least, 1.0, part), servers)
        least |= low
