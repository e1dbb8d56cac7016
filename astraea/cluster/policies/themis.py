"""Themis: finish-time fairness by partial-allocation auctions ([Mahajan2020] §3; [Ye2022] §6.1.5).

In every round the candidates with the worst estimated finish-time fairness bid for the free GPUs; a bid is the value of
running, 1 / rho. The auction takes the set of gangs with the largest product of values. A winner keeps only the part c
of its prize, which compensates for the loss of the others from its presence: the hidden payment. The rest goes to the
candidates that did not bid.

Departures. Apps are single jobs, so every bid is one gang or nothing. The original gives a winner the fraction c of its
GPUs. A gang is all or nothing, so here a winner gets the whole gang with probability c, drawn from a hash of job and
time that does not depend on earlier draws. Leftovers are given placement-aware, not at random.

T_isolated, the time that a job could expect by itself, has two readings; N is the average number of active jobs during
its life. `cluster-share` is T max(1, d N / M): on 1/N of the M GPUs, where a gang of d is no faster than on d
([Mahajan2020]). `times-n` is T N: N times as long as alone, whatever the gang ([Ye2022] §4.1.2, as in
`finish-time-fairness`). Public implementations differ. Only the first reading uses the demand, which [Ye2022] says
Themis ignores; it puts small gangs first.

The payment's guarantee, within one auction. Truth maximizes c v(gang) for a winner and v(nothing) for a loser: the
withheld part counts as worthless, as in the original, where values are proportional to GPUs. Here a winner that draws a
blank is as well off as a loser. Winners still cannot gain by a lie, because c depends only on the others' bids, but a
loser that overbids could gain. No lottery between running and waiting prevents that: a job that gains by running wants
the largest probability, whatever its values, so it is truthful only if the lottery ignores the bid.

Withheld GPUs are not given to other bidders in that round; otherwise a job could shade its bid, lose, and get for free
what the winner may not keep. GPUs that no other job can use then stay idle until the next round, with new draws.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.cluster.engine.accounting import average_contention
from astraea.cluster.engine.state import EXPIRED, F, I, View, held_by
from astraea.cluster.policy import (
    RESOLUTION,
    all_candidates,
    fits,
    grant,
    is_open,
    level,
    policy,
    remaining_service,
    renewals,
    some_job_fits,
    unpack,
)
from astraea.core.compilation import inlined
from astraea.core.random import lottery, number_of_bidders

ISOLATED: Final = ("cluster-share", "times-n")
CLUSTER_SHARE, TIMES_N = range(2)


class Parameters(NamedTuple):
    """Parameters of Themis.

    lease_term : s, length of a lease
    f : fairness knob, only the worst part 1 - f of the candidates bids (at least one): 0 for all, 1 for the worst
    isolated : baseline of a job: on 1/N of the cluster, or N times as long as alone
    """

    lease_term: float = 900.0
    f: float = 0.8
    isolated: float = CLUSTER_SHARE


@policy("themis", Parameters, needs_estimates=True, at_most={"f": 1}, choices={"isolated": ISOLATED})
def themis(s: View) -> None:
    """Themis: finish-time fairness by partial-allocation auctions ([Mahajan2020] §3)."""
    p = unpack(Parameters, s.parameters)
    if not some_job_fits(s):
        return
    jobs, rho_now, rho_later = worst_first(s, p)
    n = number_of_bidders(len(jobs), p.f)
    demand = s.job.demand[jobs[:n]]
    kept = auction(demand, 1 / rho_now[:n], 1 / rho_later[:n], s.clock[0].free)
    lot = lottery(jobs[:n], s.clock[0].now)
    for k in range(n):
        if lot[k] < kept[k]:
            grant(s, jobs[k])
    give_leftovers(s, jobs[n:])


@inlined
def worst_first(s: View, p: Parameters) -> tuple[I, F, F]:
    """Return candidates, worst first, with estimated finish-time fairness if they run now, and if they wait."""
    jobs = all_candidates(s)
    now, later = np.empty(len(jobs)), np.empty(len(jobs))
    for k, j in enumerate(jobs):
        shared = s.clock[0].now - s.job[j].submit_time + remaining_service(s, j)
        contention = average_contention(s, j, s.clock[0].now)
        slower = contention if p.isolated == TIMES_N else max(1.0, s.job[j].demand / (s.clock[0].gpus / contention))
        alone = s.job[j].total_service * slower
        now[k], later[k] = shared / alone, (shared + p.lease_term) / alone
    order = np.argsort(-level(now), kind="mergesort")  # stable: ties in order of submission
    return jobs[order], now[order], later[order]


@inlined
def auction(demand: I, value_with: F, value_without: F, free: int) -> F:
    """Hold a partial-allocation auction; return the part of its gang that each bidder keeps, 0 for losers.

    The winners are the set of gangs that fits and has the largest product of values, that is, the largest sum of gains
    log(v(gang) / v(nothing)): a 0/1 knapsack, solved exactly. In steps of 2**-30 the sums are exact, so a tie on paper
    is a tie here; it goes to the earlier bidder. Winner i keeps

        c_i = prod_{j != i} v_j(x*) / prod_{j != i} v_j(x* without i) = exp(sum of the others' gains in x* - without i)

    Always v(nothing) / v(gang) <= c_i <= 1: the others' sum is largest without i, and x* is no worse than that.
    """
    kept = np.zeros(len(demand))
    gain = level(np.log(value_with / value_without))
    bids = serious(demand, gain, free)
    if demand[bids].sum() <= free:
        kept[bids] = 1.0  # no bid is in the way of another
        return kept
    n = len(bids)
    before, after = np.zeros((n + 1, free + 1)), np.zeros((n + 1, free + 1))  # best sum of the first k, of the rest
    for k in range(n):
        add_bid(before[k], before[k + 1], demand[bids[k]], gain[bids[k]])
    for k in range(n - 1, -1, -1):
        add_bid(after[k + 1], after[k], demand[bids[k]], gain[bids[k]])
    left = free
    for k in range(n):
        d, g = demand[bids[k]], gain[bids[k]]
        if d <= left and g + after[k + 1, left - d] >= after[k + 1, left]:
            left -= d
            without = (before[k] + after[k + 1, ::-1]).max()
            kept[bids[k]] = np.exp((after[0, free] - g - without) / RESOLUTION)
    return kept


@inlined
def serious(demand: I, gain: F, free: int) -> I:
    """Return the bids that could win, or replace a winner: of equal gangs the best, one more than fit."""
    rank = np.zeros(free + 1, np.int64)
    stays = np.zeros(len(demand), np.bool_)
    for k in np.argsort(-gain, kind="mergesort"):
        if demand[k] <= free and gain[k] > 0:
            rank[demand[k]] += 1
            stays[k] = rank[demand[k]] <= free // demand[k] + 1
    return np.flatnonzero(stays)


@inlined
def add_bid(best: F, better: F, demand: int, gain: float) -> None:
    """Update the best sum of gains for each number of GPUs with one more bid; for 0 GPUs it does not change."""
    for gpus in range(len(best)):
        better[gpus] = best[gpus] if gpus < demand else max(best[gpus], best[gpus - demand] + gain)


@inlined
def give_leftovers(s: View, jobs: I) -> None:
    """Grant the remaining GPUs to these jobs, worst first: first jobs on as few nodes as possible, then the rest.

    A job that asks for renewal counts among the first while no other job takes its nodes.
    """
    if not some_job_fits(s):
        return
    nodes = free_nodes(s)
    for j in jobs:
        if not (is_open(s, j) and fits(s, j)):
            continue
        if s.job[j].status == EXPIRED and keeps_its_nodes(s, nodes, j):
            grant(s, j)
        elif s.job[j].status != EXPIRED and is_consolidated(nodes, s.job[j].demand, s.clock[0].gpus_per_node):
            grant(s, j)
            remove_gang(nodes, s.job[j].demand)
    for j in jobs:
        if is_open(s, j) and fits(s, j):
            grant(s, j)


@inlined
def keeps_its_nodes(s: View, nodes: I, j: int) -> bool:
    """Remove the GPUs of job `j` from the free nodes if all of them are still there; return whether they are."""
    held = held_by(s, j)
    if (nodes < held).any():
        return False
    nodes -= held
    return True


@inlined
def free_nodes(s: View) -> I:
    """Return the free GPUs per node after the jobs that are not renewed have left and the granted ones have started."""
    nodes = s.node_free.copy()
    for j in renewals(s):
        if is_open(s, j):
            nodes += held_by(s, j)
    for j in s.granted[: s.clock[0].n_granted]:
        if s.job[j].status != EXPIRED:
            remove_gang(nodes, s.job[j].demand)
    return nodes


@inlined
def is_consolidated(nodes: I, gpus: int, per_node: int) -> bool:
    """Return whether a gang fits on as few nodes as possible: whole ones and one for the rest."""
    spare = np.sum(nodes == per_node) - gpus // per_node
    rest = gpus % per_node
    partner = bool(np.any((rest <= nodes) & (nodes < per_node)))
    return spare > 0 or (spare == 0 and (rest == 0 or partner))


@inlined
def remove_gang(nodes: I, gpus: int) -> None:
    """Remove a gang from the emptiest nodes one after the other, and its rest from the fullest node that holds it."""
    while gpus > 0:
        node = int(np.argmax(nodes))
        for other in range(len(nodes)):
            if gpus <= nodes[other] < nodes[node]:
                node = other
        part = min(gpus, nodes[node])
        nodes[node] -= part
        gpus -= part
