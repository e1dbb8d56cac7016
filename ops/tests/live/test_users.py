"""Attempts of users without rights on a real Slurm: they change only their own jobs."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator

import pytest
from live_checks import SAME
from live_leases import all_leases
from live_slurm import RealSlurm, Site, said, until
from processes import run, started

from astraea_ops.live.ledger import open_to_read
from astraea_ops.live.state import Lease

pytestmark = pytest.mark.slurm
Make = Callable[..., Site]
Act = Callable[..., subprocess.CompletedProcess[str]]
EVERY_BYTE = bytes(range(1, 256))


@pytest.fixture
def user(real_slurm: RealSlurm) -> Iterator[Act]:
    """Run a command as a user of account `a` (Slurm 26.05 takes no job of `nobody`)."""
    run("sacctmgr", "-i", "-Q", "add", "user", "games", "account=a", check=False)

    def act(*command: str | bytes) -> subprocess.CompletedProcess[str]:
        return run(*map(os.fsdecode, command), user="games", cwd="/tmp", check=False, errors="replace")

    yield act
    run("scancel", "--user=games", check=False)


def leases(here: Site) -> list[Lease]:
    with open_to_read(here.state) as db:
        return all_leases(db)


def is_held(id: str) -> bool:
    return said("squeue", "-h", "-j", id, "-o", "%T %r").startswith("PENDING JobHeld")


def test_a_user_changes_nothing_that_is_not_theirs(site: Make, user: Act) -> None:
    here = site()
    here.start()
    other = here.submit("b", 2, 60)
    until("it runs", 20, lambda: here.running() == [other.id])
    submit = ("sbatch", "--parsable", "--gres=gpu:4", "-o", "/dev/null", "--wrap", "sleep 60")

    def refused(*command: str | bytes) -> None:
        done = user(*command)
        assert done.returncode != 0 or "rror" in done.stderr or "denied" in done.stderr, (command, done)

    refused(*submit, "-A", "b")
    ids = [user(*submit, "-A", "a").stdout.strip() for _ in range(3)]
    both = user(*submit, "-A", "a", "-p", "other,gpu").stdout.strip()
    until("one runs", 20, lambda: said("squeue", "-h", "-u", "games", "-t", "R", "-o", "%i"))
    waits = next(id for id in (*ids, both) if is_held(id))
    for command in (
        ("scontrol", "requeue", other.id), ("scontrol", "hold", other.id), ("scancel", other.id),
        ("scancel", "--signal=USR1", "--batch", other.id), ("scontrol", "update", f"JobId={other.id}", "Account=a"),
        ("scontrol", "release", waits), ("scontrol", "update", f"JobId={waits}", "Priority=4000000000"),
        ("scontrol", "top", waits), ("scontrol", "update", f"JobId={waits}", "Requeue=0"),
        ("scontrol", "update", f"JobId={waits}", "Account=b"),
    ):  # fmt: skip
        refused(*command)
    user("scontrol", "update", f"JobId={waits}", "Partition=other")
    user("scontrol", "release", waits)
    user("scontrol", "update", f"JobId={waits}", "Partition=gpu")
    named = user(*submit, "-A", "a", b"--job-name=" + EVERY_BYTE, b"--comment=" + EVERY_BYTE)
    array = user("sbatch", "-A", "a", "--gres=gpu:1", "--array=0-1999", "-o", "/dev/null", "--wrap", "sleep 60")
    assert (named.returncode, array.returncode) == (0, 0), (named, array)
    rounds = len(re.findall("renew|requeue|release", here.log))
    until("rounds go on", 40, lambda: len(re.findall("renew|requeue|release", here.log)) > rounds + 4)
    assert said("squeue", "-h", "-j", both, "-o", "%P") in ("gpu", "other,gpu", "gpu,other")

    def is_done() -> bool:  # perhaps as it lost its lease, which then has not "ended"
        has_ended = any(run.state == "COMPLETED" for run in here.runs()[other.id])
        return has_ended and all(lease.outcome != "running" for lease in leases(here) if lease.job == other.id)

    until("the other job is done", 120, is_done)
    mine = [lease for lease in leases(here) if lease.tenant == "b"]
    assert {lease.job for lease in mine} == {other.id}
    assert {lease.outcome for lease in mine} <= {"renewed", "not renewed", "ended", "not started"}  # Slurm was slow
    runs = here.runs()[other.id]
    assert [run.state for run in runs] == ["REQUEUED"] * (len(runs) - 1) + ["COMPLETED"]
    leased = sum(lease.over - max(lease.granted, lease.started) for lease in mine if lease.outcome != "not started")
    assert abs(leased - sum(run.end - run.start for run in runs)) <= SAME * len(mine)
    assert {lease.tenant for lease in leases(here)} <= {"a", "b"}
    assert "Traceback" not in here.log


def test_an_interactive_job_is_never_stopped_and_can_be_refused(site: Make, user: Act, real_slurm: RealSlurm) -> None:
    here = site()
    here.start()
    with started(
        "salloc", "-A", "a", "-p", "gpu,other", "--gres=gpu:4", "sleep", "20", user="games", cwd="/tmp",
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as shell:  # fmt: skip
        until("it runs", 20, lambda: said("squeue", "-h", "-u", "games", "-t", "R", "-o", "%i"))
        id = said("squeue", "-h", "-u", "games", "-o", "%i")
        job = here.submit("a", 4, 8)  # of the same quota
        assert shell.wait(60) == 0
    until("it is over", 30, lambda: any(lease.job == id and lease.outcome == "ended" for lease in leases(here)))
    (lease,) = [lease for lease in leases(here) if lease.job == id]
    assert lease.over - lease.started >= 19 and lease.is_interactive
    assert f"job {id} is interactive (srun or salloc): it is never stopped" in here.log
    assert f"requeue job {id} " not in here.log
    until("the next has run", 40, lambda: not said("squeue", "-h", "-j", job.id, "-o", "%i"))
    script = real_slurm.at / "job_submit.lua"
    text = script.read_text()
    first = "function slurm_job_submit(job, partition, uid)\n"
    refusal = "    if job.script == nil and is_ours(job.partition) then return slurm.ERROR end\n"
    script.write_text(text.replace(first, first + refusal))
    try:
        run("scontrol", "reconfigure")
        assert user("salloc", "-A", "a", "--gres=gpu:1", "true").returncode != 0
        assert user("sbatch", "-A", "a", "--gres=gpu:1", "-o", "/dev/null", "--wrap", "true").returncode == 0
    finally:
        script.write_text(text)
        run("scontrol", "reconfigure")
