"""Faults around a coordinator on a real Slurm: every job is still done once, and the accounts agree."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from live_checks import check, told_before_the_end
from live_slurm import CONFIG, LEASE, Site, lines, until
from processes import run

from astraea_ops.live.partition import LATE_ENDS

pytestmark = [pytest.mark.slurm, pytest.mark.parametrize("time_around", range(int(os.environ.get("REPEAT", "1"))))]
Make = Callable[..., Site]


def test_coordinator_is_killed_twenty_times(site: Make, time_around: int) -> None:
    here = site()
    here.submit_mixture(20, seed=time_around)
    rng = np.random.default_rng(time_around)
    for k in range(20):
        here.start()
        time.sleep(rng.uniform(0.02, 0.5) if k % 2 else rng.uniform(0.5, 2.2))
        here.kill()
        if k % 5 == 4:
            here.submit("b", 1, 8)
    here.start()
    here.finish(90)
    check(here, outage=1)
    assert here.log.count("a round every 1 s") >= 15
    assert "stopped; jobs keep their GPUs" in here.log


def test_controller_is_away_for_a_while(site: Make, time_around: int) -> None:
    here = site()
    here.submit_mixture(16, seed=100 + time_around)
    here.start()
    until("jobs run", 20, here.running)
    time.sleep(2 + time_around % 3)
    here.slurm.stop_controller()
    time.sleep(8)
    here.slurm.start_controller()
    here.finish(90)
    check(here, outage=8 + LATE_ENDS + 10)  # commands that wait for slurmctld give up after 10 s
    assert re.search(r"ERROR this round is skipped: s|(scontrol|scancel) did not answer within 5 s", here.log)


def test_accounting_is_down_at_the_start(site: Make, time_around: int) -> None:
    here = site()
    here.slurm.stop_accounting()
    try:
        here.submit_mixture(12, seed=700 + time_around)
        here.start()
        until("jobs run", 30, lambda: len(here.running()) > 2)
        here.kill()
        here.start()
        until("jobs end", 60, lambda: len(re.findall("has ended, in lease", here.log)) > 4)
    finally:
        here.slurm.start_accounting()
    here.finish(90)
    check(here, outage=2)
    assert 1 <= here.log.count("the accounting does not answer (sacct") <= 2  # once by each coordinator


def test_node_goes_away_under_a_gang(site: Make, time_around: int) -> None:
    here = site()
    gang = here.submit("a", 4, 40, nodes=2)
    here.start()
    others = [here.submit("b", 1, 20), here.submit("c", 1, 20)]
    until("all run", 20, lambda: len(here.running()) == 3 and all(lines(job) for job in here.jobs))
    on_it = [job for job in (gang, *others) if here.is_on(job, "n1")]
    assert gang in on_it
    here.slurm.lose_node("n1", on_it)
    try:
        here.submit_mixture(10, seed=200 + time_around)
        until("it is noted", 20, lambda: f"job {gang.id} lost its lease" in here.log)
        time.sleep(12)  # Slurm tries for 10 s to tell a node that a job is over, and would tell its next run there
    finally:
        here.slurm.give_node_back("n1")
    here.finish(90)
    check(here, outage=2)


def test_job_ignores_signals(site: Make, time_around: int) -> None:
    here = site()
    deaf = here.submit("a", 4, 70, "ignores")  # a lease and what Slurm waits until it kills are too short for it
    here.start()
    until("it runs", 20, lambda: lines(deaf))
    here.submit_mixture(8, seed=300 + time_around)
    here.finish(120)
    check(here)
    assert f"requeue job {deaf.id} of a" in here.log
    assert told_before_the_end(here) > 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    if run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", tmp_path, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield tmp_path
    run("umount", "-l", tmp_path)


def test_disk_of_the_state_is_full(site: Make, small_disk: Path, time_around: int) -> None:
    here = site(state=small_disk / "state.sqlite")
    here.submit_mixture(14, seed=400 + time_around)
    here.start()
    until("jobs run", 20, here.running)
    time.sleep(1)
    ballast = small_disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    until("it is noted", 20, lambda: "the state cannot be written" in here.log)
    time.sleep(8)
    ballast.unlink()
    here.finish(90)
    check(here, outage=1)


def test_squeue_hangs(site: Make, time_around: int) -> None:
    here = site(config=CONFIG.replace("patience = 5", "patience = 2"))
    real = shutil.which("squeue")
    (here.bin / "squeue").write_text(f'#!/bin/sh\n[ -e {here.at}/hang ] && exec sleep 7\nexec {real} "$@"\n')
    (here.bin / "squeue").chmod(0o755)
    here.submit_mixture(14, seed=500 + time_around)
    here.start()
    until("jobs run", 20, here.running)
    time.sleep(1)
    (here.at / "hang").touch()
    time.sleep(9)
    (here.at / "hang").unlink()
    here.finish(90)
    check(here, outage=14)
    assert "ERROR this round is skipped: squeue did not answer within 2 s" in here.log


def test_two_coordinators_and_then_none(site: Make, time_around: int) -> None:
    here = site()
    here.submit_mixture(12, seed=600 + time_around)
    first = here.start()
    until("jobs run", 20, lambda: len(here.running()) > 1)
    second = here.start()
    assert here.ended(second) == 2
    said = f"{here.state}: in use by another coordinator (process {first})\n"
    assert here.log.count("astraea: ") == here.log.count(f"astraea: {said}") == 1
    here.process = first
    ids = here.running()
    here.cancel(next(job for job in here.jobs if job.id in ids))
    here.cancel(here.jobs[-1])
    here.kill()
    time.sleep(LEASE + 2)
    here.start()
    here.finish(90)
    check(here, outage=LEASE + 3)
