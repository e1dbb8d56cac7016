"""Two nodes of eight GPUs, and their Slurm: it shows what a test says, and does what rounds ask for."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from astraea.cluster.policies import get_policy
from astraea_ops.live.answers import Job, Node, Run
from astraea_ops.live.config import Config, read_config
from astraea_ops.live.ledger import Ledger
from astraea_ops.live.rounds import HOLD, RELEASE, Action, RoundResult, Rounds, Snapshot
from astraea_ops.live.slurm import Slurm
from astraea_ops.live.state import State

EPOCH = 1_000_000_000.0
NODES = [Node("n1", 8, True, ("gpu",)), Node("n2", 8, True, ("gpu",))]
GPUS = 16  #: of both nodes
LIVE = 'partition = "gpu"\nstate = "leases.sqlite"\ninterval = 10\nhistory = 0\nparameters = {lease_term = 60}\n'
LIVE += "weights = {vision = 2, speech = 1, nlp = 1}\n"


class Clock:
    """The clock of a coordinator, and of its Slurm if that has no other; only a test moves it."""

    def __init__(self) -> None:
        self.now = EPOCH
        self.steady = 0.0

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.steady


def job(id: str, **fields: object) -> Job:
    """A held job of Slurm, of one GPU."""
    values: dict[str, object] = {
        "id": id, "partition": "gpu", "account": "a", "user": "u", "qos": "normal", "state": "PENDING",
        "reason": "JobHeldAdmin", "held": True, "submit": EPOCH, "eligible": 0.0, "start": 0.0, "end": 0.0, "demand": 1,
        "nodes": 1, "per_node": 0, "on_nodes": {}, "depends": False, "requeues": True, "restarts": 0, "saves": False,
        "array": "", "at_once": 0, "is_part": False,
    }  # fmt: skip
    return Job(**{**values, **fields})  # type: ignore[arg-type]


def no_history(_since: float) -> list[Run]:
    """No accounting."""
    return []


CONFIG = Config(
    "gpu", Path("unused"), get_policy("astraea").with_parameters(lease_term=100), weights={"a": 1.0, "b": 1.0},
    history=1.0,
)  # fmt: skip

NEW = [job("2", account="b", demand=8), job("3", demand=8)]
"""Jobs that go before one that has had a lease."""


def rounds(config: Config = CONFIG, state: State | None = None, history: Any = no_history) -> Rounds:
    return Rounds(config, 16, EPOCH, state, history)


def step(r: Rounds, second: float, *jobs: Job, nodes: list[Node] = NODES) -> RoundResult:
    return r.play(Snapshot(EPOCH + second, jobs, nodes))


def actions(result: RoundResult) -> list[tuple[str, str]]:
    return [(action.what, action.job.id) for action in result.actions]


def running(id: str, start: float, demand: int = 8, **fields: Any) -> Job:
    given = {"state": "RUNNING", "held": False, "start": EPOCH + start, "on_nodes": {"n1": demand}}
    return job(id, demand=demand, reason="None", **(given | fields))


class ToldSlurm(Slurm):
    """A Slurm that shows what a test gives it, or raises it if it is an error."""

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


def a_job(id: str, account: str, demand: int, submit: float = 0.0, **more: object) -> Job:
    """A job that waits, held, for GPUs of one node; `submit` is counted from `EPOCH`."""
    given = {"submit": EPOCH + submit, "eligible": EPOCH + submit, "user": f"{account}-user", "reason": "JobHeldUser"}
    return job(id, account=account, demand=demand, per_node=demand, **(given | more))


class SmallSlurm:
    """Jobs on two nodes, changed at once as a round asks; a gang for one node goes to the first."""

    def __init__(self, *jobs: Job, seconds: dict[str, float] | None = None) -> None:
        self.jobs = {job.id: job for job in jobs}
        self.left = seconds or {}  #: how long jobs still run [s]; one that is not there runs on
        self.now = EPOCH

    @property
    def is_done(self) -> bool:
        return all(one.state == "COMPLETED" for one in self.jobs.values())

    def show(self, now: float) -> Snapshot:
        """Slurm's answers at one moment; ends are exact."""
        self.now = now
        for id, left in self.left.items():
            one = self.jobs[id]
            if one.state == "RUNNING" and one.start + left <= now:
                self.jobs[id] = one._replace(state="COMPLETED", end=one.start + left, on_nodes={})
        return Snapshot(now, [one for one in self.jobs.values() if one.submit <= now], NODES)

    def do(self, action: Action, saved: float = EPOCH) -> None:
        """Do what `scontrol` would; a job that is stopped has what it had done at its last save."""
        one = self.jobs[action.job.id]
        if action.what == RELEASE:
            done = one._replace(state="RUNNING", held=False, start=self.now, on_nodes=self._place(one))
        elif action.what == HOLD:
            done = one._replace(held=True)
        else:
            if one.id in self.left:
                self.left[one.id] -= saved - one.start
            done = one._replace(state="PENDING", held=True, on_nodes={}, restarts=one.restarts + 1, start=0.0)
        self.jobs[one.id] = done

    def _place(self, one: Job) -> dict[str, int]:
        if not one.per_node:
            return {}  # it may be spread, so that it has a place
        used = {n.name: sum(j.on_nodes.get(n.name, 0) for j in self.jobs.values()) for n in NODES}
        return {next(n.name for n in NODES if used[n.name] + one.demand <= n.gpus): one.demand}


def play(folder: Path, slurm: SmallSlurm, rounds: int, text: str = LIVE) -> Config:
    """Run this many rounds from `EPOCH` on, and write ``live.toml`` and the state as the coordinator would."""
    (folder / "live.toml").write_text(text)
    config = read_config(folder / "live.toml")
    with closing(Ledger(config.state)) as ledger:
        live = Rounds(config, GPUS, EPOCH, None, no_history)
        for k in range(rounds):
            result = live.play(slurm.show(EPOCH + k * config.interval))
            ledger.write(result.state, result.over)
            for action in result.actions:
                slurm.do(action)
    return config
