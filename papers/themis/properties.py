"""Do the promises of the partial-allocation auction hold ([Mahajan2020] §3.3)? A search among random small auctions.

All but the last one are tried on arbitrary tables; the last one on bids of apps, as Themis makes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.units import HOUR
from papers.themis.agent import Agent
from papers.themis.apps import DEFAULT_TUNER, MODELS, App, AppTrace
from papers.themis.arbiter import Arbiter
from papers.themis.auction import Bid, auction
from papers.themis.policies import bid, partial_prize

PROPERTIES: Final = (
    # no other rows that fit have a larger product of values; all combinations are tried
    "product is maximal",
    # every bidder keeps a part of its prize, and a loser pays nothing
    "payments in [0, 1]",
    # no other table of values gives a bidder more, if to keep the part c of a prize is worth c times the prize
    "truth is a best response",
    # the same where winners keep all; it is a control: the search must find lies that pay
    "truth is a best response, without payments",
    # the same for what Themis hands out here: whole gangs, of which one more or less is drawn by lot; a lie pays if the
    # expected value of what is kept, the app's own 1 / rho with so many gangs, grows by more than `WORTHWHILE`
    "truth is a best response, in whole gangs",
)

EXACT: Final = 1e-9
"""Products and gains are the same up to this part."""

WORTHWHILE: Final = 0.01
"""Least gain of a lie that counts in whole gangs."""

Case = tuple[list[Bid], IntArray]
"""An auction: bids, and the room for their lots."""


def violated(seed: int) -> dict[str, bool]:
    """Return which of `PROPERTIES` fail in the random auction of a seed."""
    case = random_case(seed)
    out = auction(*case)
    keeps_parts = bool(((out.kept >= 0) & (out.kept <= 1) & ((out.row > 0) | (out.kept == 1))).all())
    with_payments, without = gains(case, seed)
    lies_pay = (with_payments > EXACT, without > EXACT, gain_in_gangs(seed) > WORTHWHILE)
    return dict(zip(PROPERTIES, (not is_maximal(case), not keeps_parts, *lies_pay), strict=True))


def random_case(seed: int) -> Case:
    """Two to four bids of two to five rows: lots of one and of two to four units on random machines."""
    rng = np.random.default_rng([seed])
    sizes = np.array([1, rng.integers(2, 5)])
    room = (rng.integers(0, 2 * sizes[1] + 1, rng.integers(1, 4))[:, None] // sizes).sum(axis=0)
    bids = []
    for _ in range(rng.integers(2, 5)):
        rows = rng.integers(2, 6)
        lots = rng.integers(0, 3, (rows, 2))
        lots[0] = 0
        use = lots @ np.array([[1, 0], [sizes[1], 1]])
        bids.append(Bid(use, rng.lognormal(-1, 1) * np.append(1.0, np.exp(rng.normal(0.7, 1.0, rows - 1)))))
    return bids, room


def is_maximal(case: Case) -> bool:
    """Return True if no combination of rows that fits has a larger product of values."""
    bids, room = case
    use, value = np.zeros((1, len(room)), np.int64), np.ones(1)  # of the combinations for the bidders so far
    for b in bids:
        use = (use[:, None] + b.use).reshape(-1, len(room))
        value = (value[:, None] * b.value).ravel()
    best = float(value[(use <= room).all(axis=1)].max())
    won = auction(bids, room).row
    return bool(np.prod([b.value[r] for b, r in zip(bids, won, strict=True)]) >= best * (1 - EXACT))


def gains(case: Case, seed: int) -> tuple[float, float]:
    """Largest part by which the first bidder gains by a lie, with payments and without."""
    truth = case[0][0].value
    won = [(float(truth[row]), kept) for row, kept in of_the_first(case, [truth, *misreports(truth, seed)])]
    prizes, parts = [prize for prize, _ in won], [kept * prize for prize, kept in won]
    return max(parts) / parts[0] - 1, max(prizes) / prizes[0] - 1


def of_the_first(case: Case, values: Iterable[FloatArray]) -> Iterator[tuple[int, float]]:
    """Yield the row that the first bidder wins with each of these values, and the part of it that it keeps."""
    (first, *others), room = case
    for reported in values:
        out = auction([first._replace(value=reported), *others], room)
        yield int(out.row[0]), float(out.kept[0])


def misreports(value: FloatArray, seed: int) -> list[FloatArray]:
    """Other values that a bidder might report: bent, some changed, in another order, and any."""
    rng = np.random.default_rng([seed, 1])
    each = np.eye(len(value), dtype=bool)
    out = [value[0] * (value / value[0]) ** power for power in (0.0, 0.3, 0.7, 0.9, 1.1, 1.5, 3.0)]
    out += [np.where(one, value * factor, value) for one in each for factor in (0.3, 0.9, 1.1, 3.0)]
    out += [rng.permutation(value) for _ in range(5)]
    return out + [value * rng.lognormal(0, sigma, len(value)) for sigma in (0.2, 1.0) for _ in range(10)]


def offer(apps: Sequence[App], machines: Sequence[int], now: float, lease_term: float = 900.0) -> Arbiter:
    """Return an arbiter to which apps came when the cluster was empty; none got GPUs, and all are on offer now [s]."""
    arbiter = Arbiter(AppTrace("offer", tuple(apps), np.array(machines)), lease_term)
    for i, app in enumerate(apps):
        arbiter.now = app.arrival
        arbiter.arrive(Agent(i, app, 0.0, 0))
    arbiter.now = now
    return arbiter


def random_offer(seed: int) -> Arbiter:
    """Two to four apps of one to five jobs that have waited for up to an hour, and two to four machines."""
    rng = np.random.default_rng([seed, 2])
    apps = []
    for i, arrival in enumerate(np.sort(rng.uniform(0, HOUR, rng.integers(2, 5)))):
        tuner = DEFAULT_TUNER._replace(longest=int(rng.integers(4, 41)))
        loss = tuple(np.ones(1) for _ in range(rng.integers(1, 6)))  # never read: no job has run
        gang, epoch = int(rng.choice([2, 4])), float(rng.uniform(20, 300))
        apps.append(App(f"app-{i}", float(arrival), str(rng.choice(list(MODELS))), gang, epoch, loss, tuner))
    return offer(apps, [4, *rng.choice([2, 4], rng.integers(1, 4)).tolist()], HOUR)


def gain_in_gangs(seed: int) -> float:
    """Largest part by which the first app of a random offer gains by a lie, in whole gangs."""
    arbiter = random_offer(seed)
    made = [bid(arbiter, agent) for agent in arbiter.agents]
    truth, rows = made[0]
    case = [b for b, _ in made], arbiter.room()
    found = list(of_the_first(case, [truth.value, *misreports(truth.value, seed)]))
    worth = {(row, kept): expected_value(arbiter, arbiter.agents[0], rows[row], kept) for row, kept in set(found)}
    return max(worth.values()) / worth[found[0]] - 1


def expected_value(arbiter: Arbiter, agent: Agent, row: IntArray, kept: float) -> float:
    """Mean of 1 / rho over the lot that decides about the last gang of the part `kept` of a row."""
    gangs = int(row.sum())
    fewer = int(kept * gangs + EXACT)
    chance = max(kept * gangs - fewer, 0.0)
    parts = [partial_prize(arbiter, agent, row, n / gangs) if n else (0, 0) for n in (fewer, min(fewer + 1, gangs))]
    low, high = 1 / arbiter.rhos_with(agent, np.array(parts))
    return float(low + chance * (high - low))
