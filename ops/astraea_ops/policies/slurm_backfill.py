"""State of Slurm's backfill scheduler: free GPUs, the expected release of the others, and nodes reserved for jobs.

From https://slurm.schedmd.com/sched_config.html and the SchedulerParameters of https://slurm.schedmd.com/slurm.conf.html:

- a running job is expected to end at its time limit;
- expected ends are handled in groups, which begin at the first multiple of 30 s after the first end on an allowed node;
  the first lasts 30 s, each further one twice as long (`bf_window_linear`);
- a reservation keeps whole nodes, and its times are multiples of `bf_resolution`.

Logs of Slurm 22.05 and 26.05 with ``DebugFlags=Backfill`` showed more rules. A job that would have to wait for a
reserved node is tried again from the moment at which one of its partition becomes free. Nodes are taken from the
shortest run of neighbours that is long enough, ties to the first (`select/cons_tres`). Versions differ (`bf_rules`):

- 22.05: a job that is tried at a later time gets the nodes on which it could start first, even before that time;
- 23.11 and newer: it gets them as if all jobs had ended that should have by then. Ends after the moment of the next
  trial are ignored;
- before 24.11, reservations end rounded down; since then, rounded up;
- 25.11 and newer: a job on one node gets the first that it fits on. A job starts when its own nodes are free, not at
  the last end of the group.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.cluster.engine.state import F, I, View
from astraea.cluster.policy import NO_JOB
from astraea.core.arrays import BoolArray
from astraea.core.compilation import inlined
from astraea.core.units import DAY

FIRST_GROUP: Final = 30.0
YEAR: Final = 365 * DAY
SLURM_22, SLURM_23, SLURM_24, SLURM_25 = range(4)
WORD: Final = 60
"""Number of nodes in one integer of `Outlook.open`."""


class Outlook(NamedTuple):
    """The state of the cluster at one pass of the scheduler, and its expected future."""

    free: I  #: (nodes,) GPUs that no job holds
    end: F  #: (GPUs,) expected ends of parts of running jobs [s], in order ...
    job: I  #: (GPUs,) ... with the job of each part ...
    node: I  #: (GPUs,) ... its node ...
    gpus: I  #: (GPUs,) ... and its GPUs
    begin: F  #: (records + 1,) starts of the records into which the future is cut; the last entry is its end [s]
    open: I  #: (records, words) unreserved nodes in each record, as bits, `WORD` nodes per integer
    kept_from: F  #: (nodes,) first reserved time of each node [s]; infinite if never
    n: I  #: (2,) numbers of parts and records


PARTS, RECORDS = range(2)


@inlined
def time_limit(s: View, j: int) -> float:
    """Return the time limit of job `j`, a year if it has none [s]."""
    return YEAR if np.isnan(s.job[j].time_limit) else s.job[j].time_limit


@inlined
def second(time: float, offset: float) -> float:
    """Return a time as Slurm keeps it, in whole seconds of its clock; `offset` is its fraction at second 0."""
    return np.floor(time + offset + 1e-6) - offset


@inlined
def shape(s: View, j: int) -> tuple[int, int]:
    """Return the nodes of job `j`, as few as hold its gang if it does not say, and its GPUs on each; fewer on some."""
    nodes = s.rules.nodes[j]
    return nodes, -(-s.job[j].demand // nodes)


@inlined
def new_plan(s: View, by_end: I, begin: float, end: float, reservations: int, offset: float) -> Outlook:
    """Return a plan without reservations from `begin` to `end`; `by_end` are the running jobs by expected end."""
    nodes, m = len(s.node_free), s.gpus
    plan = Outlook(
        s.node_free.copy(), np.empty(m), np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64),
        np.empty(2 * reservations + 2), np.empty((2 * reservations + 1, -(-nodes // WORD)), np.int64),
        np.full(nodes, np.inf), np.array([0, 1]),
    )  # fmt: skip
    plan.begin[0], plan.begin[1], plan.open[0] = begin, end, (1 << WORD) - 1
    for j in by_end:
        piece = s.job[j].first_piece
        while piece >= 0:
            k = plan.n[PARTS]
            plan.end[k] = second(s.job[j].lease_start, offset) + time_limit(s, j)
            plan.job[k], plan.node[k], plan.gpus[k] = j, s.piece[piece].node, s.piece[piece].gpus
            plan.n[PARTS] += 1
            piece = s.piece[piece].next
    return plan


@inlined
def occupy(plan: Outlook, j: int, node: int, gpus: int, end: float) -> None:
    """Start job `j` now with these GPUs of a node, which it is expected to keep until `end`."""
    plan.free[node] -= gpus
    k = plan.n[PARTS]
    while k > 0 and plan.end[k - 1] > end:
        plan.end[k], plan.job[k] = plan.end[k - 1], plan.job[k - 1]
        plan.node[k], plan.gpus[k] = plan.node[k - 1], plan.gpus[k - 1]
        k -= 1
    plan.end[k], plan.job[k], plan.node[k], plan.gpus[k] = end, j, node, gpus
    plan.n[PARTS] += 1


@inlined
def choose(free: I, allowed: BoolArray, count: int, gpus: int, rules: float) -> I:
    """Return `count` of the allowed nodes with at least `gpus` free GPUs each; none if there are too few."""
    usable = allowed & (free >= gpus)
    found = np.empty(count, np.int64)
    if usable.sum() < count:
        return found[:0]
    if count == 1 and rules >= SLURM_25:
        found[0] = np.argmax(usable)
        return found
    n = 0
    while n < count:
        best, best_length, node = -1, 0, 0
        while node < len(usable):
            first = node
            while node < len(usable) and usable[node]:
                node += 1
            length = node - first
            if length >= count - n:
                better = best_length < count - n or length < best_length
            else:
                better = best_length < count - n and length > best_length
            if length > 0 and better:
                best, best_length = first, length
            node += 1
        for k in range(best, min(best + best_length, best + count - n)):
            found[n], usable[k] = k, False
            n += 1
    return found


@inlined
def expected_start(
    plan: Outlook, allowed: BoolArray, count: int, gpus: int, now: float, at: float, later: float, rules: float,
    offset: float,
) -> tuple[float, I]:  # fmt: skip
    """Return when a job that is tried at `at`, and next at `later`, could start on the allowed nodes, and on which.

    Infinite if never.
    """
    free, group, k, barrier, usable = plan.free.copy(), FIRST_GROUP, 0, np.inf, 0
    if rules == SLURM_22:
        later = np.inf
    elif at > now:
        while k < plan.n[PARTS] and (plan.end[k] < at or (plan.end[k] == at and rules >= SLURM_25)):
            free[plan.node[k]] += plan.gpus[k]
            k += 1
    ended = k
    for node in range(len(allowed)):
        usable += allowed[node] and free[node] >= gpus
    if usable >= count:
        return now, choose(free, allowed, count, gpus, rules)
    while k < plan.n[PARTS]:
        last, owner = np.inf, NO_JOB
        while k < plan.n[PARTS]:
            if plan.end[k] > later:
                k = plan.n[PARTS]
                break
            k += 1
            node = plan.node[k - 1]
            if allowed[node]:
                usable += free[node] < gpus <= free[node] + plan.gpus[k - 1]
                free[node] += plan.gpus[k - 1]
                last, owner = plan.end[k - 1], plan.job[k - 1]
                if barrier == np.inf:
                    barrier = last + FIRST_GROUP - (last + offset) % FIRST_GROUP
            elif plan.job[k - 1] != owner:
                continue  # no matter how late that is
            if k < plan.n[PARTS] and plan.job[k] != owner and plan.end[k] > barrier + group:
                break
        if last == np.inf:
            break
        group *= 2
        while k < plan.n[PARTS] and plan.end[k] > barrier + group:
            group *= 2
        if usable >= count:
            nodes = choose(free, allowed, count, gpus, rules)
            if rules >= SLURM_25:
                for i in range(ended, k):
                    if (nodes == plan.node[i]).any():
                        last = plan.end[i]
            return max(last, now + 1), nodes
    return np.inf, choose(free, allowed, count, gpus, rules)


@inlined
def find_open(s: View, plan: Outlook, j: int, start: float, end: float, rules: float, allowed: BoolArray) -> float:
    """Write the nodes of job `j` that are unreserved in [start, end] to `allowed`.

    Return when another node of its partition becomes unreserved; infinite if never.
    """
    nodes, later = np.full(plan.open.shape[1], (1 << WORD) - 1), np.inf
    n, mine = plan.n[RECORDS], s.rules.partition_nodes[s.rules.partition[j]]
    for r in range(max(int(np.searchsorted(plan.begin[:n], start, side="right")) - 1, 0), n):
        if later == np.inf and r + 1 < n and opens(plan, nodes, r, mine):
            later = plan.begin[r + 1]
        if plan.begin[r] > end:
            if later == np.inf and r + 2 < n and rules >= SLURM_24:
                later = plan.begin[r + 2]
            break
        for w in range(len(nodes)):
            nodes[w] &= plan.open[r, w]
    for node in range(len(allowed)):
        allowed[node] = s.rules.allowed[s.rules.kind[j], node] and (nodes[node // WORD] >> (node % WORD)) & 1 == 1
    return later


@inlined
def opens(plan: Outlook, nodes: I, r: int, mine: BoolArray) -> bool:
    """Return whether a node is unreserved after record `r`, but not in it, or not in those whose nodes are given."""
    for w in range(len(nodes)):
        new = plan.open[r + 1, w] & ~(nodes[w] & plan.open[r, w])
        if new:
            for node in range(w * WORD, min((w + 1) * WORD, len(mine))):
                if mine[node] and (new >> (node % WORD)) & 1:
                    return True
    return False


@inlined
def is_reserved(plan: Outlook, nodes: I, start: float, end: float) -> bool:
    """Return whether any of these nodes is reserved within [start, end)."""
    for r in range(plan.n[RECORDS]):
        if plan.begin[r + 1] > start and plan.begin[r] < end:
            for node in nodes:
                if not (plan.open[r, node // WORD] >> (node % WORD)) & 1:
                    return True
    return False


@inlined
def reserve(plan: Outlook, nodes: I, start: float, end: float) -> None:
    """Reserve these nodes for a job from `start` to `end`."""
    first, last = cut(plan, start), cut(plan, end)
    for node in nodes:
        plan.kept_from[node] = min(plan.kept_from[node], start)
    for r in range(first, last):
        for node in nodes:
            plan.open[r, node // WORD] &= ~(1 << (node % WORD))


@inlined
def cut(plan: Outlook, time: float) -> int:
    """Cut the record that spans a time in two; return the one that begins there."""
    n = plan.n[RECORDS]
    time = min(max(time, plan.begin[0]), plan.begin[n])
    r = int(np.searchsorted(plan.begin[: n + 1], time))
    if plan.begin[r] == time:
        return r
    for k in range(n, r - 1, -1):
        plan.begin[k + 1] = plan.begin[k]
        plan.open[k] = plan.open[k - 1]
    plan.begin[r] = time
    plan.n[RECORDS] += 1
    return r


@inlined
def some_could_start(s: View, plan: Outlook, jobs: I, now: float) -> bool:
    """Return whether any of these jobs fits on nodes that are free now and unreserved until its time limit."""
    for j in jobs[::-1]:
        count, gpus = shape(s, j)
        found, end, allowed = 0, now + time_limit(s, j), s.rules.allowed[s.rules.kind[j]]
        for node in range(len(plan.free)):
            found += allowed[node] and plan.free[node] >= gpus and plan.kept_from[node] > end
        if found >= count:
            return True
    return False
