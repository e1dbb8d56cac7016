"""Themis: finish-time fairness by partial-allocation auctions ([Mahajan2020] §3; [Ye2022] §6.1.5).

At every round the candidates that are worst off by their estimated finish-time fairness bid for the free GPUs what
running is worth to them, 1 / rho. The auction takes the set of gangs with the largest product of values, and a winner
keeps only the part c of its prize that makes up for what the others lose by its presence: the hidden payment. What is
left goes to the candidates that did not bid.

Departures. Apps are single jobs, so that every bid is one gang or nothing. The original gives a winner the fraction c
of its GPUs; a gang is all or none, so here it gets the whole gang with probability c, drawn from a hash of job and
moment that does not depend on what was drawn before. Leftovers are given placement-aware, not at random.

What a job could expect by itself, T_isolated, has two readings; N is the average number of active jobs in its life.
`cluster-share` is T max(1, d N / M): on 1/N of the M GPUs, where a gang of d is no faster than on d ([Mahajan2020]).
`times-n` is T N: N times as long as alone, whatever the gang ([Ye2022] §4.1.2, as in `finish-time-fairness`). Public
code is split. Only the first knows the demand, which [Ye2022] says that Themis leaves out; it puts small gangs first.

What the payment guarantees, within one auction. The truth maximizes c v(gang) for a winner and v(nothing) for a
loser: what is withheld counts as worth nothing, as in the original, where values are proportional to GPUs. Here a
winner that draws a blank is as well off as a loser. Winners still cannot gain by a lie, as c depends on the bids of
the others alone, but a loser that overbids could. No lottery between running and waiting prevents that: whoever gains
by running wants the largest probability, whatever its values, so it is truthful only if it ignores the bid.

What is withheld is not given to other bidders at that round: one that shades its bid, loses and gets what the winner
may not keep would not pay. GPUs that nobody else can use then stay idle until the next round, with new lots.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.cluster.engine.state import EXPIRED, F, I, View
from astraea.cluster.policy import (
    RESOLUTION,
    all_candidates,
    average_contention,
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
    f : fairness knob, only the worst part 1 - f of the candidates bids (at least one): 0 all, 1 the single worst
    isolated : with what a job is compared: on 1/N of the cluster, or N times as long as alone
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
    """Candidates by estimated finish-time fairness if they run from now on, and that if they wait for a lease."""
    jobs = all_candidates(s)
    now, later = np.empty(len(jobs)), np.empty(len(jobs))
    for k, j in enumerate(jobs):
        shared = s.clock[0].now - s.job[j].submit_time + remaining_service(s, j)
        contention = average_contention(s, j)
        slower = contention if p.isolated == TIMES_N else max(1.0, s.job[j].demand / (s.clock[0].gpus / contention))
        alone = s.job[j].total_service * slower
        now[k], later[k] = shared / alone, (shared + p.lease_term) / alone
    order = np.argsort(-level(now), kind="mergesort")  # stable: ties in order of submission
    return jobs[order], now[order], later[order]


@inlined
def auction(demand: I, value_with: F, value_without: F, free: int) -> F:
    """Partial-allocation auction: the part of its gang that each bidder keeps; 0 for those that win nothing.

    The winners are the set of gangs that fits and has the largest product of values, that is the largest sum of
    gains log(v(gang) / v(nothing)): a 0/1 knapsack, solved exactly. In steps of 2**-30 the sums are exact, so a tie on
    paper is a tie here; it goes to the earlier bidder. Winner i keeps

        c_i = prod_{j != i} v_j(x*) / prod_{j != i} v_j(x* without i) = exp(sum of the others' gains in x* - without i)

    Always v(nothing) / v(gang) <= c_i <= 1: the others' sum is largest without i, and x* is no worse than that.
    """
    kept = np.zeros(len(demand))
    gain = level(np.log(value_with / value_without))
    bids = serious(demand, gain, free)
    if demand[bids].sum() <= free:
        kept[bids] = 1.0  # nobody is in anyone's way
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
    """Bids that could win, or take the place of one that wins: of equal gangs the best, one more than fit."""
    rank = np.zeros(free + 1, np.int64)
    stays = np.zeros(len(demand), np.bool_)
    for k in np.argsort(-gain, kind="mergesort"):
        if demand[k] <= free and gain[k] > 0:
            rank[demand[k]] += 1
            stays[k] = rank[demand[k]] <= free // demand[k] + 1
    return np.flatnonzero(stays)


@inlined
def add_bid(best: F, better: F, demand: int, gain: float) -> None:
    """The best sum of gains for each number of GPUs once one more bid is there; for none the old one holds."""
    for gpus in range(len(best)):
        better[gpus] = best[gpus] if gpus < demand else max(best[gpus], best[gpus - demand] + gain)


@inlined
def give_leftovers(s: View, jobs: I) -> None:
    """Grant what is still free to these, worst first: those that need no more nodes than they must, then the rest.

    A job that asks for renewal counts among the first while nobody takes its nodes.
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
            take(nodes, s.job[j].demand)
    for j in jobs:
        if is_open(s, j) and fits(s, j):
            grant(s, j)


@inlined
def keeps_its_nodes(s: View, nodes: I, j: int) -> bool:
    """Take what job `j` holds out of the free nodes, if all of it is still there."""
    first = s.job[j].first_piece
    piece = first
    while piece >= 0:
        if nodes[s.piece[piece].node] < s.piece[piece].gpus:
            return False
        piece = s.piece[piece].next
    piece = first
    while piece >= 0:
        nodes[s.piece[piece].node] -= s.piece[piece].gpus
        piece = s.piece[piece].next
    return True


@inlined
def free_nodes(s: View) -> I:
    """Free GPUs per node once the jobs that are not renewed have left and those granted so far have come."""
    nodes = s.node_free.copy()
    for j in renewals(s):
        piece = s.job[j].first_piece if is_open(s, j) else -1
        while piece >= 0:
            nodes[s.piece[piece].node] += s.piece[piece].gpus
            piece = s.piece[piece].next
    for j in s.granted[: s.clock[0].n_granted]:
        if s.job[j].status != EXPIRED:
            take(nodes, s.job[j].demand)
    return nodes


@inlined
def is_consolidated(nodes: I, gpus: int, per_node: int) -> bool:
    """Whether a gang fits on as few nodes as it must: whole ones and one for the rest."""
    spare = np.sum(nodes == per_node) - gpus // per_node
    rest = gpus % per_node
    partner = bool(np.any((rest <= nodes) & (nodes < per_node)))
    return spare > 0 or (spare == 0 and (rest == 0 or partner))


@inlined
def take(nodes: I, gpus: int) -> None:
    """Take a gang from the emptiest nodes one after the other, its rest from the fullest node that holds it."""
    while gpus > 0:
        node = int(np.argmax(nodes))
        for other in range(len(nodes)):
            if gpus <= nodes[other] < nodes[node]:
                node = other
        part = min(gpus, nodes[node])
        nodes[node] -= part
        gpus -= part
