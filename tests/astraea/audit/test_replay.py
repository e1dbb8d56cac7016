"""Replays of logs of a real Slurm, and the error that is told with them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from places import ROOT
from processes import run

from astraea.audit.scenarios import Calibration, calibration
from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import observed
from astraea.cluster.policies import get_policy
from astraea.cluster.simulate import simulate
from astraea.traces.readers import read_trace
from astraea.traces.trace import Trace

MAKE_LOG = ROOT / "tests" / "slurm" / "make_log.py"


def clock_offset(trace: Trace) -> float:
    """Seconds past a full minute at second 0: `clock_offset` of the policy, 0 where the log does not tell [s]."""
    return 0.0 if trace.origin is None else float(trace.origin.second) + trace.origin.microsecond / 1e6


def calc_offset(log: Path, period: float = 60.0) -> float:
    """When Slurm computed usage first after second 0 of its log: `calc_offset` of the policy, in [0, period) [s].

    A job gets the priority of its account when it is submitted, which changes only when usage is computed. That moment
    is the one within the period (PriorityCalcPeriod) for which jobs of one account and size, submitted between two
    computations, differ in priority the least often; 0 if no priority changes. `log` is of ``sacct -P``.
    """
    jobs = pd.read_csv(log, sep="|", dtype=str)
    if not {"Account", "Submit", "ReqTRES", "Priority"}.issubset(jobs.columns):
        return 0.0
    submit = (pd.to_datetime(jobs["Submit"]) - pd.to_datetime(jobs["Submit"]).min()).dt.total_seconds()
    steps = np.arange(0.0, period)
    kinds = [jobs.groupby(["Account", "ReqTRES", np.floor((submit - step) / period)])["Priority"] for step in steps]
    wrong = np.array([int((kind.nunique() - 1).sum()) for kind in kinds])
    if wrong.max() == 0:
        return 0.0
    best = np.flatnonzero(wrong == wrong.min())
    if 0 in best and len(steps) - 1 in best:  # around the end of the period
        best = np.where(best > len(steps) / 2, best - len(steps), best)
    return float(np.median(best) % period)


class Log(NamedTuple):
    """How a log was made, and what is asked of its replay."""

    shares: dict[str, float]
    nodes: int
    gpus: int
    half_life: float
    in_order: float = 0.9
    wait: float = 0.1


LOGS = {
    "three_accounts": Log({"vision": 3, "speech": 2, "nlp": 1}, 4, 8, 1200),
    "small_nodes": Log({"a": 4, "b": 2, "c": 1, "d": 1}, 6, 4, 300),
    "short_half_life": Log({"red": 3, "green": 1, "blue": 1}, 4, 8, 180),
    "long_queue": Log({"a": 4, "b": 2, "c": 1, "d": 1}, 6, 4, 1200, in_order=0.87),
    "short_jobs": Log({"vision": 3, "speech": 2, "nlp": 1}, 4, 8, 600, wait=0.12),
}
SHARED = Log({"vision": 2, "speech": 1, "nlp": 1}, 4, 8, 600)


def replayed(path: Path, log: Log, **parameters: object) -> Calibration:
    """The log beside its replay, whose backfill has the clock of the log."""
    trace = read_trace(path, format="slurm", weights=log.shares)
    assert trace.origin is not None
    clock = trace.origin.second + trace.origin.microsecond / 1e6
    policy = get_policy("slurm")(half_life=log.half_life, clock_offset=clock, **parameters)
    cluster = Cluster(log.nodes, log.gpus)
    return calibration(observed(trace, cluster), simulate(trace, cluster, policy))


def holds(found: Calibration, log: Log) -> None:
    """Order and waits are near enough."""
    assert found.in_order >= log.in_order, found.sentence
    assert abs(found.error) <= log.wait, found.sentence


@pytest.mark.parametrize("name", LOGS)
def test_replay_of_a_real_slurm(name: str) -> None:
    path = ROOT / "tests" / "data" / "slurm" / f"{name}.txt"
    found = replayed(path, LOGS[name])
    assert found.waited >= 70
    assert found.recorded > 30
    holds(found, LOGS[name])


def test_replay_of_the_shared_log(shared: Path) -> None:
    path = shared / "reference" / "slurm" / "sacct.txt"
    if not path.is_file():
        pytest.skip("no log of Slurm beside the project (../shared/reference/slurm)")
    for offset in (0, 15, 30, 45):  # a log does not tell when usage was computed
        holds(replayed(path, SHARED, calc_offset=offset), SHARED)


def test_backfill_and_fair_share_are_what_makes_it_near() -> None:
    path, log = ROOT / "tests" / "data" / "slurm" / "three_accounts.txt", LOGS["three_accounts"]
    near = replayed(path, log)
    for other in ({"backfill": "none"}, {"weight_fairshare": 0, "weight_age": 0}):
        assert replayed(path, log, **other).in_order < near.in_order


@pytest.mark.slurm
def test_replay_of_a_log_made_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(MAKE_LOG.parent))
    from local_slurm import free_ports, missing

    if missing() or os.geteuid() != 0:
        pytest.skip("no Slurm is installed here, or nobody may start it (needs root)")
    path = tmp_path / "log.txt"
    options = "--shares vision=3,speech=2,nlp=1 --load vision=1,speech=1,nlp=1 --half-life 01:00:00 --jobs 110".split()
    options += "--seconds 110 --duration 14,0.7 --time-limits 1,2,4 --seed 8".split()
    options += ["--ports", str(free_ports(4))]
    run(sys.executable, MAKE_LOG, path, *options)
    # one log of a few minutes: two of them gave 92 and 86 % of the pairs, 11 and 2 % less waiting
    log = Log({"vision": 3, "speech": 2, "nlp": 1}, 4, 8, 3600, in_order=0.8, wait=0.2)
    holds(replayed(path, log), log)
