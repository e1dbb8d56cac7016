"""Themis: finish-time fairness by partial-allocation auctions among the worst-off apps ([Mahajan2020] §3.3, §4).

At a round, the GPUs whose leases have ended are offered to a part of the apps that want some, the 1 - f that report the
largest rho. Their agents bid: for every number of gangs that they could use, on one machine each or spread, what
1 / rho would be. The auction takes the rows with the largest product, and each winner keeps only a part c of its gangs:
the hidden payment. What is left goes to apps that did not bid, the worst off first: what is on one machine, then all.

Departures. Bids count gangs on machines, not single GPUs of named machines: machines differ in nothing but their size,
so `arbiter.room` says all of what can be placed. c of m gangs is not a whole number: the rest is left to chance, by a
hash of app and time. Whatever no app outside of the auction can use lies idle until the next round.

Assumptions, where the source says nothing, that matter (`studies.themis.runs`). An app that wins nothing and holds
nothing counts on one gang a lease later, so nothing is worth something, and an app that has waited long has little to
lose by waiting on. The filter takes rho as if the app had 1/N of the cluster from now on, whatever it holds. Who loses
in the auction gets no leftovers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

import numpy as np

from astraea.core.arrays import IntArray
from astraea.core.random import lottery, number_of_bidders
from astraea.themis.agent import Agent
from astraea.themis.arbiter import Arbiter, all_it_wants, taken_by, worst_first
from astraea.themis.auction import Bid, auction_of_agents

F: Final = 0.8
"""Part of the apps that want GPUs and do not bid, unless it is given ([Mahajan2020])."""


def themis(arbiter: Arbiter, f: float = F) -> None:
    """One round: probe, filter, auction, leftovers. The worst part 1 - `f` bids, at least one app: 0 all, 1 one."""
    wanting = worst_first(arbiter)
    n = number_of_bidders(len(wanting), f)
    hold_auction(arbiter, wanting[:n])
    give_leftovers(arbiter, wanting[n:])


def hold_auction(
    arbiter: Arbiter, offered: list[Agent], make_bid: Callable[[Arbiter, Agent], tuple[Bid, IntArray]] | None = None
) -> None:
    """Offer everything to these agents, take their bids, and give each winner the part of its prize that it keeps."""
    agents = sorted(offered, key=lambda agent: agent.index)  # so that ties do not hang on what is reported
    bids = [(make_bid or bid)(arbiter, agent) for agent in agents]
    outcome = auction_of_agents([b for b, _ in bids], arbiter.room())
    prizes = [
        (agent, *partial_prize(arbiter, agent, rows[row], kept))
        for agent, (_, rows), row, kept in zip(agents, bids, outcome.row, outcome.kept, strict=True)
    ]
    for agent, local, _ in sorted(prizes, key=lambda prize: -prize[0].app.gang):  # the largest gangs are placed first
        for _ in range(local):
            arbiter.give(agent, "local")
    for agent, _, spread in prizes:
        for _ in range(spread):
            arbiter.give(agent, "spread")


def give_leftovers(arbiter: Arbiter, agents: list[Agent]) -> None:
    """Give what is left to these, in their order: what is on one machine first, then the rest."""
    all_it_wants(arbiter, agents, "local")
    all_it_wants(arbiter, agents)


def bid(arbiter: Arbiter, agent: Agent) -> tuple[Bid, IntArray]:
    """Value of every number of gangs on one machine each and of spread ones, and these numbers (rows, 2)."""
    gang = agent.app.gang
    most = min(agent.wants(), arbiter.offered() // gang)
    use, rows = answers(arbiter.sizes, gang, most, min(most, arbiter.gangs_of(gang)))
    return Bid(use, 1 / arbiter.rho_with(agent, rows[:, 0], rows[:, 1])), rows


@lru_cache(maxsize=512)
def answers(sizes: tuple[int, ...], gang: int, most: int, near: int) -> tuple[IntArray, IntArray]:
    """Uses and rows of a bid for up to `most` gangs, up to `near` of them on one machine each."""
    far = most if gang > sizes[0] else 0  # the smallest lots are never spread
    rows = np.array([(n, s) for n in range(near + 1) for s in range(min(far, most - n) + 1)], np.int64)
    return rows[:, :1] * taken_by(sizes, gang, local=True) + rows[:, 1:] * taken_by(sizes, gang, local=False), rows


def partial_prize(arbiter: Arbiter, agent: Agent, row: IntArray, kept: float) -> tuple[int, int]:
    """Part `kept` of the gangs of a row; those on one machine are kept first."""
    exact = kept * row.sum()
    whole = int(exact + 1e-9)
    whole += int(lottery(np.array([agent.index]), arbiter.now)[0] < exact - whole)
    return min(whole, int(row[0])), max(0, whole - int(row[0]))
