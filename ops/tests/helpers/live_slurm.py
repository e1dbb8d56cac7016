"""A real Slurm for tests of the coordinator: jobs that record what they do, coordinators that can be killed."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from places import OPS, ROOT
from processes import run, started

from astraea_ops.live.answers import Run, runs_of
from astraea_ops.live.slurm import Slurm

sys.path.insert(0, str(OPS / "tests" / "slurm"))
try:
    import local_slurm
finally:
    sys.path.pop(0)

NODES, GPUS = 2, 4
SHARES: Final = {"a": 2.0, "b": 1.0, "c": 1.0}
QUOTA: Final = {"a": 4, "b": 2, "c": 2}
"""A tenant's quota of the 8 GPUs [GPU]."""

INTERVAL, LEASE, WARNING = 1.0, 6.0, 2.0
KILL_WAIT: Final = 10.0
"""Time until Slurm has ended a job that ignores SIGTERM: at least 5 s, then 3 s more [s]."""

REQUEUED: Final = 6.0
"""Time in which a requeued job may not start: cred_expire and 1 s [s]."""

CONFIG: Final = f"""\
partition = "gpu"
state = "{{state}}"
policy = "astraea"
interval = {INTERVAL:g}
warning = {WARNING:g}
history = 0
patience = 5
[parameters]
lease_term = {LEASE:g}
[weights]
a = 2
b = 1
c = 1
"""


class Asked(NamedTuple):
    """A job of a test."""

    id: str
    tenant: str
    demand: int
    steps: int
    file: Path
    ignores: bool = False  #: signals, and may end between SIGTERM and SIGKILL


class RealSlurm:
    """A Slurm in a folder of its own; `gpu` (jobs are held) and `other` have two nodes, `left` and `right` one each."""

    def __init__(self, at: Path) -> None:
        self.at = at
        p = argparse.ArgumentParser()
        local_slurm.add_options(p)
        shares = ",".join(f"{name}={share:g}" for name, share in SHARES.items())
        words = f"--nodes {NODES} --gpus {GPUS} --shares {shares} --hold --kill-wait 2 --cred-expire 5"
        words += f" --ports {local_slurm.free_ports(NODES)}"
        more = "MaxArraySize=4001", "Licenses=seat:1", "PartitionName=left Nodes=n1", "PartitionName=right Nodes=n2"
        self.options = p.parse_args([*words.split(), *(f"--more={line}" for line in more)])

    def start(self) -> None:
        """Start it."""
        local_slurm.start(self.at, self.options)

    def stop(self) -> None:
        """Stop it, and everything that runs in it."""
        self.clear()
        local_slurm.stop(self.at)

    def clear(self) -> None:
        """All nodes and no job."""
        run("scancel", "--me", check=False)
        until("no job is left", 40, lambda: not said("squeue", "-h", "-o", "%i %T"))

    def stop_controller(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop slurmctld, or kill it."""
        process = int((self.at / "slurmctld.pid").read_text())
        os.kill(process, how)
        until("slurmctld has ended", 20, lambda: not Path(f"/proc/{process}").exists())

    def stop_accounting(self) -> None:
        """Stop slurmdbd."""
        process = int((self.at / "slurmdbd.pid").read_text())
        os.kill(process, signal.SIGTERM)
        until("slurmdbd has ended", 40, lambda: not Path(f"/proc/{process}").exists())

    def start_accounting(self) -> None:
        """Start slurmdbd again."""
        local_slurm.run("slurmdbd", cwd=self.at)
        local_slurm.until("slurmdbd", 60, "sacctmgr", "-n", "list", "cluster")

    def start_controller(self) -> None:
        """Start slurmctld again, also after it was killed."""
        local_slurm.run("slurmctld", "-i")

    def lose_node(self, name: str, jobs: Sequence[Asked]) -> None:
        """Simulate a power failure of a machine: slurmd is gone, and so is the work of `jobs` there."""
        os.kill(int((self.at / f"{name}.pid").read_text()), signal.SIGKILL)
        for job in jobs:
            *_, last = [line for line in lines(job) if line.startswith("start")]
            _, _, script, stepd, _ = last.split()
            for process in (int(stepd), int(script)):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        local_slurm.run("scontrol", "update", f"NodeName={name}", "State=DOWN", "Reason=test")

    def give_node_back(self, name: str) -> None:
        """The machine is there again."""
        local_slurm.run("slurmd", "-N", name)
        local_slurm.run("scontrol", "update", f"NodeName={name}", "State=RESUME")
        until(f"{name} is there", 20, lambda: said("sinfo", "-h", "-n", name, "-o", "%t") in ("idle", "mix", "alloc"))

    def runs(self, since: float, ids: Sequence[str]) -> list[Run]:
        """All runs of these jobs, from the accounting."""
        return [run for run in Slurm("gpu,left,right").runs(since) if run.id in ids]


def said(*command: str) -> str:
    """Return the output of a command without end of line; empty if it fails."""
    return run(*command, check=False).stdout.strip()


def until(what: str, seconds: float, holds: Any) -> None:
    """Wait until something holds, on a busy machine three times as long."""
    end = time.monotonic() + 3 * seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(0.2)


def lines(job: Asked) -> list[str]:
    """Return the text that a job has written."""
    file = job.file.with_suffix(".log")
    return file.read_text().splitlines() if file.exists() else []


class Site:
    """A Slurm with jobs of three tenants and a coordinator, for one test."""

    def __init__(self, slurm: RealSlurm, at: Path, *, config: str = CONFIG, state: Path | None = None) -> None:
        self.slurm, self.at, self.began = slurm, at, time.time()
        self.state = state or at / "state.sqlite"
        self.jobs: list[Asked] = []
        self.cancelled: list[Asked] = []
        self.bin = at / "bin"
        self.bin.mkdir()
        shutil.copy(OPS / "tests" / "slurm" / "live_job.sh", at / "job.sh")
        (at / "live.toml").write_text(config.format(state=self.state))
        self.stranger = ""
        command = [sys.executable, Path(__file__).with_name("live_process.py"), at / "live.toml", at / "log.txt"]
        self.end = ExitStack()
        env = {"PATH": f"{self.bin}:{os.environ['PATH']}", "PYTHONPATH": f"{ROOT}:{OPS}"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.nursery = self.end.enter_context(started(*command, cwd=ROOT, env=env, **pipes))
        self.process = 0

    # coordinators

    def _answer(self, words: str) -> int:
        assert self.nursery.stdin and self.nursery.stdout
        self.nursery.stdin.write(words + "\n")
        self.nursery.stdin.flush()
        return int(self.nursery.stdout.readline())

    def start(self) -> int:
        """Start a coordinator; its process id."""
        assert self.nursery.stdout
        if self.process == 0:
            assert self.nursery.stdout.readline() == "ready\n"
        self.process = self._answer("start")
        return self.process

    def ended(self, process: int) -> int:
        """Wait for the end of a coordinator; its exit code."""
        return self._answer(f"wait {process}")

    def kill(self) -> None:
        """Kill the coordinator."""
        os.kill(self.process, signal.SIGKILL)
        assert self.ended(self.process) == -signal.SIGKILL

    def close(self) -> None:
        """Leave nothing behind."""
        with suppress(ProcessLookupError):
            if self.process:
                os.kill(self.process, signal.SIGKILL)
        self.end.close()

    @property
    def log(self) -> str:
        """Return the logs of the coordinators."""
        path = self.at / "log.txt"
        return path.read_text() if path.exists() else ""

    # jobs

    def submit(self, tenant: str, demand: int, steps: int, how: str = "-", *options: str, nodes: int = 1) -> Asked:
        """Submit a job that counts to `steps`; `how` it takes signals: ``saves``, ``ignores`` or ``-``."""
        file = self.at / f"job{len(self.jobs) + len(self.cancelled)}"
        id = said(
            "sbatch", "--parsable", "-A", tenant, "-p", "gpu", f"-N{nodes}", "--ntasks-per-node=1",
            f"--gres=gpu:{demand // nodes}", "-o", "/dev/null", "-D", str(self.at),
            *(("--comment=checkpoint",) if how == "saves" else ()), *options, "job.sh", str(file), str(steps), how,
        )  # fmt: skip
        assert id.isdecimal()
        self.jobs.append(Asked(id, tenant, demand, steps, file, how == "ignores"))
        return self.jobs[-1]

    def submit_mixture(self, count: int, seed: int) -> None:
        """Jobs of three tenants that fit their quotas, most of some seconds; one of the other partition."""
        rng = np.random.default_rng(seed)
        self.stranger = said(
            "sbatch", "--parsable", "-A", "c", "-p", "other", "--gres=gpu:1", "-o", "/dev/null", "--wrap", "sleep 12"
        )
        self.submit("a", 4, 26, "saves", nodes=2)
        for _ in range(count - 1):
            tenant = str(rng.choice(list(SHARES)))
            demand = int(rng.choice([1, 1, 2, QUOTA[tenant]]))
            saves = rng.random() < 0.4
            steps = int(rng.integers(12, 28)) if saves else int(rng.integers(4, 15))
            self.submit(tenant, demand, steps, "saves" if saves else "-")

    def cancel(self, job: Asked) -> None:
        """Cancel a job."""
        local_slurm.run("scancel", job.id)
        self.jobs.remove(job)
        self.cancelled.append(job)

    def running(self) -> list[str]:
        """Jobs of this test that run now."""
        return [job.id for job in self.jobs if job.id in said("squeue", "-h", "-t", "R", "-o", "%i").split()]

    def is_on(self, job: Asked, node: str) -> bool:
        """Return true if the script of a job runs on a node."""
        return said("squeue", "-h", "-j", job.id, "-o", "%B") == node

    def finish(self, seconds: float) -> None:
        """Wait until all jobs have ended, and end the coordinator."""
        ids = ",".join(job.id for job in self.jobs)

        def are_done() -> bool:
            answer = run("squeue", "-h", "-o", "%i", "-j", ids, check=False)
            return answer.returncode == 0 and not answer.stdout.strip()

        until("all jobs end", seconds, are_done)
        self.finish_coordinator()
        until("slurmdbd knows", 60, lambda: all(
            any(run.state == "COMPLETED" for run in runs_of_job) for runs_of_job in self.runs().values()
        ))  # fmt: skip

    def finish_coordinator(self) -> None:
        """End the coordinator when it knows that all jobs have ended."""
        until("the coordinator knows", 10, lambda: not self.open_leases())
        os.kill(self.process, signal.SIGTERM)
        assert self.ended(self.process) == 0

    def open_leases(self) -> int:
        """Leases that run, in the file."""
        db = sqlite3.connect(self.state)
        try:
            return int(db.execute("select count(*) from lease where outcome = 'running'").fetchone()[0])
        finally:
            db.close()

    def runs(self) -> dict[str, list[Run]]:
        """All runs of the jobs of this test, by job."""
        found: dict[str, list[Run]] = {job.id: [] for job in self.jobs}
        for one in self.slurm.runs(self.began - 5, list(found)):
            found[one.id].append(one)
        return found

    def run_of_stranger(self) -> list[Run]:
        """Runs of the job of the other partition."""
        return runs_of(said(
            "env", "SLURM_TIME_FORMAT=%s", "sacct", "-a", "-X", "-D", "-P", "-n", "-j", self.stranger,
            "--format=JobID,Account,User,QOS,State,Submit,Start,End,ReqTRES,AllocTRES",
        ))  # fmt: skip
