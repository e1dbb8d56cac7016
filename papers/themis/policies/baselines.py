"""The baselines of [Mahajan2020] in its setting: Tiresias, Optimus, Gandiva, SLAQ, the strawman of §3; and ASTRAEA."""

from __future__ import annotations

import numpy as np

from astraea.core.units import DAY
from papers.themis.agent import Agent
from papers.themis.arbiter import Arbiter, all_it_wants, best_first, worst_first


def tiresias(arbiter: Arbiter) -> None:
    """The app with the least attained service first: all that it wants, wherever there is room."""
    all_it_wants(arbiter, sorted(arbiter.wanting(), key=lambda agent: agent.attained(arbiter.now)))


def optimus(arbiter: Arbiter) -> None:
    """Best throughput scaling first: one gang after the other to the app whose throughput gains most by it.

    Throughput scaling is what one gang more adds to an app's throughput for each GPU of it, in units of one GPU's. It
    is less for large gangs of models that scale badly, and less again where the gang would be spread.
    """

    def scaling(agent: Agent) -> float:
        return agent.app.scaling / (1.0 if arbiter.hole(agent.app.gang) else agent.app.slowdown)

    best_first(arbiter, lambda agent: -scaling(agent))


def gandiva(arbiter: Arbiter) -> None:
    """Best packing first: the gang that is slowed down least where it would be, and leaves the smallest hole."""

    def packing(agent: Agent) -> tuple[float, int]:
        hole = arbiter.hole(agent.app.gang)
        return (1.0, hole - agent.app.gang) if hole else (agent.app.slowdown, 0)

    best_first(arbiter, packing)


def slaq(arbiter: Arbiter) -> None:
    """Best loss gradient first: one gang after the other to the app whose next job lowers its loss fastest.

    The gradient is the mean fall of the loss over the later half of the epochs so far, for each GPU-second. An app
    whose next job has had fewer than two epochs goes before all others.
    """

    def gradient(agent: Agent) -> float:
        job = agent.waiting()[0]
        epochs = int(agent.epochs[job])
        if epochs < 2:
            return np.inf
        loss, half = agent.app.loss[job], (epochs + 1) // 2
        return float(loss[half - 1] - loss[epochs - 1]) / ((epochs - half) * agent.app.epoch * agent.app.gang)

    best_first(arbiter, lambda agent: -gradient(agent))


def strawman(arbiter: Arbiter) -> None:
    """Give the app with the largest reported rho all that it wants, even if others could make more of it."""
    all_it_wants(arbiter, worst_first(arbiter))


def astraea(arbiter: Arbiter) -> None:
    """One gang after the other to the app furthest below its share of GPU-time ([Ye2022] Algorithm 1, Eqs. 12, 16).

    An app is a tenant, all have equal weights, and the number of tenants changes: the quota is 1/N of the cluster at
    each moment of the app's life. What is granted at this round counts as if it had run. Which job runs is up to the
    agent, who takes the one that is furthest behind, as phase 2 does.
    """
    share = arbiter.gpus / len(arbiter.agents)
    lease = min(arbiter.lease_term, DAY)  # one without end counts as one of a day [s]

    def rho(agent: Agent) -> float:
        granted = agent.app.gang * sum(lot.since == arbiter.now for lot in agent.lots)
        return (agent.attained(arbiter.now) + granted * lease) / (arbiter.owed(agent) + share * lease)

    best_first(arbiter, rho)
