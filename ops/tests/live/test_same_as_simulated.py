"""On a Slurm without delays the coordinator grants the leases of the simulation: the same jobs, rounds and renewals."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from live_cluster import EPOCH, GPUS, SmallSlurm, job, no_history

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.traces.trace import Trace
from astraea_ops.live.config import Config
from astraea_ops.live.ledger import Ledger
from astraea_ops.live.rounds import Rounds
from astraea_ops.live.state import Lease, State

Granted = tuple[float, str, bool]
"""A granted lease: time, job, and true if it is a renewal."""

FREE = Settings(checkpoint_overhead=0, restart_overhead=0)
WEIGHTS = {"a": 2.0, "b": 1.0, "c": 1.0}


def workload(seed: int, jobs: int = 20) -> Trace:
    """Jobs of three tenants for 16 GPUs, at about 1.2 times what it can do."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "job_id": [str(k + 1) for k in range(jobs)],
            "tenant": rng.choice(["a", "b", "c"], jobs, p=[0.3, 0.4, 0.3]),
            "demand": rng.choice([1, 1, 2, 4], jobs),
            "submit_time": np.sort(rng.uniform(0, 70 * jobs, jobs)).round(2),
            "duration": rng.lognormal(6.7, 1.0, jobs).clip(20, 6_000).round(2),
        }
    )
    return Trace.from_frame(table, name="live", weights=WEIGHTS)


WITHOUT_TERM = ("gandiva-fair", "fifo", "yarn-cs")
OTHERS = ("astraea-released", "tiresias-l", "decayed-usage", "max-min", *WITHOUT_TERM)


def config(tmp_path: Path, policy: str) -> Config:
    """Ten seconds between rounds."""
    parameters = {} if policy in WITHOUT_TERM else {"lease_term": 300}
    return Config("gpu", tmp_path / "state.sqlite", get_policy(policy).with_parameters(**parameters), weights=WEIGHTS)


def played(trace: Trace, config: Config, again: Callable[[State, list[Lease]], State] | None = None) -> list[Granted]:
    """Every lease that the rounds grant to a trace; `again` may replace the state after a round, as a restart does."""
    jobs = [
        job(
            str(trace.job_id[j]), account=trace.tenants[trace.tenant[j]], user=str(trace.user[j]),
            submit=EPOCH + float(trace.submit_time[j]), demand=int(trace.demand[j]),
        )
        for j in range(len(trace))
    ]  # fmt: skip
    slurm = SmallSlurm(*jobs, seconds={one.id: float(trace.duration[j]) for j, one in enumerate(jobs)})
    state = State(EPOCH, Rounds(config, GPUS, EPOCH, None, no_history).state().accounts, {})
    rounds = Rounds(config, GPUS, EPOCH, state, no_history)
    leases: list[Lease] = []
    number = 0
    while not slurm.is_done and number < 20_000:
        result = rounds.play(slurm.show(EPOCH + number * config.interval))
        leases += result.over
        revoked = {lease.job: lease.granted for lease in result.over if lease.outcome == "revoked"}
        for action in result.actions:
            slurm.do(action, revoked.get(action.job.id, slurm.now))
        if again is not None:
            new = again(result.state, list(result.over))
            if new is not result.state:
                rounds = Rounds(config, GPUS, slurm.now, new, no_history)
        number += 1
    assert slurm.is_done
    leases += rounds.leases.values()
    return sorted((lease.granted - EPOCH, lease.job, bool(lease.is_renewal)) for lease in leases)


def simulated_leases(grants: pd.DataFrame) -> list[Granted]:
    """The leases of a simulation."""
    kinds = grants["kind"].eq("renewal")
    rows = zip(grants["start"], grants["job_id"], kinds, strict=True)
    return sorted((float(t), str(j), bool(k)) for t, j, k in rows)


@pytest.mark.parametrize("policy", ["astraea", *(pytest.param(p, marks=pytest.mark.exhaustive) for p in OTHERS)])
def test_the_same_leases(tmp_path: Path, policy: str) -> None:
    trace = workload(3, 20 if policy == "astraea" else 45)
    wanted = simulate(trace, Cluster(2, 8), config(tmp_path, policy).policy, settings=FREE, keep_log=True)
    if policy not in ("fifo", "yarn-cs"):
        assert wanted.log["kind"].eq("renewal").sum() > 10
    assert played(trace, config(tmp_path, policy)) == simulated_leases(wanted.log)


@pytest.mark.parametrize("policy", [pytest.param("astraea-released", marks=pytest.mark.exhaustive), "gandiva-fair"])
def test_the_same_leases_although_it_begins_anew_from_its_file_again_and_again(tmp_path: Path, policy: str) -> None:
    trace, settings = workload(4), config(tmp_path, policy)
    wanted = simulate(trace, Cluster(2, 8), settings.policy, settings=FREE, keep_log=True)
    rng = np.random.default_rng(1)
    ledger, ended = Ledger(settings.state), list[Lease]()

    def again(state: State, over: list[Lease]) -> State:
        ended.extend(over)
        if rng.random() > 0.1:
            return state
        ledger.write(state, ended)
        ended.clear()
        with closing(Ledger(settings.state)) as other:
            found = other.read()
        assert found is not None
        return found
    assert played(trace, settings, again) == simulated_leases(wanted.log)
