"""Rounds to come, played ahead on a copy of the accounts by the policy itself, if no job ends and none comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from astraea.cluster.engine import live
from astraea.cluster.engine.live import ENDS
from astraea.cluster.engine.state import PENDING, RUNNING
from astraea.core.units import DAY
from astraea.live.accounts import Accounts, Event

AHEAD: Final = DAY
"""A forecast does not look further [s]."""

MOST_ROUNDS: Final = 20_000
"""Rounds that a forecast plays at most."""


class ForecastRound(NamedTuple):
    """A round to come at which leases change, its jobs in the order of the policy."""

    time: float  #: [s], second 0 is that of the accounts
    ended: int
    """Jobs that had to end for this round: no lease ends by itself, so the one that has run longest ends first. From
    the first one on, `time` means nothing."""
    granted: list[str]  #: waiting jobs that get GPUs
    renewed: list[str]
    lost: list[str]  #: jobs that lose their GPUs


def rounds_ahead(accounts: Accounts, first: int, kept_back: Sequence[str] = ()) -> Iterator[ForecastRound]:
    """Play the rounds from number `first` on; `accounts`, which are those after a round, are used up.

    Jobs in `kept_back` get no lease: Slurm cannot start them. Gangs are not placed on nodes. It ends after `AHEAD`,
    after `MOST_ROUNDS`, or when nothing can change any more.
    """
    usable = accounts.gpus - accounts.withheld
    aside = {id for id in accounts.ids(PENDING) if accounts.job(id).demand > usable} | set(kept_back)
    last = first + int(AHEAD / accounts.interval)
    number, ended = first, 0
    for _ in range(MOST_ROUNDS):
        events: list[Event] = []
        if ended:
            running = accounts.ids(RUNNING)
            if not running:
                return
            events = [Event(accounts.now, ENDS, min(running, key=lambda id: int(accounts.row(id).launch)))]
        accounts.hear(events, number)
        granted = accounts.choose([id for id in aside if accounts.row(id).status == PENDING])
        expired, revoked = accounts.leaving()
        renewed = accounts.carry_out()
        if granted or renewed or expired or revoked:
            yield ForecastRound(accounts.now, ended, granted, renewed, [*expired, *revoked])
        following = 0 if ended else live.next_round(accounts.view, accounts.private)
        ended += following == 0
        number = following or number + 1
        if number > last and not ended:
            return
