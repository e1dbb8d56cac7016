"""The arbiter: free GPUs, the apps that get them for a lease, and their machines ([Mahajan2020] §4.2).

A policy is a function of the arbiter. It looks at the agents of active apps and gives gangs, one at a time, each for
one lease. GPUs whose lease has just ended are on offer like all others; an app that gets a gang where it had one goes
on there without a restart.

Machines differ in size. Counting tells how many gangs can be on one machine each. If every size of gangs divides the
next larger one, any set of them can be placed, largest first, as long as the lots of each size suffice (`room`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from papers.themis import foresight
from papers.themis.agent import Agent, Lot
from papers.themis.apps import AppTrace
from papers.themis.foresight import LIE, SEEN

OVERHEADS: Final = (5.0, 20.0)
"""Time that GPUs are held without progress [s]. The first is for a checkpoint at the end of a lease, charged when the
job continues. The second is for a restart of a job that ran before and starts elsewhere."""

ROUND: Final = 60.0
"""Time between two rounds at which GPUs are given; leases end at rounds [s]."""

Where = Literal["any", "local", "spread"]
Pieces = tuple[tuple[int, int], ...]
"""Pieces of one lot, as (machine, GPUs)."""


class Arbiter:
    """The state of the cluster at one round.

    `now` and `lease_term` are in seconds, and `agents` are those of the active apps, in order of arrival. `free` has
    the GPUs on offer on each machine, `offered` those of all; to change `free` from outside, set a new list. `sizes`
    are those of lots, ascending: a unit of which everything is a multiple, and the gangs.
    """

    def __init__(
        self, workload: AppTrace, lease_term: float, lies: Mapping[int, float] = {},
        overheads: tuple[float, float] = OVERHEADS,
    ) -> None:  # fmt: skip
        self.now, self.lease_term, self.lies = 0.0, lease_term, lies
        self.checkpoint, self.restart = overheads
        self.gpus = workload.gpus
        self.agents: list[Agent] = []
        self.largest = int(workload.machines.max())  # GPUs of one machine
        self.free = workload.machines.tolist()
        self.taken_back: dict[int, list[Lot]] = {}  # lots whose lease ends at this round, by app
        self.wished = [0] * len(self.free)  # GPUs of them on each machine
        gangs = sorted({app.gang for app in workload.apps})
        unit = int(np.gcd.reduce([*gangs, *self.free]))
        self.sizes = tuple(sorted({unit, *gangs}))
        self._active_until, self._app_seconds, self._share_seconds = 0.0, 0.0, 0.0
        self._shares_at_arrival: dict[int, float] = {}

    @property
    def free(self) -> list[int]:
        """GPUs on offer on each machine."""
        return self._free

    @free.setter
    def free(self, free: list[int]) -> None:
        self._free, self.offered = free, sum(free)
        # of machines with 0, 1, ... GPUs on offer, how many there are
        self._having = [free.count(gpus) for gpus in range(self.largest + 1)]

    def _offer(self, pieces: Pieces, sign: int) -> None:
        """Put GPUs on offer (1), or take them off (-1)."""
        for machine, gpus in pieces:
            free = self._free[machine]
            self._having[free] -= 1
            free += sign * gpus
            self._having[free] += 1
            self._free[machine] = free
            self.offered += sign * gpus

    def arrive(self, agent: Agent) -> None:
        """Add an app."""
        self._count()
        self._shares_at_arrival[agent.index] = self._share_seconds
        agent.facts[SEEN], agent.facts[LIE] = self._app_seconds, self.lies.get(agent.index, 1.0)
        self.agents.append(agent)

    def leave(self, agent: Agent) -> None:
        """Remove an app that is done."""
        self._count()
        self.agents.remove(agent)

    def _count(self) -> None:
        """Update the integrals of the number N of active apps and of 1/N of the GPUs."""
        if self.agents and self.now > self._active_until:
            self._app_seconds += len(self.agents) * (self.now - self._active_until)
            self._share_seconds += self.gpus / len(self.agents) * (self.now - self._active_until)
        self._active_until = self.now

    def owed(self, agent: Agent) -> float:
        """GPU-time of 1/N of the cluster in the app's life so far [GPU-s] ([Ye2022] Eq. 16 with equal quotas)."""
        self._count()
        return self._share_seconds - self._shares_at_arrival[agent.index]

    def take_back(self, agent: Agent, lots: list[Lot]) -> None:
        """Put the GPUs of lots on offer."""
        agent.stop(lots, self.now)
        for lot in lots:
            self._offer(lot.pieces, 1)

    def end_leases(self, agent: Agent, lots: list[Lot]) -> None:
        """Put lots of an app on offer; the app may continue on them."""
        self.taken_back[agent.index] = lots
        self.take_back(agent, lots)
        for lot in lots:
            for machine, gpus in lot.pieces:
                self.wished[machine] += gpus

    def forget(self) -> None:
        """Forget where leases ended, because the round is over."""
        self.taken_back = {}
        self.wished = [0] * len(self.free)

    def room(self) -> IntArray:
        """Lots of each size that fit on machines, shape (sizes,)."""
        return np.array([sum([n * (free // size) for free, n in enumerate(self._having)]) for size in self.sizes])

    def hole(self, gang: int) -> int:
        """Free GPUs of the machine with least of them on which a gang fits; 0 if there is none."""
        for free in range(gang, len(self._having)):
            if self._having[free]:
                return free
        return 0

    def wanting(self) -> list[Agent]:
        """Agents with a job that waits for GPUs, in order of arrival."""
        return [agent for agent in self.agents if len(agent.todo) > len(agent.lots)]

    def in_need(self) -> list[Agent]:
        """Return the agents for whose gang there are GPUs on offer."""
        return [agent for agent in self.wanting() if agent.app.gang <= self.offered]

    def rhos(self, agents: list[Agent]) -> FloatArray:
        """Finish-time fairness that agents report: if they have 1/N of the cluster from now on."""
        return np.asarray(foresight.rhos(self.facts(agents), len(agents), *self.situation()))

    def rhos_with(self, agent: Agent, more: IntArray) -> FloatArray:
        """Return the same with further gangs, on one machine each and spread, shape (rows, 2), kept to the end."""
        return np.asarray(foresight.rhos_with(self.facts([agent]), *self.situation(), self.lease_term, more))

    def facts(self, agents: list[Agent]) -> FloatArray:
        """Return the facts of agents (`foresight`), one behind the other."""
        for agent in agents:
            if agent.same_until <= self.now:
                agent.learn(self.now)
        return np.concatenate([agent.facts for agent in agents])

    def situation(self) -> tuple[float, float, int, int]:
        """Return what agents are told: the time, the numbers behind N, and the GPUs of the cluster."""
        self._count()
        return self.now, self._app_seconds, len(self.agents), self.gpus

    def give(self, agent: Agent, where: Where = "any") -> bool:
        """Give an app one gang for a lease; False if none of its jobs waits or there is no room.

        On one machine if it can be: where a gang of the app was before, else a machine with GPUs that nobody just had,
        of these the one with least free. Otherwise, or with "spread", where a gang was before, else on the machines
        with least free, which may turn out to be a single one; with "local", not at all. A gang that does not mind
        being spread stays where it was in any case.
        """
        gang = agent.app.gang
        if self.offered < gang or len(agent.todo) <= len(agent.lots):
            return False
        is_same = agent.app.slowdown == 1  # wherever it is
        if where == "local" and not is_same and not self.hole(gang):
            return False
        waiting = agent.waiting()
        job, pieces = waiting[0], None
        old = self._renewable(agent, waiting, near=where != "spread" or is_same, far=where == "spread" or is_same)
        if old is None and where != "spread":
            pieces = self._on_one(gang)
        if old is None and pieces is None and where != "local":
            old = self._renewable(agent, waiting, near=False, far=True)
            pieces = self._on_many(gang) if old is None else None
        if old is not None:
            self.taken_back[agent.index].remove(old)
            for machine, gpus in old.pieces:
                self.wished[machine] -= gpus
            job, pieces, overhead = old.job, old.pieces, self.checkpoint
        elif pieces is not None:
            overhead = self.checkpoint + self.restart if agent.has_run[job] else 0.0
        else:
            return False
        self._offer(pieces, -1)
        until = np.inf if self.lease_term == np.inf else ROUND * ceil((self.now + self.lease_term) / ROUND - 1e-9)
        lot = Lot(pieces, len(pieces) == 1, job, self.now, until, np.inf, np.inf)
        agent.start(lot, job, self.now, overhead)
        agent.lots.append(lot)
        return True

    def _renewable(self, agent: Agent, waiting: list[int], *, near: bool, far: bool) -> Lot | None:
        """Return a lot that the app just had, whose GPUs are on offer and whose job waits."""
        for lot in self.taken_back.get(agent.index, ()):
            if (near if lot.is_local else far) and lot.job in waiting:
                if all([self._free[machine] >= gpus for machine, gpus in lot.pieces]):
                    return lot
        return None

    def _on_one(self, gang: int) -> Pieces | None:
        """Return the machine on which the gang leaves least free; one whose free GPUs nobody just had comes first."""
        for hole in range(gang, len(self._having)):
            machine = -1
            for _ in range(self._having[hole]):
                machine = self._free.index(hole, machine + 1)
                if self.wished[machine] + gang <= hole:
                    return ((machine, gang),)
        hole = self.hole(gang)
        return ((self._free.index(hole), gang),) if hole else None

    def _on_many(self, gang: int) -> Pieces:
        """Return the machines with the fewest free GPUs."""
        pieces = []
        for free, machine in sorted([(free, m) for m, free in enumerate(self._free) if free]):
            pieces.append((machine, min(free, gang)))
            gang -= pieces[-1][1]
            if gang == 0:
                break
        return tuple(pieces)


class AppPolicy(NamedTuple):
    """A named policy."""

    name: str
    decide: Callable[[Arbiter], None]  # gives gangs at a round at which GPUs are on offer and somebody wants some
    parameters: Mapping[str, Any] = {}


def all_it_wants(arbiter: Arbiter, agents: list[Agent], where: Where = "any") -> None:
    """Give each in turn as many gangs as it wants and there are, placed as `where` says (`Arbiter.give`)."""
    for agent in agents:
        while arbiter.give(agent, where):
            pass
        if not arbiter.offered:
            break


def worst_first(arbiter: Arbiter) -> list[Agent]:
    """Agents of apps that want GPUs, by the rho that they report; all are asked, as agents learn when they are."""
    order = (-arbiter.rhos(arbiter.agents)).argsort(kind="stable").tolist()
    return [arbiter.agents[i] for i in order if arbiter.agents[i].wants()]


def best_first(arbiter: Arbiter, key: Callable[[Agent], object]) -> None:
    """Give one gang after the other to whoever has the smallest key at that moment, the earlier arrival of equals."""
    agents = arbiter.in_need()
    while agents:
        arbiter.give(min(agents, key=key))  # type: ignore[arg-type]
        agents = [agent for agent in agents if agent.app.gang <= arbiter.offered and agent.wants()]
