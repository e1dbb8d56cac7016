"""What must hold after every whole round of the coordinator on an unsteady Slurm."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from contextlib import closing

from live_unsteady import UnsteadySlurm

from astraea.cluster.engine import accounting
from astraea.cluster.engine.state import PENDING, RUNNING
from astraea.live.answers import FINISHED, ON_GPUS
from astraea.live.ledger import all_leases, open_to_read, read_state
from astraea.live.rounds import Rounds
from astraea.live.state import NOBODY


def check_accounts(rounds: Rounds) -> None:
    """The accounts, the leases and the file agree with each other."""
    accounts = rounds.accounts
    assert set(rounds.leases) == set(accounts.ids(RUNNING))
    held = dict.fromkeys(accounts.trace.tenants, 0)
    for lease in rounds.leases.values():
        held[lease.tenant] += lease.demand
        assert lease.granted <= rounds.now < lease.ends
    for t, name in enumerate(accounts.trace.tenants):
        assert accounts.view.tenant[t].held == held[name], name
        assert math.isnan(rho := accounts.rho(name)) or 0 <= rho < math.inf
    with closing(open_to_read(rounds.config.state)) as db:
        state, leases = read_state(db), all_leases(db)
    assert state is not None
    assert state.leases == rounds.leases
    assert {m.id for m in state.accounts.admitted} == {*accounts.ids(RUNNING), *accounts.ids(PENDING)}
    assert len({lease.serial for lease in leases}) == len(leases)
    open = {lease.job: lease for lease in leases if lease.outcome == "running"}
    assert open == rounds.leases, (open, rounds.leases)


def attained(rounds: Rounds) -> dict[str, float]:
    """Return the GPU-time of every tenant in the accounts, that of leases that run included [GPU s]."""
    accounts = rounds.accounts
    return {
        name: float(accounting.tenant_alloc(accounts.view, t, accounts.now))
        for t, name in enumerate(accounts.trace.tenants)
    }


def check_charges(rounds: Rounds, slurm: UnsteadySlurm, before: Mapping[str, float]) -> tuple[dict[str, float], bool]:
    """Every tenant was charged what its jobs have had since the last check, when it had `before` [GPU s].

    What Slurm gave is compared and then begins anew, but for tenants with a lease that was not started: it may be given
    back as a whole. Returned are the GPU-time of every tenant [GPU s], and whether one was compared to the second.
    """
    accounts, now, is_exact = rounds.accounts, attained(rounds), False
    given: Counter[str] = Counter()
    for (id, tenant, demand), time in slurm.had.items():
        if id in accounts or demand <= accounts.quota(tenant) + 1e-9:  # or the job is refused, and nobody is charged
            given[tenant] += time
    unstarted = {lease.tenant for id, lease in rounds.leases.items() if slurm.all[id].state not in ON_GPUS}
    assert {*before} - {NOBODY} <= {*now}, "a tenant is gone"
    assert {*given} <= {*now}, "a tenant is not known"
    for tenant, had in now.items():
        slack = slurm.doubt[tenant] + slurm.doubt[""]
        charged = had - before.get(tenant, 0.0)
        assert abs(charged - given[tenant]) <= slack + 1e-6, f"{tenant}: charged {charged}, had {given[tenant]}"
        is_exact = is_exact or (slack == 0 and given[tenant] > 0)
    found = {t: before.get(t, 0.0) if t in unstarted else now[t] for t in now}
    slurm.had = Counter({key: time for key, time in slurm.had.items() if key[1] in unstarted})
    slurm.doubt = Counter({t: slurm.doubt[t] + slurm.doubt[""] for t in unstarted})
    return found, is_exact


def check_slurm(rounds: Rounds, slurm: UnsteadySlurm, known: dict[str, int], serial: int) -> None:
    """Slurm is as the accounts say, and leases after number `serial` promise no GPUs that are not there."""
    accounts = rounds.accounts
    active = {*accounts.ids(RUNNING), *accounts.ids(PENDING)}
    shown = slurm.all
    for id in active:
        assert id in shown, f"{id} is gone"
        assert shown[id].state not in FINISHED, f"{id} has ended"
        assert shown[id].partition == "gpu", f"{id} has left"
    waits = {id: j for id, j in shown.items() if j.partition == "gpu" and id not in slurm.left_to_slurm}
    for id, one in waits.items():
        if id in known and known[id] != one.demand:
            continue  # it comes anew at the next round
        if one.state == "PENDING":
            assert one.held == (id not in rounds.leases), f"{id}: held {one.held}"
        elif one.state == "RUNNING" and (id in accounts or one.requeues):  # others cannot be stopped
            assert id in rounds.leases, f"{id} has GPUs without a lease"
    if any(lease.serial > serial and lease.started == 0 for lease in rounds.leases.values()):
        usable = [n for n in slurm.size if slurm.usable[n]]
        here = sum(j.on_nodes.get(n, 0) for j in shown.values() if j.state in ON_GPUS for n in usable)
        promised = sum(lease.demand for id, lease in rounds.leases.items() if shown[id].state not in ON_GPUS)
        assert here + promised <= sum(slurm.size[n] for n in usable)
