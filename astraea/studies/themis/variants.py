"""What the results of Themis hang on: two rules of which the notes on [Mahajan2020] say nothing, changed one by one.

as it is
    An app that wins nothing counts on one gang a lease later; who loses in the auction gets no leftovers.
leftovers for losers too
    What winners may not keep, and what nobody won, goes to all apps that want GPUs, the worst off first.
nothing is worth little
    An app that holds nothing and wins nothing expects to finish `LATER` times T_isolated later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from astraea.core.arrays import IntArray
from astraea.core.random import number_of_bidders
from astraea.themis.agent import Agent
from astraea.themis.arbiter import Arbiter
from astraea.themis.auction import Bid
from astraea.themis.policies.themis import bid, give_leftovers, hold_auction, worst_first

LATER: Final = 10.0


def losers_too(arbiter: Arbiter, f: float) -> None:
    """Themis with leftovers for everybody."""
    wanting = worst_first(arbiter)
    hold_auction(arbiter, wanting[: number_of_bidders(len(wanting), f)])
    give_leftovers(arbiter, wanting)


def worth_little(arbiter: Arbiter, f: float) -> None:
    """Themis in which nothing is worth little."""
    wanting = worst_first(arbiter)
    n = number_of_bidders(len(wanting), f)
    hold_auction(arbiter, wanting[:n], bid_in_need)
    give_leftovers(arbiter, wanting[n:])


def bid_in_need(arbiter: Arbiter, agent: Agent) -> tuple[Bid, IntArray]:
    """The bid of an app to which nothing is worth little, if it has nothing."""
    made, rows = bid(arbiter, agent)
    if not agent.lots:
        made.value[0] = 1 / (1 / made.value[0] + LATER)
    return made, rows


VARIANTS: Final[dict[str, Callable[..., None]]] = {
    "leftovers for losers too": losers_too,
    "nothing is worth little": worth_little,
}
"""Besides Themis as it is."""
