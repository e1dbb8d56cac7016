"""Gandiva_fair in the market of [Wang2023] §5.1: a fair division of GPUs that does not look at placement.

Whenever workers are free, the tenant that holds least for its share is next, with its first job whose gang can start.
Who is alone gets everything; idle workers are lent for nothing and come back when the jobs on them complete. Servers
are filled by their number, so that a gang may spread where one server could have held it.

[Chaudhary2020] divides the GPUs by time slices and migrates jobs to balance load. Jobs of this market are never
preempted, so neither is here, and fairness is as coarse as jobs are long. Its trading between GPU generations needs
several.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from papers.market.model import Market, Plan, Schedule, checked
from papers.market.policies.list_scheduling import State, dispatch, first_that_fits, place


def gandiva_fair(market: Market) -> Plan:
    """Run every job; within a tenant first come first served, smaller gangs going ahead where larger do not fit.

    A job is `is_shared` if its tenant then holds more than its quota of workers or of parameter servers; nothing is
    paid.
    """
    return dispatch(checked(market), "gandiva-fair", _choose)


def _choose(state: State) -> Schedule | None:
    held, servers, room = state.used.sum(axis=1), np.arange(state.free.shape[1]), int(state.free[0].sum())
    for tenant in np.argsort(held[0] / np.maximum(state.quota[0], 0.5), kind="stable"):
        if start := first_that_fits(state, tenant, room, lambda job: place(state, job, state.free, servers)):
            more = held[:, tenant] + (start.workers.sum(), start.ps.sum())
            return replace(start, is_shared=bool((more > state.quota[:, tenant]).any()))
    return None
