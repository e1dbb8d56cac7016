"""ASTRAEA in the setting of Themis: the app furthest below its share of GPU-time ([Ye2022] Algorithm 1).

An app is a tenant, all have equal weights, and the number of tenants changes: the quota is 1/N of the cluster at each
moment of the app's life. What is granted at this round counts as if it had run. Which job runs is up to the agent, who
takes the one that is furthest behind, as phase 2 does. No estimates; places are left to the arbiter.
"""

from __future__ import annotations

from astraea.core.units import DAY
from papers.themis.agent import Agent
from papers.themis.arbiter import Arbiter, best_first


def astraea(arbiter: Arbiter) -> None:
    """One gang after the other to the app with the smallest long-term GPU-time fairness (Eq. 12 with Eq. 16)."""
    share = arbiter.gpus / len(arbiter.agents)
    lease = min(arbiter.lease_term, DAY)  # one without end counts as one of a day [s]

    def rho(agent: Agent) -> float:
        granted = agent.app.gang * sum(lot.since == arbiter.now for lot in agent.lots)
        return (agent.attained(arbiter.now) + granted * lease) / (arbiter.owed(agent) + share * lease)

    best_first(arbiter, rho)
