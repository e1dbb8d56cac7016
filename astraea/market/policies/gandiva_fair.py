"""Gandiva_fair in the market of [Wang2023] §5.1: a fair division of GPUs that does not look at placement.

Whenever workers are free, the tenant that holds least for its share is next, with its first job whose gang can start.
Who is alone gets everything; idle workers are lent for nothing and come back when the jobs on them complete. Servers
are filled by their number, so that a gang may spread where one server could have held it.

[Chaudhary2020] divides the GPUs by time slices and migrates jobs to balance load. Jobs of this market are never
preempted, so neither is here, and fairness is as coarse as jobs are long. Its trading between GPU generations needs
several.

[Chaudhary2020] Chaudhary et al., Balancing Efficiency and Fairness in Heterogeneous GPU Clusters for Deep Learning,
EuroSys 2020.
"""

from __future__ import annotations

import numpy as np

from astraea.market.model import Market, checked
from astraea.market.policies.list_scheduling import NEVER, Start, State, dispatch, place
from astraea.market.schedule import Plan


def gandiva_fair(market: Market) -> Plan:
    """Run every job; within a tenant first come first served, smaller gangs going ahead where larger do not fit.

    A job is `is_shared` if its tenant then holds more than its quota of workers or of parameter servers; nothing is
    paid.
    """
    return dispatch(checked(market), "gandiva-fair", _choose)


def _choose(state: State) -> Start | None:
    market = state.market
    held = (state.own + state.shared) / np.maximum(market.worker_quota, 0.5)
    servers = np.arange(len(state.workers))
    too_large = NEVER
    for tenant in np.argsort(held, kind="stable"):
        for job in state.waiting[tenant]:
            size = int(state.gang[job])
            if size >= too_large:
                continue
            put = place(market, size, state.workers, state.ps, servers, servers)
            if put is None:
                too_large = size
                continue
            workers = state.own[tenant] + state.shared[tenant] + size
            ps = state.own_ps[tenant] + state.shared_ps[tenant] + put.ps
            return job, put, bool(workers > market.worker_quota[tenant] or ps > market.ps_quota[tenant])
    return None
