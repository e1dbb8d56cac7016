"""Tenants, servers and jobs of a market of workers and parameter servers, and plans for it ([Wang2023] §3.1).

Time is in slots of one hour; slot t is the time (t - 1, t]. A job that starts after time a and takes d slots occupies
slots a + 1 to a + d and completes at time a + d.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, get_args

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.checks import number, one_of
from astraea.core.errors import InputError
from astraea.core.frozen import read_only

Utility = Literal["linear", "convex"]

SLOT: Final = 3600.0
"""Length of a slot [s]."""

LATEST: Final = 20_000
"""Latest arrival that is accepted [slot] (over two years): a round of as many slots must fit into memory."""

TINY: Final = 1e-12
"""Least number that counts as above 0."""

NEARLY: Final = 1e-9
"""Largest relative difference of two floats that are taken for the same number."""


@read_only
@dataclass(frozen=True, eq=False)
class Jobs:
    """n training jobs with synchronous data parallelism; every array has shape (n,).

    The time t [slot] from arrival to completion is worth f_j(t) = slope t + height (linear utility) or
    (height / t) ** -slope (convex utility).
    """

    job_id: tuple[str, ...]
    tenant: IntArray
    arrival: IntArray  # r_j, the time from which the job may run [slot]
    epochs: IntArray  # E_j
    chunks: IntArray  # D_j, also the most workers that the job can use
    batches: IntArray  # M_j, mini-batches in one chunk
    train: FloatArray  # m_j, time of one mini-batch on a worker [slot]
    update: FloatArray  # G_j, time of one update of the parameters [slot]
    size: FloatArray  # epsilon_j, size of the gradients, which is also that of the parameters [Mbit]
    utility: Utility
    slope: FloatArray  # k_j, or -kappa_j; below 0
    height: FloatArray  # g_j, or e_j; above 0

    def __len__(self) -> int:
        return len(self.job_id)

    def value(self, job: int, time: FloatArray | float) -> FloatArray:
        """Revenue f_j of completion so long after arrival [slot]; `time` above 0."""
        t = np.asarray(time, np.float64)
        if self.utility == "linear":
            return np.asarray(self.slope[job] * t + self.height[job])
        return np.asarray((self.height[job] / t) ** -self.slope[job])

    def ideal(self, job: int, slots: int) -> FloatArray:
        """f_j of 0, 1, ..., `slots` since the beginning of a round, shape (slots + 1,); entry 0 is not used."""
        return np.append(0.0, self.value(job, np.arange(1.0, slots + 1)))

    @property
    def lifetime(self) -> FloatArray:
        """Return the time after which f_j is not above 0, shape (n,) [slot]; inf for convex utility."""
        return self.height / -self.slope if self.utility == "linear" else np.full(len(self), np.inf)


@read_only
@dataclass(frozen=True, eq=False)
class Market:
    """A coalition of U tenants on S servers, and its jobs."""

    name: str
    jobs: Jobs
    workers: IntArray  # C_sw, workers (GPUs) that each server can host, shape (S,)
    ps: IntArray  # C_sp, parameter servers that each server can host, shape (S,)
    worker_bandwidth: float  # b_w [Mbit/s]
    ps_bandwidth: float  # b_p [Mbit/s]
    worker_quota: IntArray  # q_w, workers that each tenant brought in, shape (U,); they add up to all workers
    ps_quota: IntArray  # q_p, the same of parameter servers
    tenants: tuple[str, ...] = ()  # names, length U; ``tenant 1`` and so on if not given

    def __post_init__(self) -> None:
        numbered = tuple(f"tenant {u + 1}" for u in range(len(self.worker_quota)))
        object.__setattr__(self, "tenants", self.tenants or numbered)

    @cached_property
    def speed(self) -> FloatArray:
        """Mini-batches that one worker of each job trains in a slot, shape (n, 2) (Eq. 1).

        Column 0 with distributed placement, where gradients and parameters cross the network; column 1 with centralized
        placement (zeta_j = 1).
        """
        j = self.jobs
        compute = j.train + j.update
        network = 2.0 * j.size / self.worker_bandwidth / SLOT
        return np.column_stack([1.0 / (compute + network), 1.0 / compute])

    def work(self, job: IntArray | int) -> FloatArray:
        """E_j D_j M_j, all mini-batches of a job, or of each of several."""
        j = self.jobs
        return np.asarray(1.0 * j.epochs[job] * j.chunks[job] * j.batches[job])

    def duration(self, job: IntArray | int, workers: IntArray | int) -> IntArray:
        """Slots that a job takes on so many workers, distributed and centralized, shape (..., 2) (Alg. 4, 5).

        Constraint (3k): workers × speed × slots covers E_j D_j M_j mini-batches.
        """
        exact = self.work(job)[..., None] / (self.speed[job] * np.asarray(workers, np.float64)[..., None])
        return np.asarray(np.maximum(np.ceil(exact * (1 - NEARLY)), 1), np.int64)

    def ps_needed(self, most: int) -> IntArray:
        """Fewest parameter servers on one server that serve 0, 1, ..., `most` workers on other servers (3i)."""
        exact = np.arange(most + 1) * self.worker_bandwidth / self.ps_bandwidth
        return np.asarray(np.maximum(np.ceil(exact * (1 - NEARLY)), 1), np.int64)

    @property
    def has_room(self) -> bool:
        """Return True if a worker fits beside a parameter server, on one server or on two."""
        elsewhere = self.workers.sum() > self.workers
        beside = (self.workers > 0) & (self.ps > 0)
        return bool((beside | (elsewhere & (self.ps >= self.ps_needed(1)[1]))).any())


def checked(market: Market) -> Market:
    """Return the market, or raise `InputError` with one sentence for the first thing that is wrong."""
    where, jobs = f"market {market.name!r}", market.jobs
    for name in ("worker_bandwidth", "ps_bandwidth"):
        number(getattr(market, name), f"{where}: {name}", above=0, expected="above 0 [Mbit/s]")
    if len(jobs) == 0:
        raise InputError(f"{where}: there is no job in it")
    if len(set(jobs.job_id)) < len(jobs):
        raise InputError(f"{where}: job_id must be unique, got {len(jobs)} jobs with {len(set(jobs.job_id))} names")
    one_of(jobs.utility, get_args(Utility), f"{where}: utility")
    servers, tenants = range(np.size(market.workers)), range(np.size(market.worker_quota))
    last = len(tenants) - 1
    units = (0, np.inf, True, "a whole number of at least 0")
    count = (1, np.inf, True, "a whole number of at least 1")
    for name, owner, owners, least, most, whole, expected in (
        ("workers", "server", servers, *units),
        ("ps", "server", servers, *units),
        ("worker_quota", "tenant", tenants, *units),
        ("ps_quota", "tenant", tenants, *units),
        ("tenant", "job", jobs.job_id, 0, last, True, f"a whole number from 0 to {last}"),
        ("arrival", "job", jobs.job_id, 0, LATEST, True, f"a whole number of slots from 0 to {LATEST}"),
        ("epochs", "job", jobs.job_id, *count),
        ("chunks", "job", jobs.job_id, *count),
        ("batches", "job", jobs.job_id, *count),
        ("train", "job", jobs.job_id, TINY, np.inf, False, "a time above 0"),
        ("update", "job", jobs.job_id, 0, np.inf, False, "a time of at least 0"),
        ("size", "job", jobs.job_id, 0, np.inf, False, "a size of at least 0"),
        ("slope", "job", jobs.job_id, -np.inf, -TINY, False, "below 0: a job that ends later is worth less"),
        ("height", "job", jobs.job_id, TINY, np.inf, False, "above 0"),
    ):
        values = np.asarray(getattr(jobs if owner == "job" else market, name), np.float64)
        if values.shape != (len(owners),):
            raise InputError(f"{where}: {name} must have {len(owners)} values, one a {owner}, got shape {values.shape}")
        good = np.isfinite(values) & (values >= least) & (values <= most) & ((np.floor(values) == values) | (not whole))
        if not good.all():
            k = int(np.argmin(good))
            raise InputError(f"{where}, {owner} {owners[k]!r}: {name} must be {expected}, got {values[k]:g}")
    for quota, have in (("worker_quota", "workers"), ("ps_quota", "ps")):
        brought, total = int(getattr(market, quota).sum()), int(getattr(market, have).sum())
        if brought != total:
            raise InputError(f"{where}: {quota} must add up to the {total} {have} of the servers, got {brought}")
    if not market.has_room:
        raise InputError(
            f"{where}, job {jobs.job_id[0]!r}: it fits nowhere; a server must host a worker and a parameter server, "
            "or parameter servers with the bandwidth of a worker on another server"
        )
    return market


@read_only
@dataclass(frozen=True, eq=False)
class Schedule:
    """One job's workers and parameter servers, from its start to its completion without a break.

    It uses slots start + 1 to end, on k servers.
    """

    job: int
    start: int  # t- [slot]
    end: int  # t+, the completion time [slot]
    server: IntArray  # servers that it uses, shape (k,)
    workers: IntArray  # y on each of them, shape (k,)
    ps: IntArray  # z on each of them, shape (k,)
    cost: float = 0.0  # c_jw + c_jp, what is paid for all slots together; 0 within the tenant's share
    is_shared: bool = False  # whether it runs on unused resources of all tenants (J_2) and pays for them
    # f_j of the time since the beginning of its round (Definition 1); NaN where there are no rounds
    ideal: float = float("nan")


@read_only
@dataclass(frozen=True, eq=False)
class MarketPlan:
    """Schedules of the jobs that run, in the order in which they were admitted, and who earns from whom.

    A job has at most one schedule, and one without a schedule never runs. ``income[u, v]`` is what tenant u earns from
    jobs of tenant v (Eq. 2, all slots), shape (U, U); a tenant may pay itself.
    """

    market: Market
    schedules: tuple[Schedule, ...]
    income: FloatArray

    @cached_property
    def revenues(self) -> FloatArray:
        """f_j of the time from arrival to completion, shape (n,): below 0 for a late job, 0 for one that never runs."""
        jobs = self.market.jobs
        out = np.zeros(len(jobs))
        for s in self.schedules:
            out[s.job] = jobs.value(s.job, float(s.end - jobs.arrival[s.job]))
        return out
