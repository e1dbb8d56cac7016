"""Grants of each policy, by hand: bidders, payments, lies; the auction compared with all combinations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from themis_small import app, arbiter_of, decided, tables, workload

from astraea.core.arrays import IntArray
from astraea.core.errors import InputError
from papers.themis.auction import Bid, auction
from papers.themis.policies import POLICIES, get_policy, partial_prize
from papers.themis.simulate import simulate
from papers.themis.workload import sample_workload


def test_optimus_prefers_what_scales() -> None:
    """4 GPUs on one machine, 2 on each of two others.

    Throughput gained for each GPU: a, VGG16 on 4 GPUs, 4**-0.15 = 0.81, spread 0.41; b, ResNet50 on 4, 4**-0.05 = 0.93,
    spread 0.75; c, VGG16 on 2, 2**-0.15 = 0.90. So b goes first; then the large machine is taken and c is better than
    b, and no other gang fits. Without c, b has both.
    """
    apps = [app("a", [5], gang=4), app("b", [5] * 2, gang=4, model="resnet50"), app("c", [5], gang=2)]
    assert decided(arbiter_of(workload(apps, 4, 2, 2)), "optimus") == [0, 1, 1]
    assert decided(arbiter_of(workload(apps[:2], 4, 2, 2)), "optimus") == [0, 2]


def test_gandiva_leaves_the_smallest_hole() -> None:
    """On one machine of 4, b leaves no hole. With a machine of 2 neither does, so the earlier is first.

    Where only two machines of 2 are free, ResNet50 is slower by 1.25, VGG16 by 2; a gang of 2 goes before both.
    """
    apps = [app("a", [5], gang=2), app("b", [5], gang=4), app("c", [5], gang=4, model="resnet50")]
    assert decided(arbiter_of(workload(apps[:2], 4)), "gandiva-packing") == [0, 1]
    assert decided(arbiter_of(workload(apps[:2], 4, 2)), "gandiva-packing") == [1, 1]
    for some, expected in ((apps[1:], [0, 1]), ([*apps[1:], apps[0]], [0, 0, 1])):
        arbiter = arbiter_of(workload(some, 4, 2, 2))
        arbiter.free = [0, 2, 2]
        assert decided(arbiter, "gandiva-packing") == expected


def test_slaq() -> None:
    """The steepest loss first, for each GPU: over the later two of 4 epochs 2 against 5, against 5 / 4.

    With less than two epochs, b goes before all. After two, the second of which lowered its loss by 2, that is steeper
    than 2 in two epochs.
    """
    for gang_of_b, epochs, gangs in ((1, 4.0, [0, 1]), (4, 4.0, [1, 0]), (4, 1.0, [0, 1]), (1, 2.0, [0, 1])):
        apps = [app("a", [[9, 5, 4, 3, 1, 1]]), app("b", [[9, 7, 6, 2, 1, 1]], gang=gang_of_b)]
        arbiter = arbiter_of(workload(apps, 4))
        arbiter.free = [gang_of_b]
        arbiter.agents[0].epochs[0], arbiter.agents[1].epochs[0] = 4.5, epochs  # of the epoch it is in nothing counts
        assert decided(arbiter, "slaq") == gangs, (gang_of_b, epochs)


def test_strawman() -> None:
    """It believes the apps' reports: the one with the larger rho gets all that it wants."""
    for lies, expected in (({}, [4, 0]), ({1: 2.0}, [0, 4])):
        arbiter = arbiter_of(workload([app("a", [10] * 4), app("b", [10] * 4, arrival=600.0)], 4), lies=lies)
        arbiter.now = 1200.0
        assert arbiter.rhos(arbiter.agents) == pytest.approx([7 / 3, 3 / 2 * lies.get(1, 1.0)])
        assert decided(arbiter, "strawman") == expected


def test_astraea_with_a_lease_that_does_not_end() -> None:
    """Two equal apps share the GPUs for ever as they do for an hour."""
    for term in (3600.0, np.inf):
        arbiter = arbiter_of(workload([app("a", [5] * 4), app("b", [5] * 4)], 4), lease_term=term)
        assert decided(arbiter, "astraea") == [2, 2], term


@pytest.mark.parametrize(
    "name, parameters, said",
    [
        ("fifo", {}, f"policy must be one of {', '.join(POLICIES)}, got 'fifo'"),
        ("tiresias", {"f": 0.5}, "policy tiresias takes no parameter 'f'"),
        ("themis", {"f": 1.1}, "f must be a number from 0 to 1, got 1.1"),
        ("themis", {"wait": -1.0}, "wait must be a number of at least 0, got -1.0"),
    ],
)
def test_bad_names_and_parameters(name: str, parameters: dict[str, Any], said: str) -> None:
    """One sentence with the value and what is expected."""
    with pytest.raises(InputError) as error:
        get_policy(name, **parameters)
    assert str(error.value) == said


@pytest.mark.parametrize("policy", [*POLICIES, "themis, f = 0"])
def test_whom_a_lie_helps(policy: str) -> None:
    """An app that reports a larger rho gets into the auction more often, or gets GPUs at once; it ends earlier.

    Elsewhere the tables are the same, byte by byte. A policy that asks for no rho cannot be lied to, and with f = 0 it
    only matters how much more a bidder's rows are worth than nothing.
    """
    name, _, all_bid = policy.partition(",")
    crowded = sample_workload(8, 2.0, 6, np.array([4, 4, 2, 2]))
    chosen = get_policy(name, **({"f": 0.0} if all_bid else {}))
    truth, lie = (simulate(crowded, chosen, lies={"app-3": factor}) for factor in (1.0, 3.0))
    if policy in ("themis", "strawman"):
        assert lie.apps["end_time"][3] < truth.apps["end_time"][3]
    else:
        assert tables(lie) == tables(truth)


def test_only_the_worst_off_bids() -> None:
    """f = 1 on 4 GPUs: the worst off gets the 2 gangs that it wants, the leftovers the others, worst off first.

    At 1200 s nothing has run. a, 2 jobs of 600 s, came at 0: N = 2.25, T_isolated = 1200 / (4 / 2.25) = 675 s and
    rho = 1 + 1200 / 675 = 2.8. b, 3 jobs, came at 300 s: N = 8/3, 1800 / 1.5 = 1200 s, rho = 1.75. c, one job, came at
    600 s: 600 s, rho = 2.
    """
    apps = [app("a", [10] * 2), app("b", [10] * 3, arrival=300.0), app("c", [10], arrival=600.0)]
    arbiter = arbiter_of(workload(apps, 4))
    arbiter.now = 1200.0
    assert arbiter.rhos(arbiter.agents) == pytest.approx([1 + 1200 / 675, 1.75, 2.0])
    assert decided(arbiter, "themis", f=1.0) == [2, 1, 1]


def test_leftovers_on_one_machine_come_first() -> None:
    """f = 1 with 2 + 1 + 1 GPUs free: the worst off, a, had better wait than be spread, when VGG16 is half as fast.

    Of the others b is worse off but could only be spread; so c goes first, and nothing is left for b.
    """
    apps = [
        app("a", [10], gang=4, epoch=600.0),
        app("b", [10], gang=4, epoch=600.0, arrival=60.0),
        app("c", [10], gang=2, epoch=600.0, arrival=900.0),
    ]
    for some, gangs in ((apps, [0, 0, 1]), (apps[:2], [0, 1])):  # without c, b is spread
        arbiter = arbiter_of(workload(some, 4, 2, 2, 2))
        arbiter.now, arbiter.free = 1200.0, [0, 2, 1, 1]
        rhos = arbiter.rhos(arbiter.agents).tolist()
        assert rhos == sorted(rhos, reverse=True)
        assert decided(arbiter, "themis", f=1.0) == gangs


def test_everybody_bids_and_pays() -> None:
    """f = 0, two equal apps on 4 GPUs, each with 4 jobs of 600 s, leases of 900 s.

    N = 2, so T_isolated = 2400 / 2 = 1200 s. With n gangs, 2400 / n s: 1 / rho = n / 2. With none, 900 + 2400 s:
    1 / rho = 4 / 11. Two each is best: 1, against 3/2 * 1/2 and 2 * 4/11. Without the other, either would have 4, worth
    2 instead of 1, so each keeps one half: 1 gang. The other 2 GPUs are withheld. With 8 GPUs nobody pays.
    """
    for gpus, gangs, left in ((4, [1, 1], 2), (8, [4, 4], 0)):
        arbiter = arbiter_of(workload([app("a", [10] * 4), app("b", [10] * 4)], gpus))
        assert decided(arbiter, "themis", f=0.0) == gangs
        assert arbiter.offered == left


def test_parts_of_gangs_are_drawn() -> None:
    """0.3 of 2 gangs is one gang in 6 of 10 rounds, never two; what is on one machine is kept first."""
    arbiter = arbiter_of(workload([app("a", [1])], 1))
    agent, kept = arbiter.agents[0], []
    for k in range(2000):
        arbiter.now = 60.0 * k
        kept.append(partial_prize(arbiter, agent, np.array([1, 1]), 0.3))
    assert set(kept) == {(0, 0), (1, 0)}
    assert np.mean([local for local, _ in kept]) == pytest.approx(0.6, abs=0.05)
    assert partial_prize(arbiter, agent, np.array([1, 2]), 2 / 3) == (1, 1)
    assert partial_prize(arbiter, agent, np.array([3, 2]), 1.0) == (3, 2)
    assert partial_prize(arbiter, agent, np.array([0, 0]), 1.0) == (0, 0)


STEP = 2.0**-40
"""Gains, and so logarithms of payments per bidder, are known up to this."""


def random_case(seed: int, bidders: int = 5, rows: int = 4) -> tuple[list[Bid], IntArray]:
    """Bids of lots, and the room on random machines; every third has few gains, so that many products are equal."""
    rng = np.random.default_rng(seed)
    chains = ([1], [2], [1, 2], [2, 4], [1, 3], [1, 2, 4], [1, 4, 8], [1, 3, 6])
    sizes = np.array(chains[rng.integers(len(chains))])
    shares = np.tril(sizes[:, None] // sizes)  # row: size of the lot, column: size of the room
    machines = rng.integers(0, 2 * sizes[-1] + 1, rng.integers(1, 4))
    if seed % 10 == 7:
        machines[:] = 0
    bids = []
    for _ in range(rng.integers(2, bidders + 1) if seed % 8 else 1):
        n = int(rng.integers(2, rows + 1))
        lots = rng.integers(0, 3, (n, len(sizes)))
        lots[0] = 0
        ratio = rng.choice([0.5, 1.0, 2.0, 4.0], n) if seed % 3 == 0 else np.exp(rng.normal(0.7, 1.0, n))
        ratio[0] = 1.0
        bids.append(Bid(lots @ shares, ratio * (0.25 if seed % 3 == 0 else rng.lognormal(-2, 1))))
    if seed % 4 == 1:
        bids[-1] = bids[0]
    return bids, (machines[:, None] // sizes).sum(axis=0)


def by_hand(bids: Sequence[Bid], room: IntArray) -> tuple[list[int], float]:
    """A row of each bidder, and the sum of the logarithms of values: all combinations are tried.

    Of equal products each bidder in turn has its largest gain, then its first row.
    """
    combos = np.array(list(product(*(range(len(b.value)) for b in bids))), np.int64)
    use, gain, log_product = np.zeros((len(combos), len(room)), np.int64), np.zeros(len(combos)), np.zeros(len(combos))
    gains = [np.rint(np.log(b.value / b.value[0]) / STEP) for b in bids]
    for i, b in enumerate(bids):
        use += b.use[combos[:, i]]
        gain += gains[i][combos[:, i]]
        log_product += np.log(b.value[combos[:, i]])
    fits = (use <= room).all(axis=1)
    best = combos[fits & (gain == gain[fits].max())]
    row = max(best.tolist(), key=lambda c: [(gains[i][r], -r) for i, r in enumerate(c)])
    return row, log_product[fits].max()


@pytest.mark.parametrize(
    "seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(20, 160))]
)
def test_winners_and_payments_are_those_of_all_combinations(seed: int) -> None:
    """Product, tie-breaking and hidden payments are those of brute force."""
    bids, room = random_case(seed, *((7, 6) if seed == 10 else ()))
    out = auction(bids, room)
    logs = np.array([np.log(b.value[r]) for b, r in zip(bids, out.row, strict=True)])
    row, log_product = by_hand(bids, room)
    assert (np.sum([b.use[r] for b, r in zip(bids, out.row, strict=True)], axis=0) <= room).all()
    assert logs.sum() == pytest.approx(log_product, abs=2 * STEP * len(logs))
    assert out.row.tolist() == row
    for i in range(len(logs)):
        _, others = by_hand([*bids[:i], *bids[i + 1 :]], room) if len(bids) > 1 else ([], 0.0)
        assert np.log(out.kept[i]) == pytest.approx(logs.sum() - logs[i] - others, abs=2 * STEP * len(logs))
        assert out.kept[i] <= 1
        assert np.log(out.kept[i]) + logs[i] >= np.log(bids[i].value[0]) - 2 * STEP
        assert out.row[i] > 0 or out.kept[i] == 1


def test_products_of_many_values_neither_vanish_nor_overflow() -> None:
    """If all want one lot, those with the largest ratios win and pay for the first loser.

    A value may be so much larger than nothing that their ratio is no float.
    """
    for scale in (1e-300, 1.0, 1e300):
        ratio = np.random.default_rng(0).permutation(1.0 + np.arange(1, 301) / 8)
        out = auction([Bid(np.array([[0], [1]]), np.array([scale, scale * r])) for r in ratio], np.array([20]))
        assert set(np.flatnonzero(out.row)) == set(np.argsort(-ratio)[:20])
        assert out.kept[out.row > 0] == pytest.approx(1 / np.sort(ratio)[-21])
    bids = [Bid(np.array([[0], [1]]), np.array([1e-300, top])) for top in (1e299, 1e300, 1e-299)]
    out = auction(bids, np.array([1]))
    assert out.row.tolist() == [0, 1, 0]
    assert out.kept[1] == 0.0  # 1e-599
