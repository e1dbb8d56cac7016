"""Workloads that several tests run, each run once, and what can be rebuilt from its log.

As a program, it prints the digests of some runs, for the tests that compare two processes.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from schedules import policy_named
from synthetic_traces import synthetic

from astraea.cluster.cluster import Cluster
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.traces.trace import Trace

WEIGHTS = {"t0": 1.0, "t1": 2.0, "t2": 3.0, "t3": 2.0}


class Case(NamedTuple):
    """A trace, where it runs, and how."""

    trace: Trace
    cluster: Cluster
    settings: Settings = Settings()


def crowd() -> Case:
    """300 jobs of 4 tenants that ask for 2.5 times the cluster's GPUs while they are submitted; 4 GPUs a node."""
    rng, n = np.random.default_rng(7), 300
    jobs = pd.DataFrame(
        {
            "job_id": range(n),
            "tenant": [f"t{t}" for t in rng.integers(0, 4, n)],
            "demand": rng.choice([1, 1, 1, 2, 2, 3, 4, 6, 8], n),
            "submit_time": np.round(rng.uniform(0, 20_000, n), 2),
            "duration": np.round(rng.lognormal(7, 1.2, n), 2),
            "weight": rng.choice([1.0, 2.0], n),
            "sensitivity": rng.choice([1.0, 1.0, 1.0, 0.75, 0.5], n),
            "deadline": np.where(rng.random(n) < 0.3, rng.uniform(0, 60_000, n), np.nan),
        }
    )
    limit = 600 * np.ceil(jobs["duration"] * (1 + np.arange(n) % 4) / 600)
    jobs["time_limit"] = limit.where(np.arange(n) % 7 > 0)
    return Case(Trace.from_frame(jobs, name="crowd", weights=WEIGHTS), Cluster(6, 4))


def few() -> Case:
    """40 jobs by a rule of arithmetic, small enough to follow by hand; the golden files use it too."""
    k = np.arange(40)
    jobs = pd.DataFrame(
        {
            "job_id": k,
            "tenant": [f"t{t}" for t in k % 3],
            "demand": np.array([1, 2, 4, 1, 3])[k % 5],
            "submit_time": 70.0 * k + k * k % 7,
            "duration": 200.0 + 37.5 * (k * k % 41),
            "deadline": np.where(k % 4 == 0, 3000.0 + 50.0 * k, np.nan),
        }
    )
    return Case(Trace.from_frame(jobs, name="few", weights={"t0": 2, "t1": 1, "t2": 1}), Cluster(4, 4))


def limited() -> Case:
    """The same 40 jobs with time limits of once to three times their durations."""
    case = few()
    limit = 60 * np.ceil(case.trace.duration * (1 + np.arange(40) % 3) / 60)
    weights = dict(zip(case.trace.tenants, case.trace.tenant_weight.tolist(), strict=True))
    jobs = case.trace.frame.assign(time_limit=limit)
    return case._replace(trace=Trace.from_frame(jobs, name="limited", weights=weights))


def venus() -> Case:
    """The first 400 jobs of synthetic Venus on a fifth of its cluster."""
    return Case(synthetic("venus").head(400), Cluster(20, 8))


@cache
def workload(name: str) -> Case:
    """A workload by name; the crowd also placed at random, which slows sensitive jobs, and strictly."""
    if name in ("random", "strict"):
        return crowd()._replace(settings=Settings(placement=name))
    return {"crowd": crowd, "few": few, "limited": limited, "venus": venus}[name]()


class Audit:
    """A run with its log, and tables rebuilt from the log alone."""

    def __init__(self, w: Case, policy: Policy) -> None:
        self.workload = w
        self.policy = policy
        self.result = simulate(w.trace, w.cluster, policy, settings=w.settings, keep_log=True)
        assert self.result.grants is not None and self.result.placements is not None
        self.grants, self.placements, self.jobs = self.result.grants, self.result.placements, self.result.jobs

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the bytes of every table."""
        r, h = self.result, hashlib.sha256()
        for table in (r.jobs, r.excluded_jobs, r.timeline, r.grants, r.placements):
            assert table is not None
            buffer = io.BytesIO()
            table.to_parquet(buffer)
            h.update(buffer.getvalue())
        return h.hexdigest()

    @cached_property
    def holder(self) -> npt.NDArray[np.int64]:
        """For each grant, the one that placed its gang: itself, or for a renewal the last grant that was none."""
        row = pd.Series(np.arange(len(self.grants))).where(self.grants["kind"] != "renewal")
        return row.groupby(self.grants["job_id"]).ffill().to_numpy(dtype=np.int64)

    @cached_property
    def pieces(self) -> pd.DataFrame:
        """Node, GPUs, start and end of every piece of every lease."""
        return self.grants[["start", "end"]].assign(grant=self.holder).merge(self.placements, on="grant")


@cache
def audit(name: str, variant: str) -> Audit:
    """A run, once for all tests that look at it; a variant is ``policy,parameter=value,...``."""
    policy, *options = variant.split(",")
    parameters = {key: float(value) for key, value in (option.split("=") for option in options)}
    return Audit(workload(name), policy_named(policy).with_parameters(**parameters))


if __name__ == "__main__":
    print(json.dumps({variant: audit(sys.argv[1], variant).digest for variant in sys.argv[2:]}))
