"""Entry point of the setting of Themis: `simulate(workload, policy)` ([Mahajan2020] §4).

Jobs get on continuously and reach the end of a rung at exact times; GPUs are given at rounds a minute apart, whenever
some are on offer and somebody wants some.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.core.checks import is_number, number, whole_number
from astraea.core.errors import InputError, PolicyError
from papers.themis.agent import Agent
from papers.themis.apps import AppTrace
from papers.themis.arbiter import OVERHEADS, ROUND, AppPolicy, Arbiter
from papers.themis.measures import app_table, lease_table

PATIENCE: Final = 1000
"""Rounds without a grant in an idle cluster after which a policy is taken to leave apps waiting for ever."""


class Run(NamedTuple):
    """Tables of a simulation."""

    apps: pd.DataFrame  # a row per app, `measures.app_table`
    leases: pd.DataFrame  # a row per lease, `measures.lease_table`


def simulate(
    workload: AppTrace,
    policy: AppPolicy,
    *,
    lease_term: float = 900.0,
    error: float = 0.0,
    lies: Mapping[str, float] | None = None,
    overheads: tuple[float, float] = OVERHEADS,
    seed: int = 0,
) -> Run:
    """Run apps under a policy.

    Parameters
    ----------
    lease_term : float
        At least one round [s]; ``inf`` for one-shot auctions: apps keep what they win as long as their jobs need it.
    error : float
        Agents' estimates of what is left are wrong by up to this part, either way; in [0, 1).
    lies : mapping, optional
        Lies: name of an app -> factor on every rho that it reports.
    overheads : tuple of two floats
        Time that a checkpoint and a restart take [s].
    seed : int
        Of the errors.

    Raises
    ------
    PolicyError
        If the policy leaves apps waiting for ever.
    """
    if not (is_number(lease_term) and lease_term >= ROUND):
        raise InputError(f"lease_term must be a time of at least one round, {ROUND:g} s, or inf, got {lease_term!r}")
    number(error, "error", least=0, below=1, expected="a part from 0 to below 1")
    for value, name in zip(overheads, ("a checkpoint", "a restart"), strict=True):
        number(value, name, least=0, expected="a time from 0 [s]")
    seed = whole_number(seed, "the seed")
    index = {app.name: i for i, app in enumerate(workload.apps)}
    lies = lies or {}
    for name, factor in lies.items():
        if name not in index:
            raise InputError(f"{workload.name}: there is no app {name!r} that could lie")
        number(factor, f"app {name!r}: the factor on its rho", above=0, expected="above 0")
    arbiter = Arbiter(workload, lease_term, {index[name]: factor for name, factor in lies.items()}, overheads)
    agents = [Agent(i, app, error, seed) for i, app in enumerate(workload.apps)]
    _run(arbiter, agents, policy)
    return Run(app_table(workload, agents), lease_table(workload, agents))


def _run(arbiter: Arbiter, agents: list[Agent], policy: AppPolicy) -> None:
    """Go from event to event until every app is done."""
    to_come, look_at, fruitless = agents[::-1], np.inf, 0
    while to_come or arbiter.agents:
        done = min([agent.due for agent in arbiter.agents], default=np.inf)
        ends = min([agent.lots[0].until for agent in arbiter.agents if agent.lots], default=np.inf)  # first given
        arrival = to_come[-1].app.arrival if to_come else np.inf
        arbiter.now = now = min(done, arrival, look_at, ends)
        if min(done, arrival) <= now:
            if done <= now:
                _finish_jobs(arbiter)
            else:
                arbiter.arrive(to_come.pop())
            look_at = min(look_at, ROUND * math.ceil(now / ROUND))
        else:
            for agent in arbiter.agents if ends <= now else ():
                if ended := [lot for lot in agent.lots if lot.until <= now]:
                    arbiter.end_leases(agent, ended)
            _hold_round(arbiter, policy)
            is_waiting = bool(arbiter.in_need())
            look_at = now + ROUND if is_waiting else np.inf
            is_fruitless = is_waiting and not to_come and not any(agent.lots for agent in arbiter.agents)
            fruitless = fruitless + 1 if is_fruitless else 0
            if fruitless == PATIENCE:
                raise PolicyError(
                    f"policy {policy.name}, at {now:g} s: leaves app {arbiter.agents[0].app.name!r} and "
                    f"{len(arbiter.agents) - 1} more waiting in an idle cluster for ever"
                )


def _finish_jobs(arbiter: Arbiter) -> None:
    """End the rungs of jobs that are due now; lots that their app does not need are on offer again."""
    for agent in arbiter.agents.copy():
        if agent.due <= arbiter.now:
            if idle := agent.finish_jobs(arbiter.now, arbiter.restart):
                arbiter.take_back(agent, idle)
            if agent.is_done:
                arbiter.leave(agent)


def _hold_round(arbiter: Arbiter, policy: AppPolicy) -> None:
    """Let the policy give what is on offer."""
    if arbiter.offered and arbiter.wanting():
        policy.decide(arbiter)
    if arbiter.taken_back:
        for agent in arbiter.agents:
            if ended := arbiter.taken_back.get(agent.index):
                waiting = agent.waiting()
                agent.preemptions += sum([lot.job in waiting for lot in ended])
        arbiter.forget()
