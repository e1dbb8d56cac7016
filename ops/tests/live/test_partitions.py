"""Several partitions, gangs that do not fit, and leases that Slurm does not start, on a real Slurm."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import pytest
from live_checks import check
from live_leases import all_leases
from live_slurm import CONFIG, Asked, Site, said, until

from astraea_ops.live.ledger import open_to_read, read_state
from astraea_ops.live.state import Lease

pytestmark = pytest.mark.slurm
Make = Callable[..., Site]
NODE = {"left": "n1", "right": "n2"}


def leases(here: Site) -> dict[str, list[Lease]]:
    """All leases, by job."""
    found: dict[str, list[Lease]] = defaultdict(list)
    with open_to_read(here.state) as db:
        for lease in all_leases(db):
            found[lease.job].append(lease)
    return found


def test_partitions_are_one_pool_and_a_gang_that_does_not_fit_is_replaced_in_its_round(site: Make) -> None:
    here = site(config=CONFIG.replace('"gpu"', '["left", "right"]'))

    def submit(partition: str, tenant: str, demand: int, steps: int) -> Asked:
        return here.submit(tenant, demand, steps, "saves", "--hold", f"--partition={partition}")

    first, second, third = (submit(name, "a", 4, 30) for name in ("left", "left", "right"))
    here.start()
    until("two run", 20, lambda: set(here.running()) == {first.id, third.id})
    for partition, tenant in (("left,right", "b"), ("right,left", "b"), ("left", "c"), ("right", "c")):
        submit(partition, tenant, 2, 6)
    here.finish(90)
    check(here)
    assert f"job {second.id} of a was picked but has to wait: no node has 4 GPUs free" in here.log
    granted = {id: found[0].granted for id, found in leases(here).items()}
    assert granted[first.id] == granted[third.id] < granted[second.id]
    ids = ",".join(job.id for job in here.jobs)
    text = said("sacct", "-n", "-X", "-D", "-P", "-j", ids, "--state=COMPLETED,REQUEUED", "--format=Partition,NodeList")
    assert {tuple(line.split("|")) for line in text.splitlines()} == set(NODE.items())


def test_a_lease_that_slurm_does_not_start_is_withdrawn_and_not_charged(site: Make) -> None:
    here = site()
    seat = ("--licenses=seat:1",)
    holder = said("sbatch", "--parsable", "-A", "c", "-p", "other", *seat, "-o", "/dev/null", "--wrap", "sleep 600")
    until("the license is taken", 20, lambda: said("squeue", "-h", "-j", holder, "-o", "%t") == "R")
    stuck = here.submit("a", 4, 8, "-", *seat)
    _, waits = here.submit("a", 4, 24, "saves"), here.submit("a", 4, 24, "saves")
    here.start()
    sentence = f"withdraw lease 1 of job {stuck.id}: Slurm does not start it (Licenses); it is skipped for 4 rounds"
    until("it is withdrawn", 20, lambda: sentence in here.log)
    said("scancel", holder)
    with open_to_read(here.state) as db:
        state = read_state(db)
    assert state is not None
    (attained,) = [float(row.attained_service) for member, row in
                   zip(state.accounts.admitted, state.accounts.job, strict=True) if member.id == stuck.id]  # fmt: skip
    assert attained == pytest.approx(0, abs=1e-6)
    here.finish(90)
    check(here)
    mine, others = (leases(here)[job.id] for job in (stuck, waits))
    assert (mine[0].outcome, mine[-1].outcome) == ("not started", "ended")
    assert others[0].granted <= mine[0].over  # no GPU is left without a lease for a round
