"""Future rounds, played on a copy of the accounts by the policy itself, if no job ends and none arrives."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

import numpy as np

from astraea.cluster.engine import live
from astraea.cluster.engine.live import ENDS
from astraea.cluster.engine.state import PENDING, RUNNING
from astraea.core.units import DAY
from astraea.live.accounts import Accounts, Event

AHEAD: Final = DAY
"""Longest forecast [s]."""

MOST_ROUNDS: Final = 10_000
"""Most rounds that a forecast plays."""

MOST_ENDS: Final = 1_000
"""Most jobs that a forecast lets end."""


class ForecastRound(NamedTuple):
    """A future round at which leases change, its jobs in the order of the policy."""

    time: float  #: [s] from second 0 of the accounts
    ended: int
    """Jobs that had to end for this round: no lease ends by itself, so the longest-running job ends first. If it is not
    0, `time` has no meaning."""
    granted: list[str]  #: waiting jobs that get GPUs
    renewed: list[str]
    lost: list[str]  #: jobs that lose their GPUs


def rounds_ahead(
    accounts: Accounts, first: int, later: Collection[str] = (), refused: Collection[str] = ()
) -> Iterator[ForecastRound]:
    """Play the rounds from number `first` on; `accounts`, in their state after a round, are consumed.

    Jobs in `later` get no lease. Jobs in `refused` get none until a lease ends, because no nodes are free for them
    before. Gangs are not placed on nodes. The forecast ends after `AHEAD`, `MOST_ROUNDS` or `MOST_ENDS`, or when
    nothing can change.
    """
    usable = accounts.gpus - accounts.withheld
    aside = [id for id in accounts.ids(PENDING) if id in later or accounts.job(id).demand > usable]
    for_now = [id for id in accounts.ids(PENDING) if id in refused and id not in aside]
    last = first + int(AHEAD / accounts.interval)
    number, ended = first, 0
    for _ in range(MOST_ROUNDS):
        events: list[Event] = []
        if ended:
            running = np.flatnonzero(accounts.view.job.status == RUNNING)
            if not len(running):
                return
            longest = running[np.argmin(accounts.view.job.launch[running])]
            events = [Event(accounts.now, ENDS, accounts.admitted[longest].id)]
        accounts.hear(events, number)
        if ended or accounts.view.clock[0].n_expired > 0:
            for_now = []
        granted = accounts.choose(aside + for_now)
        expired, revoked = accounts.leaving()
        renewed = accounts.carry_out()
        if granted or renewed or expired or revoked:
            yield ForecastRound(accounts.now, ended, granted, renewed, [*expired, *revoked])
        following = 0 if ended else live.next_round(accounts.view, accounts.private)
        ended += following == 0
        number = following or number + 1
        if ended > MOST_ENDS or (number > last and not ended):
            return
