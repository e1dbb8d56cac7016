"""Offline optimum of problem (3) for small instances, by HiGHS ([Wang2023] §5.2, Figs 5 and 6).

A program over (start, workers, kind of placement) of every job knows only how many workers and parameter servers all
servers have together, so its value bounds the optimum. A second one looks for servers for what was chosen. If there are
some, the bound is the optimum; if not, that choice is excluded and the first program is solved again.
"""

from __future__ import annotations

import time
from typing import Any, Final, NamedTuple

import numpy as np
import scipy  # imports its optimize when it is used
from scipy import sparse

from astraea.core.errors import PolicyError
from papers.market.model import NEARLY, Market, MarketPlan, Schedule, checked

CLOSE: Final = 1e-6
"""Part of the bound by which a plan may be below it and still be called optimal."""

EXCLUDED: Final = 20
"""Choices without servers after which only the bound is given."""

TIME_LIMIT: Final = 1
"""scipy's status for a program that ran out of time."""

INFEASIBLE: Final = 2


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


def optimum(
    market: Market, *, horizon: int, time_limit: float = 60.0, known: float = 0.0
) -> tuple[float, MarketPlan | None]:
    """Find the plan with the largest total revenue up to slot `horizon`, with all arrivals known, and a bound on it.

    No plan that ends by the horizon (T) earns more than the bound; the plan earns it, or is None if none was found that
    does. `time_limit` [s] is that of all programs together: when it is over, the bound is valid but no plan is given.
    `known` is the revenue of some plan that ends by the horizon, and makes programs smaller. To earn as much, all jobs
    together may fall below their best by some amount; a choice by which one job falls further is left out, and so are
    slots after the last choice. A failure of HiGHS raises `PolicyError`.
    """
    until = time.perf_counter() + time_limit
    choices = [c for job in range(len(checked(market).jobs)) for c in choices_of(market, job, horizon)]
    unpaid = np.zeros((len(market.worker_quota),) * 2)
    if not choices:
        return 0.0, MarketPlan(market, (), unpaid)
    best: dict[int, float] = {}
    for c in choices:
        best[c.job] = max(c.value, best.get(c.job, 0.0))
    bound = sum(best.values())
    least = (1 - 2 * CLOSE) * known
    choices = [c for c in choices if best[c.job] - c.value <= bound - least]
    horizon = max(c.end for c in choices)
    program = _capacity(market, choices, horizon)
    for _ in range(EXCLUDED + 1):
        found = _solve(program, until)
        if known and found.status != TIME_LIMIT and (found.x is None or -found.fun < least):
            break  # what was said to be known cannot be reached, so what was left out may matter
        if found.mip_dual_bound is not None and np.isfinite(found.mip_dual_bound):
            bound = min(bound, max(-float(found.mip_dual_bound), known))
        if found.status == TIME_LIMIT or found.x is None:
            break
        chosen = np.flatnonzero(found.x[: len(choices)] > 0.5)
        schedules = _servers(market, [choices[i] for i in chosen], until)
        if schedules:
            return bound, MarketPlan(market, tuple(schedules), unpaid)
        if schedules is None:
            break
        excluded = np.zeros((1, len(program["c"])))
        excluded[0, chosen] = 1.0
        program["constraints"].append(scipy.optimize.LinearConstraint(excluded, -np.inf, len(chosen) - 1.0))
    return bound, None


def choices_of(market: Market, job: int, horizon: int) -> list[Choice]:
    """Every start with every useful number of workers, as far as it is worth something at completion.

    With each go the fewest parameter servers that any one server could feed the gang with (3i). (3k) needs no other
    numbers of workers than the least for each duration.
    """
    most = int(min(market.jobs.chunks[job], market.workers.sum()))
    size = np.arange(1, most + 1)
    duration = market.duration(job, size)
    arrival = int(market.jobs.arrival[job])
    gangs: dict[tuple[int, int], tuple[bool, int]] = {}
    for is_central in (False, True):
        slots = duration[:, int(is_central)]
        for w in size[np.concatenate([[True], slots[1:] < slots[:-1]])].tolist():
            far = np.maximum(w - market.workers, 0)
            ps = market.ps_needed(w)[far]
            fits = (ps <= market.ps) & ((far == 0) | (not is_central))
            if fits.any():  # distributed if as fast wherever it is
                gangs.setdefault((int(slots[w - 1]), w), (is_central, int(ps[fits].min())))
    values = market.jobs.ideal(job, max(horizon - arrival, 0)).tolist()
    return [
        Choice(job, a, a + d, w, is_central, ps, value)
        for (d, w), (is_central, ps) in gangs.items()
        for a in range(arrival, horizon - d + 1)
        if (value := values[a + d - arrival]) > 0
    ]


def _capacity(market: Market, choices: list[Choice], horizon: int) -> dict[str, Any]:
    """Choices under what all servers have together, each resource's use carried from slot to slot, for `milp`."""
    n, jobs = len(choices), len(market.jobs)
    start, end = np.array([c.start for c in choices]), np.array([c.end for c in choices])
    column, last = np.arange(n), end < horizon
    at = np.concatenate([start, end[last]]), np.concatenate([column, column[last]])

    def change(need: list[int]) -> Any:
        amount = np.array(need, np.float64)
        return sparse.coo_array((np.concatenate([-amount, amount[last]]), at), shape=(horizon, n))

    step = sparse.eye(horizon) - sparse.eye(horizon, k=-1)
    once = sparse.coo_array((np.ones(n), (np.array([c.job for c in choices]), column)), shape=(jobs, n))
    blocks = [
        [change([c.workers for c in choices]), step, None],
        [change([c.ps for c in choices]), None, step],
        [once, None, None],
    ]
    capacity = np.repeat([float(market.workers.sum()), float(market.ps.sum())], horizon)
    none = np.zeros(2 * horizon)
    low, high = np.append(none, np.full(jobs, -np.inf)), np.append(none, np.ones(jobs))
    return {
        "c": np.concatenate([[-c.value for c in choices], none]),
        "integrality": np.arange(n + 2 * horizon) < n,
        "bounds": scipy.optimize.Bounds(0.0, np.append(np.ones(n), capacity)),
        "constraints": [scipy.optimize.LinearConstraint(sparse.block_array(blocks, format="csr"), low, high)],
    }


def _servers(market: Market, choices: list[Choice], until: float) -> list[Schedule] | None:
    """Servers for the choices, the same from start to end; empty if there are none, None if time was over before.

    Variables are, for each choice and server, its workers there, its parameter servers there, and whether they are.
    """
    n, s = len(choices), len(market.workers)
    size = np.array([c.workers for c in choices], np.float64)
    each, unit = sparse.kron(sparse.eye(n), np.ones((1, s))), sparse.eye(n * s)
    ps = np.tile(market.ps, n).astype(np.float64)
    ratio = np.where([c.is_central for c in choices], 0.0, -market.ps_bandwidth / market.worker_bandwidth)
    # where the host is, everything else must be in reach; elsewhere the row says nothing
    feed, gang = sparse.diags_array(np.repeat(ratio, s)), sparse.diags_array(np.repeat(size, s))
    any_ = np.full(n * s, np.inf)
    rows: list[Any] = [
        ([each, None, None], size, size),
        ([None, None, each], np.ones(n), np.ones(n)),
        ([None, unit, -sparse.diags_array(ps)], -any_, np.zeros(n * s)),
        ([None, unit, -unit], np.zeros(n * s), any_),
        ([-unit, feed, gang], -any_, np.full(n * s, NEARLY)),
    ]
    for t in sorted({c.start for c in choices}):
        runs = sparse.csr_array(np.array([[float(c.start <= t < c.end) for c in choices]]))
        held = sparse.kron(runs, sparse.eye(s))
        rows += [([held, None, None], -any_[:s], market.workers), ([None, held, None], -any_[:s], market.ps)]
    blocks, low, high = zip(*rows, strict=True)
    limits = scipy.optimize.LinearConstraint(
        sparse.block_array(blocks, format="csr"), np.concatenate(low), np.concatenate(high)
    )
    bounds = scipy.optimize.Bounds(0.0, np.concatenate([np.tile(market.workers, n), ps, np.ones(n * s)]))
    program = {"c": np.zeros(3 * n * s), "integrality": np.ones(3 * n * s), "bounds": bounds, "constraints": limits}
    found = _solve(program, until)
    if found.x is None:
        return [] if found.status == INFEASIBLE else None
    x = np.rint(found.x).astype(np.int64).reshape(3, n, s)
    used = [np.flatnonzero(x[:2, i].any(axis=0)) for i in range(n)]
    # own shares do not bind the optimum
    return [
        Schedule(c.job, c.start, c.end, used[i], x[0, i, used[i]], x[1, i, used[i]], is_shared=True)
        for i, c in enumerate(choices)
    ]


def _solve(program: dict[str, Any], until: float) -> Any:
    """Answer of HiGHS to a program in the words of `milp`."""
    found = scipy.optimize.milp(
        **program, options={"time_limit": max(until - time.perf_counter(), 0.01), "mip_rel_gap": CLOSE}
    )
    if found.status not in (0, TIME_LIMIT, INFEASIBLE):
        raise PolicyError(f"optimum: HiGHS stopped with {found.message!r}")
    return found
