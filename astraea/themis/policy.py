"""What a policy is: a function that looks at the arbiter and gives gangs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from astraea.themis.agent import Agent
from astraea.themis.arbiter import Arbiter, Where


class Policy(NamedTuple):
    """A named policy."""

    name: str
    decide: Callable[
        [Arbiter], None
    ]  # gives gangs; called at rounds at which GPUs are on offer and somebody wants some
    parameters: Mapping[str, float] = {}  # for the record


def all_it_wants(arbiter: Arbiter, agents: list[Agent], where: Where = "any") -> None:
    """Give each in turn as many gangs as it wants, and as are to be had `where` it may be (`Arbiter.give`)."""
    for agent in agents:
        while arbiter.give(agent, where):
            pass


def best_first(arbiter: Arbiter, key: Callable[[Agent], object]) -> None:
    """Give one gang after the other to whoever has the smallest key at that moment, the earlier arrival of equals."""
    while agents := [agent for agent in arbiter.wanting() if agent.app.gang <= arbiter.offered()]:
        arbiter.give(min(agents, key=key))  # type: ignore[arg-type]
