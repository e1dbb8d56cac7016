"""Offline optimum of problem (3) for small instances, by HiGHS ([Wang2023] §5.2, Figs 5 and 6).

A program over (start, workers, kind of placement) of every job is solved first; it knows how many workers and parameter
servers all servers have together, which no schedule can exceed, so its value bounds the optimum. A second one looks for
servers for what was chosen. If there are some, the bound is the optimum; if not, that choice is excluded and the first
program is solved again.
"""

from __future__ import annotations

import time
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.errors import InputError, PolicyError
from astraea.market.model import NEARLY, Market, checked
from astraea.market.schedule import Plan, Schedule

CLOSE: Final = 1e-6
"""Part of the bound by which a plan may be below it and still be called optimal."""

EXCLUDED: Final = 20
"""Choices without servers after which only the bound is given."""

TIME_LIMIT: Final = 1
"""scipy's status for a program that ran out of time."""

INFEASIBLE: Final = 2


class Optimum(NamedTuple):
    """What is known of the optimum.

    Attributes
    ----------
    bound : float
        No plan that ends by the horizon earns more.
    plan : Plan or None
        Earns the bound, so it is optimal; None if none was found that does.
    """

    bound: float
    plan: Plan | None


class Choice(NamedTuple):
    """Slots start + 1 to end on so many workers, on one server if `is_central`.

    `ps` is the least that a server needs for them, `value` the utility [1].
    """

    job: int
    start: int
    end: int
    workers: int
    is_central: bool
    ps: int
    value: float


def optimum(market: Market, *, horizon: int, time_limit: float = 60.0) -> Optimum:
    """Find the plan with the largest total revenue, with all arrivals known.

    Parameters
    ----------
    market : Market
    horizon : int
        T, the last slot that may be used [slot].
    time_limit : float
        Of all programs together [s]. When it is over, the bound stands but no plan is given.

    Raises
    ------
    InputError
        The horizon or the time limit is not above 0.
    PolicyError
        There was not enough time for any bound, or HiGHS failed.
    """
    if horizon < 1:
        raise InputError(f"the horizon must be at least 1 slot, got {horizon}")
    if not time_limit > 0:
        raise InputError(f"the time limit must be above 0 s, got {time_limit}")
    until = time.perf_counter() + time_limit
    choices = [c for job in range(len(checked(market).jobs)) for c in choices_of(market, job, horizon)]
    if not choices:
        return Optimum(0.0, _plan(market, []))
    program = _Capacity(market, choices, horizon)
    excluded: list[list[int]] = []
    bound = sum(max(c.value for c in choices if c.job == job) for job in {c.job for c in choices})
    while len(excluded) <= EXCLUDED:
        bound, chosen = program.solve(excluded, bound, until)
        if chosen is None:
            return Optimum(bound, None)
        is_known, schedules = _servers(market, [choices[i] for i in chosen], until)
        if schedules is not None:
            return Optimum(bound, _plan(market, schedules))
        if not is_known:
            return Optimum(bound, None)
        excluded.append(chosen)
    return Optimum(bound, None)


def _plan(market: Market, schedules: list[Schedule]) -> Plan:
    users = len(market.worker_quota)
    return Plan(market, tuple(schedules), np.zeros((users, users)), "optimum")


def choices_of(market: Market, job: int, horizon: int) -> list[Choice]:
    """Every start with every useful number of workers, as far as it is worth something at completion.

    (3k) needs no other numbers of workers than the least for each duration: a gang that gives up a worker on another
    server still satisfies (3i).
    """
    most = int(min(market.jobs.chunks[job], market.workers.sum()))
    size = np.arange(1, most + 1)
    duration = market.duration(job, size)
    arrival = int(market.jobs.arrival[job])
    out: list[Choice] = []
    distributed = set()
    for is_central in (False, True):
        slots = duration[:, int(is_central)]
        for w in size[np.concatenate([[True], slots[1:] < slots[:-1]])].tolist():
            d, ps = int(slots[w - 1]), _least_ps(market, w, is_central)
            if ps is None or (is_central and (d, w) in distributed):  # as fast wherever it is
                continue
            if not is_central:
                distributed.add((d, w))
            start = np.arange(arrival, horizon - d + 1)
            worth = market.jobs.value(job, (start + d - arrival).astype(np.float64))
            out += [
                Choice(job, int(a), int(a) + d, w, is_central, ps, float(v))
                for a, v in zip(start[worth > 0], worth[worth > 0], strict=True)
            ]
    return out


def _least_ps(market: Market, size: int, is_central: bool) -> int | None:
    """Fewest parameter servers that any one server could feed the gang with (3i); None if none can."""
    far = np.maximum(size - market.workers, 0)
    if is_central:
        return 1 if bool(((far == 0) & (market.ps > 0)).any()) else None
    ps = market.ps_needed(size)[far]
    fits = ps <= market.ps
    return int(ps[fits].min()) if fits.any() else None


class _Capacity:
    """Choices under what all servers have together, each resource's use carried from slot to slot."""

    def __init__(self, market: Market, choices: list[Choice], horizon: int) -> None:
        n = len(choices)
        column = np.arange(n)
        start, end = np.array([c.start for c in choices]), np.array([c.end for c in choices])
        step = sparse.eye(horizon) - sparse.eye(horizon, k=-1)
        blocks: list[list[Any]] = []
        for k, need in enumerate(([c.workers for c in choices], [c.ps for c in choices])):
            amount = np.array(need, np.float64)
            last = end < horizon
            rows = np.concatenate([start, end[last]])
            values = np.concatenate([-amount, amount[last]])
            use = sparse.coo_array((values, (rows, np.concatenate([column, column[last]]))), shape=(horizon, n))
            blocks.append([use, step if k == 0 else None, step if k == 1 else None])
        jobs = np.array([c.job for c in choices])
        once = sparse.coo_array((np.ones(n), (jobs, column)), shape=(len(market.jobs), n))
        blank = sparse.coo_array((len(market.jobs), 2 * horizon))
        zero = np.zeros(horizon)
        self._n = n
        self._rows = [
            LinearConstraint(sparse.csr_array(sparse.block_array(blocks)), np.tile(zero, 2), np.tile(zero, 2)),
            LinearConstraint(sparse.csr_array(sparse.hstack([once, blank])), -np.inf, np.ones(len(market.jobs))),
        ]
        capacity = np.repeat([float(market.workers.sum()), float(market.ps.sum())], horizon)
        self._bounds = Bounds(np.zeros(n + 2 * horizon), np.concatenate([np.ones(n), capacity]))
        self._cost = np.concatenate([[-c.value for c in choices], np.zeros(2 * horizon)])
        self._integrality = np.concatenate([np.ones(n), np.zeros(2 * horizon)])

    def solve(self, excluded: list[list[int]], bound: float, until: float) -> tuple[float, list[int] | None]:
        """Return the bound, `bound` where it is not improved, and the choices that earn it, None if time ran out."""
        rows = list(self._rows)
        for chosen in excluded:
            row = np.zeros((1, len(self._cost)))
            row[0, chosen] = 1.0
            rows.append(LinearConstraint(row, -np.inf, len(chosen) - 1.0))
        found = _solve(self._cost, rows, self._bounds, self._integrality, until)
        dual = getattr(found, "mip_dual_bound", None)
        if dual is not None and np.isfinite(dual):
            bound = min(bound, -float(dual))
        if not np.isfinite(bound):
            raise PolicyError("optimum: the time limit was over before there was any bound of the revenue")
        if found.status == TIME_LIMIT or found.x is None:
            return bound, None
        return bound, [int(i) for i in np.flatnonzero(found.x[: self._n] > 0.5)]


def _servers(market: Market, choices: list[Choice], until: float) -> tuple[bool, list[Schedule] | None]:
    """Servers for the choices, the same from start to end, None if there are none; and whether time was enough to tell.

    Variables are, for each choice and server, its workers there, its parameter servers there, and whether they are.
    """
    n, s = len(choices), len(market.workers)
    size = np.array([c.workers for c in choices], np.float64)
    ratio = market.ps_bandwidth / market.worker_bandwidth
    each = sparse.kron(sparse.eye(n), np.ones((1, s)))
    none, unit = sparse.coo_array((n, n * s)), sparse.eye(n * s)
    blank = sparse.coo_array((n * s, n * s))
    ps = np.tile(market.ps, n).astype(np.float64)
    gang = np.repeat(size, s)
    # where the host is, everything else must be in reach; elsewhere the row says nothing
    central = np.repeat([c.is_central for c in choices], s)
    feed = sparse.diags_array(np.where(central, 0.0, -ratio))
    rows = [
        LinearConstraint(sparse.csr_array(sparse.hstack([each, none, none])), size, size),
        LinearConstraint(sparse.csr_array(sparse.hstack([none, none, each])), 1.0, 1.0),
        LinearConstraint(sparse.csr_array(sparse.hstack([blank, unit, -sparse.diags_array(ps)])), -np.inf, 0.0),
        LinearConstraint(sparse.csr_array(sparse.hstack([blank, unit, -unit])), 0.0, np.inf),
        LinearConstraint(
            sparse.csr_array(sparse.hstack([-unit, feed, sparse.diags_array(gang)])), -np.inf, np.zeros(n * s) + NEARLY
        ),
    ]
    for t in sorted({c.start for c in choices}):
        runs = sparse.csr_array(np.array([[float(c.start <= t < c.end) for c in choices]]))
        held = sparse.kron(runs, sparse.eye(s))
        empty = sparse.coo_array((s, n * s))
        rows.append(LinearConstraint(sparse.csr_array(sparse.hstack([held, empty, empty])), -np.inf, market.workers))
        rows.append(LinearConstraint(sparse.csr_array(sparse.hstack([empty, held, empty])), -np.inf, market.ps))
    most = np.concatenate([np.tile(market.workers, n), ps, np.ones(n * s)])
    cost = np.zeros(3 * n * s)
    found = _solve(cost, rows, Bounds(np.zeros(3 * n * s), most), np.ones(3 * n * s), until)
    if found.x is None:
        return found.status == INFEASIBLE, None
    x = np.rint(found.x).astype(np.int64).reshape(3, n, s)
    return True, [_schedule(c, x[0, i], x[1, i]) for i, c in enumerate(choices)]


def _schedule(choice: Choice, workers: IntArray, ps: IntArray) -> Schedule:
    server = np.flatnonzero((workers > 0) | (ps > 0))
    # own shares do not bind the optimum
    return Schedule(choice.job, choice.start, choice.end, server, workers[server], ps[server], is_shared=True)


def _solve(
    cost: FloatArray, rows: list[LinearConstraint], bounds: Bounds, integrality: npt.NDArray[Any], until: float
) -> Any:
    left = until - time.perf_counter()
    options = {"time_limit": max(left, 0.01), "mip_rel_gap": CLOSE}
    found = milp(cost, integrality=integrality, bounds=bounds, constraints=rows, options=options)
    if found.status not in (0, TIME_LIMIT, INFEASIBLE):
        raise PolicyError(f"optimum: HiGHS stopped with {found.message!r}")
    return found
