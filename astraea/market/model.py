"""Tenants, servers and jobs of a market of workers and parameter servers ([Wang2023] §3.1).

Time is in slots of one hour; slot t is the time (t - 1, t], so a job that starts after time a and takes d slots
occupies slots a + 1 to a + d and completes at time a + d.

[Wang2023] Wang et al., Online Scheduling of Distributed Machine Learning Jobs for Incentivizing Sharing in
Multi-Tenant Systems, IEEE Transactions on Computers 72(3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.errors import InputError

Utility = Literal["linear", "convex"]

SLOT: Final = 3600.0
"""Length of a slot [s]."""

LATEST: Final = 20_000
"""Latest arrival that is accepted [slot] (over two years): a round of as many slots must fit into memory."""

TINY: Final = 1e-12
"""Least number that counts as above 0."""

NEARLY: Final = 1e-9
"""By how much two floats may differ, relative to the larger, and still be meant to be the same number."""


@dataclass(frozen=True, eq=False)
class Jobs:
    """n training jobs with synchronous data parallelism.

    Attributes
    ----------
    job_id : tuple of str, shape (n,)
    tenant : array of int, shape (n,)
    arrival : array of int, shape (n,)
        r_j, the time from which the job may run [slot].
    epochs, chunks, batches : array of int, shape (n,)
        E_j; D_j, also the most workers it can use; M_j, mini-batches in one chunk.
    train, update : array of float, shape (n,)
        m_j and G_j, time of one mini-batch on a worker, and of one update of the parameters [slot].
    size : array of float, shape (n,)
        epsilon_j, size of the gradients, which is also that of the parameters [Mbit].
    utility : {"linear", "convex"}
        f_j(t) = slope t + height, or (height / t) ** -slope, of the time t from arrival to completion [slot].
    slope, height : array of float, shape (n,)
        k_j < 0 and g_j > 0; or -kappa_j < 0 and e_j > 0.
    """

    job_id: tuple[str, ...]
    tenant: IntArray
    arrival: IntArray
    epochs: IntArray
    chunks: IntArray
    batches: IntArray
    train: FloatArray
    update: FloatArray
    size: FloatArray
    utility: Utility
    slope: FloatArray
    height: FloatArray

    def __len__(self) -> int:
        return len(self.job_id)

    def value(self, job: int, time: FloatArray | float) -> FloatArray:
        """Revenue f_j of completion so long after arrival [slot]; `time` above 0."""
        t = np.asarray(time, np.float64)
        if self.utility == "linear":
            return np.asarray(self.slope[job] * t + self.height[job])
        return np.asarray((self.height[job] / t) ** -self.slope[job])

    @property
    def lifetime(self) -> FloatArray:
        """Time after which f_j is not above 0, shape (n,) [slot]; inf for convex utility."""
        return self.height / -self.slope if self.utility == "linear" else np.full(len(self), np.inf)


@dataclass(frozen=True, eq=False)
class Market:
    """A coalition of U tenants on S servers, and its jobs.

    Attributes
    ----------
    name : str
    jobs : Jobs
    workers, ps : array of int, shape (S,)
        C_sw and C_sp, workers (GPUs) and parameter servers that each server can host.
    worker_bandwidth, ps_bandwidth : float
        b_w and b_p [Mbit/s].
    worker_quota, ps_quota : array of int, shape (U,)
        q_w and q_p, what each tenant brought in; they add up to all workers and parameter servers.
    """

    name: str
    jobs: Jobs
    workers: IntArray
    ps: IntArray
    worker_bandwidth: float
    ps_bandwidth: float
    worker_quota: IntArray
    ps_quota: IntArray

    @property
    def speed(self) -> FloatArray:
        """Mini-batches that one worker of each job trains in a slot, shape (n, 2) (Eq. 1).

        Column 0 with distributed placement, where gradients and parameters cross the network; column 1 with centralized
        placement (zeta_j = 1).
        """
        j = self.jobs
        compute = j.train + j.update
        network = 2.0 * j.size / self.worker_bandwidth / SLOT
        return np.column_stack([1.0 / (compute + network), 1.0 / compute])

    def duration(self, job: int, workers: IntArray | int) -> IntArray:
        """Slots that a job takes on so many workers, distributed and centralized, shape (..., 2) (Alg. 4, 5).

        Constraint (3k): workers × speed × slots covers E_j D_j M_j mini-batches.
        """
        j = self.jobs
        work = float(j.epochs[job]) * float(j.chunks[job]) * float(j.batches[job])
        exact = work / (self.speed[job] * np.asarray(workers, np.float64)[..., None])
        return np.asarray(np.maximum(np.ceil(exact * (1 - NEARLY)), 1), np.int64)

    def ps_needed(self, most: int) -> IntArray:
        """Fewest parameter servers on one server that serve 0, 1, ..., `most` workers on other servers (3i)."""
        exact = np.arange(most + 1) * self.worker_bandwidth / self.ps_bandwidth
        return np.asarray(np.maximum(np.ceil(exact * (1 - NEARLY)), 1), np.int64)


def checked(market: Market) -> Market:
    """The same market; `InputError` with one sentence for the first thing that is wrong with it."""
    where, jobs = f"market {market.name!r}", market.jobs
    _check_cluster(market, where)
    n = len(jobs)
    if n == 0:
        raise InputError(f"{where}: there is no job in it")
    if len(set(jobs.job_id)) < n:
        raise InputError(f"{where}: job_id must be unique, got {n} jobs with {len(set(jobs.job_id))} names")
    if jobs.utility not in ("linear", "convex"):
        raise InputError(f"{where}: utility must be 'linear' or 'convex', got {jobs.utility!r}")
    tenants = len(market.worker_quota)
    for column, least, most, whole, expected in (
        ("tenant", 0, tenants - 1, True, f"a whole number from 0 to {tenants - 1}, one of the tenants with a quota"),
        ("arrival", 0, LATEST, True, f"a whole number of slots from 0 to {LATEST}"),
        ("epochs", 1, np.inf, True, "a whole number of at least 1"),
        ("chunks", 1, np.inf, True, "a whole number of at least 1"),
        ("batches", 1, np.inf, True, "a whole number of at least 1"),
        ("train", TINY, np.inf, False, "a time above 0"),
        ("update", 0, np.inf, False, "a time of at least 0"),
        ("size", 0, np.inf, False, "a size of at least 0"),
        ("slope", -np.inf, -TINY, False, "below 0: a job that ends later is worth less"),
        ("height", TINY, np.inf, False, "above 0"),
    ):
        values = np.asarray(getattr(jobs, column), np.float64)
        if values.shape != (n,):
            raise InputError(f"{where}: {column} must have {n} values, one a job, got shape {values.shape}")
        good = np.isfinite(values) & (values >= least) & (values <= most)
        if whole:
            good &= np.floor(values) == values
        if not good.all():
            first = int(np.argmin(good))
            raise InputError(f"{where}, job {jobs.job_id[first]!r}: {column} must be {expected}, got {values[first]:g}")
    # One worker beside a parameter server, or one that it serves from elsewhere: more workers never need less.
    reach = market.ps >= market.ps_needed(1)[1]
    elsewhere = market.workers.sum() - market.workers > 0
    if not (((market.workers > 0) & (market.ps > 0)) | (reach & elsewhere)).any():
        raise InputError(
            f"{where}, job {jobs.job_id[0]!r}: it fits nowhere; a server must host a worker and a parameter server, "
            "or parameter servers with the bandwidth of a worker on another server"
        )
    return market


def _check_cluster(market: Market, where: str) -> None:
    """Servers, bandwidths and quotas."""
    for what in ("worker_bandwidth", "ps_bandwidth"):
        value = getattr(market, what)
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{where}: {what} must be above 0 [Mbit/s], got {value!r}")
    for kind, owner in (("workers", "server"), ("ps", "server"), ("worker_quota", "tenant"), ("ps_quota", "tenant")):
        values = np.asarray(getattr(market, kind))
        shape = np.shape(market.workers if owner == "server" else market.worker_quota)
        if values.ndim != 1 or values.shape != shape or values.size == 0:
            raise InputError(f"{where}: {kind} must have one value a {owner}, got shape {values.shape}")
        bad = (values < 0) | (np.floor(values) != values)
        if bad.any():
            k = int(np.argmax(bad))
            raise InputError(f"{where}: {kind} of {owner} {k} must be a whole number of at least 0, got {values[k]:g}")
    for quota, have in (("worker_quota", "workers"), ("ps_quota", "ps")):
        mine, all_ = int(getattr(market, quota).sum()), int(getattr(market, have).sum())
        if mine != all_:
            raise InputError(f"{where}: {quota} must add up to the {all_} {have} of the servers, got {mine}")
