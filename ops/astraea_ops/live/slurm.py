"""Calls of Slurm's programs, to list jobs and nodes and to act on jobs.

The only file that starts programs: always with a list of words, never a shell, and with a time limit. Only ids that
look like ids of Slurm are passed on; names, comments and paths of jobs never are.

Source: the manual pages of scontrol and scancel (slurm.schedmd.com).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from typing import Any, Final, NamedTuple

from astraea_ops.live.answers import ID, Job, Node, Run, SlurmError, jobs_of, nodes_of, runs_of

HIGHEST: Final = 4_000_000_000
"""Priority of the first grant: above all that Slurm computes itself, below what it reserves."""


class Place(NamedTuple):
    """A node in a partition."""

    node: str
    partition: str
    is_up: bool  #: true if the partition is up
    has_gpus: bool


class Slurm:
    """The Slurm of this machine, for some partitions, joined by commas; a program may take `patience` [s]."""

    def __init__(self, partition: str, patience: float = 20.0, signal: str = "USR1") -> None:
        self.partition, self.patience, self.signal = partition, patience, signal
        self._controller, self._taken_over = 0, 0.0  # the primary, until another controller is seen
        self._list_nodes = ["scontrol", "show", "nodes", "--json"]

    def nodes(self) -> list[Node]:
        """Return the nodes of the partition."""
        try:
            answer = self._json(*self._list_nodes)
        except SlurmError as err:
            if "--json" not in str(err):
                raise
            self._list_nodes = ["sinfo", "--json"]  # scontrol of Slurm 22.05 does not know the option
            answer = self._json(*self._list_nodes)
        return nodes_of(answer, self.partition)

    def jobs(self) -> list[Job]:
        """Return all jobs that Slurm still knows, of all partitions; waiting tasks of an array one by one."""
        # without the states, Slurm 24.11 hides ended jobs; without the length, long arrays end with "..."
        return jobs_of(self._json("squeue", "--json", "--states=all", SLURM_BITSTR_LEN="0"))

    def runs(self, since: float) -> list[Run]:
        """Return every run of a job of the partition that did not end before `since`, in order of start."""
        fields = "JobID,Account,User,QOS,State,Submit,Start,End,ReqTRES,AllocTRES"
        options = "--noheader", f"--partition={self.partition}"
        return runs_of(self._sacct(since, fields, *options, SLURM_TIME_FORMAT="%s"))

    def history(self, since: float) -> str:
        """Return the output of ``sacct -P`` for jobs that did not end before `since`."""
        fields = "JobID,Account,User,Partition,QOS,Submit,Eligible,Start,End,State,TimelimitRaw,ReqTRES,AllocTRES"
        return self._sacct(since, fields)

    def _sacct(self, since: float, fields: str, *options: str, **environment: str) -> str:
        day = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(max(0, since)))
        every = "--allusers", "--allocations", "--duplicates", "--parsable2"
        return self._run("sacct", *every, *options, f"--starttime={day}", f"--format={fields}", **environment)

    def boot(self) -> float:
        """Return the start time of slurmctld, or when another controller first took its place [s since 1970]."""
        text = self._run("scontrol", "show", "config", SLURM_TIME_FORMAT="%s")
        found = re.search(r"^BOOT_TIME\s*=\s*(\d+)\s*$", text, re.MULTILINE)
        if found is None:
            raise SlurmError("scontrol show config: no BOOT_TIME")
        states = re.findall(r"^Slurmctld\(.+\) at .+ is (UP|DOWN)$", text, re.MULTILINE)
        controller = states.index("UP") if "UP" in states else 0  # the first one that is up answers
        if controller != self._controller:  # its BOOT_TIME is that of its process
            self._controller, self._taken_over = controller, time.time()
        return max(float(found[1]), self._taken_over)

    def settings(self) -> dict[str, str]:
        """Return the settings of slurmctld, by name."""
        return dict(re.findall(r"^(\w+) += (.*?) *$", self._run("scontrol", "show", "config"), re.MULTILINE))

    def places(self) -> list[Place]:
        """Return every node in each of its partitions."""
        text = self._run("sinfo", "--all", "--Node", "--noheader", "--format=%N|%R|%a|%G")
        rows = [line.strip().split("|", 3) for line in text.splitlines() if line.count("|") >= 3]
        return [Place(node, partition, up == "up", "gpu" in gres) for node, partition, up, gres in rows]

    def admin_level(self, user: str) -> str:
        """Return a user's rights in the accounting, such as ``None`` or ``Operator``; "" if there is no such user."""
        return self._run("sacctmgr", "--parsable2", "--noheader", "show", "user", user, "format=adminlevel").strip()

    def hold(self, id: str) -> None:
        """Hold a pending job until it is released."""
        self._run("scontrol", "hold", self._id(id))

    def release(self, job: Job, rank: int) -> None:
        """Let a held job start, in our partitions only; among jobs that wait the smallest `rank` goes first."""
        ours = [name for name in self.partition.split(",") if name in job.partitions]
        if len(ours) < len(job.partitions):
            self._run("scontrol", "update", f"JobId={self._id(job.id)}", f"Partition={','.join(ours)}")
        self._run("scontrol", "release", self._id(job.id))
        # StartTime spares a requeued job the wait until its old credential expires, 121 s by default
        words = [f"Priority={HIGHEST - rank % 1_000_000_000}"] + ["StartTime=now"] * (job.restarts > 0)
        try:
            self._run("scontrol", "update", f"JobId={self._id(job.id)}", *words)
        except SlurmError as err:
            if "no longer pending" not in str(err):  # it has started, or ended, since its release
                raise

    def requeue(self, id: str, *, is_over: bool = False) -> None:
        """Stop a running job and hold it; Slurm sends SIGTERM, and SIGKILL after its KillWait."""
        # Incomplete spares a job that has just ended: without it Slurm would run it again
        self._run("scontrol", "requeuehold", *["Incomplete"] * (not is_over), self._id(id))

    def warn(self, job: Job) -> None:
        """Send the notice to the batch script of a job that is still in its partition."""
        name = next(name for name in self.partition.split(",") if name in job.partitions)
        self._run("scancel", f"--partition={name}", "--batch", f"--signal={self.signal}", self._id(job.id))

    @staticmethod
    def _id(id: str) -> str:
        if not ID.fullmatch(id):
            raise SlurmError(f"{id!r} is not a job id")
        return id

    def _json(self, *command: str, **environment: str) -> Any:
        text = self._run(*command, **environment)
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as err:
            raise SlurmError(f"{command[0]}: its output is not JSON ({err})") from None

    def _run(self, *command: str, **environment: str) -> str:
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL,
                timeout=self.patience, env={**os.environ, **environment},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise SlurmError(f"{command[0]} did not answer within {self.patience:g} s") from None
        except OSError as err:
            raise SlurmError(f"{command[0]} cannot be started ({err.strerror})") from None
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().partition("\n")[0][:200]
            raise SlurmError(f"{' '.join(command[:3])}: {said or f'ended with {done.returncode}'}")
        return done.stdout
