"""A policy whose grants go to the nodes that Slurm would take: the simulator packs gangs closer than Slurm does."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numba
import numpy as np

from astraea.cluster.engine.state import PENDING, I, View
from astraea.cluster.policies.slurm_backfill import choose, shape
from astraea.cluster.policy import Policy, place_on

COMPILED: Final = numba.njit(error_model="numpy")
"""Anew in every process: what is kept on disk for the studies is not told of changes of the engine."""


def on_slurms_nodes(policy: Policy) -> Policy:
    """A policy that chooses no nodes, with `select/cons_tres` to say where its grants go, in order of selection."""
    select_jobs = policy.select

    @COMPILED
    def select(s: View) -> None:
        select_jobs(s)
        take_nodes(s)

    return replace(policy, name=f"{policy.name} on Slurm's nodes", select=select)


@COMPILED
def take_nodes(s: View) -> None:
    """Choose nodes for the jobs that were granted GPUs and have none yet."""
    free, everywhere = free_on_nodes(s), np.ones(len(s.node_free), np.bool_)
    for j in s.granted[: s.clock[0].n_granted]:
        if s.job[j].status == PENDING:
            count, gpus = shape(s, j)
            left = s.job[j].demand
            for node in choose(free, everywhere, count, gpus):
                place_on(s, j, node, min(left, gpus))
                free[node] -= min(left, gpus)
                left -= gpus


@COMPILED
def free_on_nodes(s: View) -> I:
    """GPUs of each node that nobody holds, once those are gone whose lease ended and was not renewed."""
    free, is_kept = s.node_free.copy(), np.zeros(len(s.job), np.bool_)
    for j in s.granted[: s.clock[0].n_granted]:
        is_kept[j] = True
    for j in s.expired[: s.clock[0].n_expired]:
        piece = -1 if is_kept[j] else s.job[j].first_piece
        while piece >= 0:
            free[s.piece[piece].node] += s.piece[piece].gpus
            piece = s.piece[piece].next
    return free
