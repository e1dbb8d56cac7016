"""Themis, the four that [Mahajan2020] §6 compares it with, the strawman of §3, and ASTRAEA, in the setting of apps.

Themis: at a round, the GPUs whose leases have ended are offered to a part of the apps that want some, the 1 - f that
report the largest rho. Their agents bid: for every number of gangs that they could use, on one machine each or spread,
what 1 / rho would be. The auction takes the rows with the largest product, and each winner keeps only a part c of its
gangs: the hidden payment. What is left goes to apps that did not bid, the worst off first: what is on one machine, then
all.

Departures. Bids count gangs on machines, not single GPUs of named machines: machines differ in nothing but their size,
so `arbiter.room` says all of what can be placed. c of m gangs is not a whole number: the rest is left to chance, by a
hash of app and time. Whatever no app outside of the auction can use lies idle until the next round.

Our notes on the paper leave two rules open, and results depend on both (`losers_too`, `wait` of `themis`). The filter
takes rho as if the app had 1/N of the cluster from now on, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np

from astraea.core.arrays import IntArray
from astraea.core.checks import number, one_of
from astraea.core.errors import InputError
from astraea.core.random import lottery, number_of_bidders
from astraea.core.units import DAY
from papers.themis.agent import Agent
from papers.themis.arbiter import AppPolicy, Arbiter, all_it_wants, best_first, worst_first
from papers.themis.auction import Bid, auction

F: Final = 0.8
"""Part of the apps that want GPUs and do not bid, unless it is given ([Mahajan2020])."""


def themis(arbiter: Arbiter, f: float = F, losers_too: bool = False, wait: float = 0.0) -> None:
    """Hold one round: probe, filter, auction, leftovers.

    Parameters
    ----------
    arbiter : Arbiter
        The cluster at this round.
    f : float
        Fairness knob in [0, 1]. The worst part 1 - `f` bids, at least one app: 0 for all, 1 for one.
    losers_too : bool
        Whether leftovers are for losers of the auction too. Then an app may gain by losing.
    wait : float
        As of `bid`.
    """
    wanting = worst_first(arbiter)
    n = number_of_bidders(len(wanting), f)
    agents = sorted(wanting[:n], key=lambda agent: agent.index)  # so that ties do not depend on what is reported
    bids, rows = zip(*[bid(arbiter, agent, wait) for agent in agents], strict=True)
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


def bid(arbiter: Arbiter, agent: Agent, wait: float = 0.0) -> tuple[Bid, IntArray]:
    """Return an agent's bid, and the numbers of gangs on one machine and of spread ones in its rows, (rows, 2).

    An app that holds nothing and wins nothing counts on one gang a lease later, so nothing is worth something, and an
    app that has waited long has little to lose by waiting on. With `wait` it fears to end later by so many T_isolated.
    """
    gang, sizes = agent.app.gang, arbiter.sizes
    most = min(agent.wants(), arbiter.offered // gang)
    rows, use = _rows(gang, sizes, min(most, int(arbiter.room()[sizes.index(gang)])), most)
    rho = arbiter.rhos_with(agent, rows)
    rho[0] += 0.0 if agent.lots else wait
    return Bid(use, 1 / rho), rows


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


def tiresias(arbiter: Arbiter) -> None:
    """Serve the app with the least attained service first: all that it wants, wherever there is room."""
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


POLICIES: Final[dict[str, Callable[..., None]]] = {
    "themis": themis, "tiresias": tiresias, "optimus": optimus, "gandiva-packing": gandiva, "slaq": slaq,
    "strawman": strawman, "astraea": astraea,
}  # fmt: skip
"""Every policy by its name."""


def get_policy(name: str, **parameters: Any) -> AppPolicy:
    """Return the policy of this name; only Themis takes parameters, those of `themis`; else `InputError`."""
    decide = POLICIES[one_of(name, POLICIES, "policy")]
    known: dict[str, Any] = {"f": F, "losers_too": False, "wait": 0.0} if name == "themis" else {}
    for key in parameters:
        if key not in known:
            raise InputError(f"policy {name} takes no parameter {key!r}")
    chosen = known | parameters
    if known:
        number(chosen["f"], "f", least=0, most=1)
        number(chosen["wait"], "wait", least=0)
    return AppPolicy(name, partial(decide, **chosen), chosen)
