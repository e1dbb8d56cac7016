"""States of the coordinator, made by playing rounds of a Slurm that is not there."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from live_cluster import job

from astraea.live.answers import Job, Node
from astraea.live.config import Config, read_config
from astraea.live.ledger import Ledger
from astraea.live.rounds import HOLD, RELEASE, Action, Rounds, Snapshot

T0 = 1_700_000_000.0
NODES = (Node("n1", 8, True), Node("n2", 8, True))
LIVE = 'partition = "gpu"\nstate = "leases.sqlite"\ninterval = 10\nhistory = 0\nparameters = {lease_term = 60}\n'
LIVE += "weights = {vision = 2, speech = 1, nlp = 1}\n"


def a_job(id: str, account: str, demand: int, submit: float = 0.0, **more: Any) -> Job:
    """A job that waits, held; `submit` is counted from `T0`."""
    given = {"submit": T0 + submit, "eligible": T0 + submit, "user": f"{account}-user", "reason": "JobHeldUser"}
    return job(id, account=account, demand=demand, per_node=demand, **(given | more))


class SmallSlurm:
    """Jobs on two nodes of eight GPUs, to which is done what a round asks for."""

    def __init__(self, *jobs: Job) -> None:
        self.jobs = {job.id: job for job in jobs}

    def known(self, now: float) -> tuple[Job, ...]:
        """Jobs that were submitted."""
        return tuple(job for job in self.jobs.values() if job.submit <= now)

    def do(self, action: Action, now: float) -> None:
        """Start, stop or hold a job at once, on the first node that has room."""
        job = self.jobs[action.job.id]
        if action.what == RELEASE:
            used = {n.name: sum(j.on_nodes.get(n.name, 0) for j in self.jobs.values()) for n in NODES}
            node = next(n.name for n in NODES if used[n.name] + job.demand <= n.gpus)
            done = job._replace(state="RUNNING", held=False, start=now, on_nodes={node: job.demand})
        elif action.what == HOLD:
            done = job._replace(held=True)
        else:
            done = job._replace(state="PENDING", held=True, on_nodes={}, restarts=job.restarts + 1, start=0.0)
        self.jobs[job.id] = done


def play(folder: Path, slurm: SmallSlurm, rounds: int, text: str = LIVE) -> Config:
    """Have so many rounds from `T0` on, and write ``live.toml`` and the state as the coordinator would."""
    (folder / "live.toml").write_text(text)
    config = read_config(folder / "live.toml")
    with closing(Ledger(config.state)) as ledger:
        live = Rounds(config, sum(n.gpus for n in NODES), T0, None, lambda since: [])
        for k in range(rounds):
            now = T0 + k * config.interval
            result = live.play(Snapshot(now, slurm.known(now), NODES))
            ledger.write(result.state, result.over)
            for action in result.actions:
                slurm.do(action, now)
    return config
