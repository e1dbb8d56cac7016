"""A Slurm without delays, for the coordinator's rounds: it starts at once what is released, and jobs lose no work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from astraea.live.answers import Job, Node, Run
from astraea.live.config import Config
from astraea.live.rounds import HOLD, RELEASE, Action, Rounds, Snapshot
from astraea.live.state import Lease, State
from astraea.traces.trace import Trace

EPOCH = 1_000_000_000.0


class Clock:
    """The clock of a coordinator, and of its Slurm if that has no other; it stands still but when a test moves it."""

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


class Granted(NamedTuple):
    """A lease as a simulation logs it."""

    time: float
    job: str
    is_renewal: bool


@dataclass
class _Job:
    shown: Job
    left: float
    began: float = 0.0


class LiveCluster:
    """Jobs of a trace on `nodes` x `per_node` GPUs; gangs may be spread, so that every grant has a place."""

    def __init__(self, trace: Trace, nodes: int, per_node: int) -> None:
        self.now = EPOCH
        self.nodes = [Node(f"n{k}", per_node, True) for k in range(nodes)]
        self.all = [
            _Job(
                job(
                    str(trace.job_id[j]), account=trace.tenants[trace.tenant[j]], user=str(trace.user[j]),
                    submit=EPOCH + float(trace.submit_time[j]), demand=int(trace.demand[j]),
                ),
                float(trace.duration[j]),
            )
            for j in range(len(trace))
        ]  # fmt: skip

    @property
    def is_done(self) -> bool:
        return all(one.shown.state == "COMPLETED" for one in self.all)

    def show(self, now: float) -> Snapshot:
        """What Slurm shows at a moment; ends are exact."""
        self.now = now
        for one in self.all:
            if one.shown.state == "RUNNING" and one.began + one.left <= now:
                one.shown = one.shown._replace(state="COMPLETED", end=one.began + one.left, on_nodes={})
        return Snapshot(now, [one.shown for one in self.all if one.shown.submit <= now], self.nodes)

    def do(self, action: Action, saved: float) -> None:
        """What `scontrol` would do; a job that is stopped has what it had done at its last save."""
        one = next(one for one in self.all if one.shown.id == action.job.id)
        if action.what == RELEASE:
            one.began = self.now
            one.shown = one.shown._replace(state="RUNNING", held=False, start=self.now)
        elif action.what == HOLD:
            one.shown = one.shown._replace(held=True)
        else:
            one.left -= saved - one.began
            one.shown = one.shown._replace(state="PENDING", held=True, restarts=one.shown.restarts + 1)


def played(
    trace: Trace, config: Config, nodes: int, per_node: int, *,
    again: Callable[[State, list[Lease]], State] | None = None,
) -> list[Granted]:
    """Every lease of a trace that the rounds grant; `again` may replace the state after a round, as a restart does."""
    cluster = LiveCluster(trace, nodes, per_node)
    state = State(EPOCH, Rounds(config, nodes * per_node, EPOCH, None, no_history).state().accounts, {})
    rounds = Rounds(config, nodes * per_node, EPOCH, state, no_history)
    leases: list[Lease] = []
    number = 0
    while not cluster.is_done and number < 20_000:
        result = rounds.play(cluster.show(EPOCH + number * config.interval))
        leases += result.over
        revoked = {lease.job: lease.granted for lease in result.over if lease.outcome == "revoked"}
        for action in result.actions:
            cluster.do(action, revoked.get(action.job.id, cluster.now))
        if again is not None:
            new = again(result.state, list(result.over))
            if new is not result.state:
                rounds = Rounds(config, nodes * per_node, cluster.now, new, no_history)
        number += 1
    assert cluster.is_done
    leases += rounds.leases.values()
    return sorted(Granted(lease.granted - EPOCH, lease.job, bool(lease.is_renewal)) for lease in leases)


def simulated_leases(grants: pd.DataFrame) -> list[Granted]:
    """The leases of a simulation."""
    kinds = grants["kind"].eq("renewal")
    rows = zip(grants["start"], grants["job_id"], kinds, strict=True)
    return sorted(Granted(float(t), str(j), bool(k)) for t, j, k in rows)
