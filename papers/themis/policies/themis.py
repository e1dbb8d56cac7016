"""Themis: finish-time fairness by partial-allocation auctions among the worst-off apps ([Mahajan2020] §3.3, §4).

At a round, the GPUs whose leases have ended are offered to a part of the apps that want some, the 1 - f that report the
largest rho. Their agents bid: for every number of gangs that they could use, on one machine each or spread, what
1 / rho would be. The auction takes the rows with the largest product, and each winner keeps only a part c of its gangs:
the hidden payment. What is left goes to apps that did not bid, the worst off first: what is on one machine, then all.

Departures. Bids count gangs on machines, not single GPUs of named machines: machines differ in nothing but their size,
so `arbiter.room` says all of what can be placed. c of m gangs is not a whole number: the rest is left to chance, by a
hash of app and time. Whatever no app outside of the auction can use lies idle until the next round.

Assumptions, where the source says nothing, that matter (`papers.themis.study.cells`). An app that wins nothing and
holds nothing counts on one gang a lease later, so nothing is worth something, and an app that has waited long has
little to lose by waiting on. The filter takes rho as if the app had 1/N of the cluster from now on, whatever it holds.
An app that loses in the auction gets no leftovers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

import numpy as np

from astraea.core.arrays import IntArray
from astraea.core.random import lottery, number_of_bidders
from papers.themis.agent import Agent
from papers.themis.arbiter import Arbiter, all_it_wants, worst_first
from papers.themis.auction import Bid, auction

F: Final = 0.8
"""Part of the apps that want GPUs and do not bid, unless it is given ([Mahajan2020])."""


def themis(
    arbiter: Arbiter, f: float = F, *, losers_too: bool = False,
    make_bid: Callable[[Arbiter, Agent], tuple[Bid, IntArray]] | None = None,
) -> None:  # fmt: skip
    """One round: probe, filter, auction, leftovers. The worst part 1 - `f` bids, at least one app: 0 all, 1 one.

    Two rules can be changed: whether leftovers are for losers of the auction too, and what an agent bids, `bid` if not
    given.
    """
    wanting = worst_first(arbiter)
    n = number_of_bidders(len(wanting), f)
    agents = sorted(wanting[:n], key=lambda agent: agent.index)  # so that ties do not depend on what is reported
    bids, rows = zip(*[(make_bid or bid)(arbiter, agent) for agent in agents], strict=True)
    outcome = auction(bids, arbiter.room())
    won = zip(agents, rows, outcome.row.tolist(), outcome.kept.tolist(), strict=True)
    prizes = [(agent, *partial_prize(arbiter, agent, gangs[row], kept)) for agent, gangs, row, kept in won if row]
    for agent, local, _ in sorted(prizes, key=lambda prize: -prize[0].app.gang):  # the largest gangs are placed first
        for _ in range(local):
            arbiter.give(agent, "local")
    for agent, _, spread in prizes:
        for _ in range(spread):
            arbiter.give(agent, "spread")
    left = wanting if losers_too else wanting[n:]
    all_it_wants(arbiter, left, "local")  # what is on one machine first
    all_it_wants(arbiter, left)


def bid(arbiter: Arbiter, agent: Agent) -> tuple[Bid, IntArray]:
    """Return an agent's bid, and the numbers of gangs on one machine and of spread ones in its rows, (rows, 2)."""
    gang, sizes = agent.app.gang, arbiter.sizes
    most = min(agent.wants(), arbiter.offered // gang)
    rows, use = _rows(gang, sizes, min(most, int(arbiter.room()[sizes.index(gang)])), most)
    return Bid(use, 1 / arbiter.rhos_with(agent, rows)), rows


@lru_cache(maxsize=4096)
def _rows(gang: int, sizes: tuple[int, ...], near: int, most: int) -> tuple[IntArray, IntArray]:
    """Rows of a bid for `most` gangs, `near` of them on one machine each, and the lots of each size that they take."""
    far = most if gang > sizes[0] else 0  # the smallest lots are never spread
    rows = np.argwhere(np.add.outer(np.arange(near + 1), np.arange(far + 1)) <= most)
    local = gang // np.array(sizes)
    spread = np.append(local[0], np.zeros_like(local[1:]))  # of the smallest lots
    return np.ascontiguousarray(rows), rows @ np.array([local, spread])


def partial_prize(arbiter: Arbiter, agent: Agent, row: IntArray, kept: float) -> tuple[int, int]:
    """Part `kept` of the gangs of a row; those on one machine are kept first."""
    local, spread = row.tolist()
    exact = kept * (local + spread)
    whole = int(exact + 1e-9)
    if whole < exact:
        whole += int(lottery(np.array([agent.index]), arbiter.now)[0] < exact - whole)
    return min(whole, local), max(0, whole - local)
