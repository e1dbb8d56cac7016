"""Do the promises of the partial-allocation auction hold ([Mahajan2020] §3.3)? Random small auctions, and one by hand.

The first four are tried on arbitrary tables; the last one on bids of apps, as Themis makes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.units import HOUR
from papers.themis.agent import Agent
from papers.themis.apps import DEFAULT_TUNER, MODELS, App, AppTrace
from papers.themis.arbiter import Arbiter
from papers.themis.auction import Bid, auction
from papers.themis.policies.themis import bid, partial_prize

PROPERTIES: Final = (
    # no other rows that fit have a larger product of values; all combinations are tried
    "product is maximal",
    # every bidder keeps a part of its prize
    "payments in [0, 1]",
    # no other table of values gives a bidder more, if to keep the part c of a prize is worth c times the prize
    "truth is a best response",
    # the same where winners keep all; it is a control: the search must find lies that pay
    "truth is a best response, without payments",
    # the same for what Themis hands out here: whole gangs, of which one more or less is drawn by lot; a lie pays if the
    # expected value of what is kept, the app's own 1 / rho with so many gangs, grows by more than `WORTHWHILE`
    "truth is a best response, in whole gangs",
)

LEASE: Final = 900.0
EXACT: Final = 1e-9
"""Products and gains are the same up to this part."""

WORTHWHILE: Final = 0.01
"""Least gain of a lie that counts in whole gangs."""

Case = tuple[list[Bid], IntArray]
"""An auction: bids, and the room for their lots."""


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


def offer(apps: Sequence[App], machines: IntArray, now: float) -> tuple[Arbiter, list[Agent]]:
    """Apps that came to an empty cluster and have waited since, and all GPUs on offer now [s]."""
    arbiter = Arbiter(AppTrace("offer", tuple(apps), machines), LEASE, {})
    for i, app in enumerate(apps):
        arbiter.now = app.arrival
        arbiter.arrive(Agent(i, app, 0.0, 0))
    arbiter.now = now
    return arbiter, arbiter.agents


def random_offer(seed: int) -> tuple[Arbiter, list[Agent]]:
    """Two to four apps of one to five jobs that have waited for up to an hour, and two to four machines."""
    rng = np.random.default_rng([seed, 2])
    apps = []
    for i, arrival in enumerate(np.sort(rng.uniform(0, HOUR, rng.integers(2, 5)))):
        tuner = DEFAULT_TUNER._replace(longest=int(rng.integers(4, 41)))
        loss = tuple(np.ones(1) for _ in range(rng.integers(1, 6)))  # never read: no job has run
        gang, epoch = int(rng.choice([2, 4])), float(rng.uniform(20, 300))
        apps.append(App(f"app-{i}", float(arrival), str(rng.choice(list(MODELS))), gang, epoch, loss, tuner))
    machines = np.append(4, rng.choice([2, 4], rng.integers(1, 4)))
    return offer(apps, machines, HOUR)


def gain_in_gangs(seed: int) -> float:
    """Largest part by which the first app of a random offer gains by a lie, in whole gangs."""
    arbiter, agents = random_offer(seed)
    made = [bid(arbiter, agent) for agent in agents]
    truth, rows = made[0]
    case = [b for b, _ in made], arbiter.room()
    found = list(of_the_first(case, [truth.value, *misreports(truth.value, seed)]))
    worth = {(row, kept): expected_value(arbiter, agents[0], rows[row], kept) for row, kept in set(found)}
    return max(worth.values()) / worth[found[0]] - 1


def expected_value(arbiter: Arbiter, agent: Agent, row: IntArray, kept: float) -> float:
    """Mean of 1 / rho over the lot that decides about the last gang of the part `kept` of a row."""
    gangs = int(row.sum())
    fewer = int(kept * gangs + EXACT)
    chance = max(kept * gangs - fewer, 0.0)
    parts = [partial_prize(arbiter, agent, row, n / gangs) if n else (0, 0) for n in (fewer, min(fewer + 1, gangs))]
    low, high = 1 / arbiter.rhos_with(agent, np.array(parts))
    return float(low + chance * (high - low))


def failures(first: int, last: int) -> pd.DataFrame:
    """Return the properties that fail, a row for each seed from `first` to `last` - 1; columns `PROPERTIES`."""
    rows = []
    for seed in range(first, last):
        case = random_case(seed)
        kept = auction(*case).kept
        with_payments, without = gains(case, seed)
        keeps_parts = bool(((kept >= 0) & (kept <= 1)).all())
        lies_pay = (with_payments > EXACT, without > EXACT, gain_in_gangs(seed) > WORTHWHILE)
        rows.append((not is_maximal(case), not keeps_parts, *lies_pay))
    return pd.DataFrame(rows, columns=list(PROPERTIES))


def example_table() -> pd.DataFrame:
    """One auction in detail: three apps that differ in their models only, two machines of 4 GPUs and two of 2.

    Each has two jobs, of gangs of 4, and has waited for ten minutes. A row for each of a bid, columns app, local,
    spread, rho, won, kept: gangs on one machine each and spread ones, and the part of them that is kept, if won.
    """
    loss = (np.ones(1), np.ones(1))  # never read: no job has run
    tuner = DEFAULT_TUNER._replace(longest=8)
    apps = [App(model, 0.0, model, 4, 120.0, loss, tuner) for model in MODELS]
    arbiter, agents = offer(apps, np.array([4, 4, 2, 2]), 600.0)
    made = [bid(arbiter, agent) for agent in agents]
    out = auction([b for b, _ in made], arbiter.room())
    parts = []
    for app, (table, rows), row, kept in zip(apps, made, out.row, out.kept, strict=True):
        won = np.arange(len(rows)) == row
        columns = {"local": rows[:, 0], "spread": rows[:, 1], "rho": 1 / table.value, "won": won}
        parts.append(pd.DataFrame({"app": app.name, **columns, "kept": np.where(won, kept, np.nan)}))
    return pd.concat(parts, ignore_index=True)
