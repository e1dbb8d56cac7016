"""Rounds of two nodes and two tenants, what is done in them, and a Slurm that shows what a test tells it to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from live_cluster import EPOCH, NODES, job, no_history

from astraea.cluster.policies import get_policy
from astraea.live.answers import Job, Node, Run
from astraea.live.config import Config
from astraea.live.rounds import RoundResult, Rounds, Snapshot
from astraea.live.slurm import Slurm
from astraea.live.state import State

CONFIG = Config(
    "gpu", Path("unused"), get_policy("astraea")(lease_term=100), weights={"a": 1.0, "b": 1.0}, history=1.0
)  # fmt: skip

NEW = [job("2", account="b", demand=8), job("3", demand=8)]
"""Jobs that go before one that has had a lease."""


def rounds(config: Config = CONFIG, state: State | None = None, history: Any = no_history) -> Rounds:
    return Rounds(config, 16, EPOCH, state, history)


def play(r: Rounds, second: float, *jobs: Job, nodes: list[Node] = NODES) -> RoundResult:
    return r.play(Snapshot(EPOCH + second, jobs, nodes))


def actions(result: RoundResult) -> list[tuple[str, str]]:
    return [(action.what, action.job.id) for action in result.actions]


def running(id: str, start: float, demand: int = 8, **fields: Any) -> Job:
    given = {"state": "RUNNING", "held": False, "start": EPOCH + start, "on_nodes": {"n1": demand}}
    return job(id, demand=demand, reason="None", **(given | fields))


class ToldSlurm(Slurm):
    """A Slurm that shows what a test tells it to, or raises it."""

    def __init__(self, nodes: list[Node] = NODES) -> None:
        super().__init__("gpu")
        self.shown: list[Job] | Exception = []
        self.past: list[Run] | Exception = []
        self.here, self.booted = nodes, 0.0
        self.done: list[tuple[str, str]] = []  #: commands that start, stop or warn a job, and the job

    def nodes(self) -> list[Node]:
        return self.here

    def jobs(self) -> list[Job]:
        if isinstance(self.shown, Exception):
            raise self.shown
        return self.shown

    def runs(self, since: float) -> list[Run]:
        if isinstance(self.past, Exception):
            raise self.past
        return self.past

    def boot(self) -> float:
        return self.booted

    def _run(self, *command: str, **environment: str) -> str:
        if command[:2] != ("scontrol", "update"):
            self.done.append((command[1], command[-1]))
        return ""
