"""Agents of small apps, and their outlook."""

from __future__ import annotations

import numpy as np
from themis_small import app, arbiter_of, falling, workload

from papers.themis import foresight
from papers.themis.agent import Agent
from papers.themis.apps import App, Phase, Tuner
from papers.themis.arbiter import Arbiter
from papers.themis.foresight import LENGTH

HALVING = Tuner(first=2, eta=2, tolerance=5e-4, longest=8)


def let_run(arbiter: Arbiter, until: float) -> None:
    """Jobs that end until then do so, each at its time; lots without a job are returned."""
    while True:
        done = min((lot.done for agent in arbiter.agents for lot in agent.lots), default=np.inf)
        arbiter.now = min(done, until)
        if done > until:
            return
        for agent in arbiter.agents:
            arbiter.take_back(agent, agent.finish_jobs(arbiter.now, 20.0))


def alone(one: App, *machines: int) -> tuple[Arbiter, Agent]:
    """An app alone on some machines, with all the gangs that fit."""
    arbiter = arbiter_of(workload([one], *machines))
    agent = arbiter.agents[0]
    while arbiter.give(agent):
        pass
    return arbiter, agent


def phases_of(table: np.ndarray) -> list[Phase]:
    return [Phase(int(jobs), float(work)) for jobs, work in table]


def outlook(agent: Agent, now: float) -> tuple[list[Phase], list[Phase]]:
    """What is left of an app, and the whole of it, as far as its agent can tell."""
    agent.learn(now)
    left, total = foresight.outlook(agent.book, now)
    return phases_of(left), phases_of(total)


def length(agent: Agent, had: list[float]) -> float:
    """Estimated epochs of the job that looks best after so many of each."""
    agent.epochs[:] = had
    agent.learn(0.0)
    return float(agent.book[LENGTH])


# what an agent foresees


def four_jobs(**changes: object) -> App:
    """Four long jobs, of which the last will win; rungs of 4 jobs to 2 epochs, 2 to 4, and 1 to 8."""
    return app("a", [falling(8) + k for k in (4, 3, 1, 0)], tuner=HALVING, **changes)
