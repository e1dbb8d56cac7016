"""Rules that every scheduler must obey, and one small schedule of each, compared as text.

``PYTHONPATH=tests/helpers python tests/astraea/cluster/test_policies.py`` writes the golden files anew.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import processes
import pytest
import workloads
from workloads import Audit, audit

import astraea
from astraea.cluster.engine.state import EVERY_ROUND
from astraea.cluster.policies import all_policies, get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.simulate import simulate
from astraea.core.metrics import hourly
from astraea.traces.trace import Trace

VARIANTS = [
    *(name for name in all_policies() if name not in ("decayed-usage", "kueue-afs", "slurm")),
    "decayed-usage,half_life=3000",
    "kueue-afs,usage_half_life_time=3000",
    "slurm,half_life=3000,interval=10",
    "tiresias-l,queues=3,threshold=2000,growth=4,promote=1",
    "tiresias-l,queues=3,threshold=2000,growth=4,immediate=1",
    "astraea,renewal_bonus=0.1,deadline_bonus=0.3",
    "astraea-with-rules,tenant_window=7200,idle_guard=0.2,starvation=3600,early_lease=300",
    "astraea-released,job_order=2,delay_threshold=500",
    "kai,deserved=0,half_life=3000,k_value=2,min_runtime=300",
    "slurm,half_life=3000,interval=5,backfill=1,limit=1.5,weight_jobsize=50000,favor_small=1",
    "gandiva-fair,others_fill=1",
    "gandiva-fair,others_fill=1,quanta=1",
    "themis,f=0",
    "themis,isolated=1",
]
"""Every policy, then some again with other parameters."""


def revokes(policy: Policy) -> bool:
    """True if it may take GPUs inside a lease."""
    options = policy.parameters.get("immediate", 0) or policy.parameters.get("early_lease", 0)
    return policy.name in ("astraea-released", "hived", "kai") or options > 0


@cache
def digests_elsewhere(name: str, **environment: str) -> dict[str, str]:
    """Digests of all of these on a workload, from another process in which every warning is an error."""
    paths = [str(Path(astraea.__file__).parents[1]), str(Path(workloads.__file__).parent)]
    done = processes.run(
        sys.executable, "-W", "error", workloads.__file__, name, *VARIANTS,
        env={"PYTHONPATH": os.pathsep.join(paths), **environment},
    )  # fmt: skip
    found: dict[str, str] = json.loads(done.stdout)
    return found


def cases() -> list[object]:
    """`make test` runs each policy on two workloads, its variants on the first one; the rest is exhaustive."""
    out: list[object] = []
    for k, variant in enumerate(VARIANTS):
        for name in ("crowd", "venus", "random", "strict"):
            is_rare = name in ("random", "strict") or (name == "venus" and k >= len(all_policies()))
            marks = [pytest.mark.exhaustive] if is_rare else []
            out.append(pytest.param((name, variant), id=f"{variant}-{name}", marks=marks))
    return out


@pytest.fixture(params=cases())
def run(request: pytest.FixtureRequest) -> Audit:
    """A policy's run on a workload, computed once for all tests."""
    return audit(*request.param)


def test_no_node_ever_gives_more_gpus_than_it_has(run: Audit) -> None:
    p = run.pieces
    time, change = np.concatenate([p["start"], p["end"]]), np.concatenate([p["gpus"], -p["gpus"]])
    node = np.concatenate([p["node"], p["node"]])
    order = np.lexsort((change, time, node))  # at one moment, GPUs are given back before they are given out
    held = pd.Series(change[order]).groupby(node[order]).cumsum()
    assert held.between(0, run.workload.cluster.gpus_per_node).all()
    assert p["node"].between(0, run.workload.cluster.nodes - 1).all()


def test_gangs_are_whole_and_stay_where_they_are(run: Audit) -> None:
    placed = run.placements.groupby("grant")["gpus"].agg(["sum", "size", "min"])
    new = run.grants[run.grants["kind"] != "renewal"]
    assert (placed["min"] > 0).all()
    assert not run.placements.duplicated(["grant", "node"]).any()
    assert placed["sum"].to_dict() == new["demand"].to_dict()
    assert (run.grants["nodes"].to_numpy() == placed["size"].loc[run.holder.tolist()]).all()


def test_leases_start_at_rounds_and_last_no_longer_than_the_term(run: Audit) -> None:
    rounds = run.grants["start"] / run.policy.parameters.get("interval", run.workload.settings.interval)
    assert (rounds == rounds.round()).all()
    assert (run.grants["end"] > run.grants["start"]).all()
    assert (run.grants["end"] - run.grants["start"] <= run.policy.lease_term).all()
    assert run.grants["start"].is_monotonic_increasing
    if np.isfinite(run.policy.lease_term):
        assert run.jobs["leases"].max() > 1
    else:  # nothing is preempted
        assert (run.jobs["leases"] == 1).all()
        assert (run.jobs[["preemptions", "overhead"]] == 0).all().all()


def test_kinds_of_leases_follow_from_their_times(run: Audit) -> None:
    by_job = run.grants.groupby("job_id")
    previous = by_job["end"].shift()
    gap = run.grants["start"] - previous
    assert not (gap < 0).any()
    assert ((run.grants["kind"] == "start") == previous.isna()).all()
    assert (gap[run.grants["kind"] == "renewal"] == 0).all()
    jobs = run.jobs.set_index("job_id")
    assert jobs["leases"].to_dict() == by_job.size().to_dict()
    assert jobs["first_start_time"].to_dict() == by_job["start"].first().to_dict()
    assert jobs["end_time"].to_dict() == by_job["end"].last().to_dict()
    restarts = (run.grants["kind"] == "restart").groupby(run.grants["job_id"]).sum()
    assert jobs["preemptions"].to_dict() == restarts.to_dict()


def test_no_job_is_lost(run: Audit) -> None:
    trace, jobs, aside = run.workload.trace, run.jobs, run.result.excluded_jobs
    assert sorted([*jobs["job_id"], *aside["job_id"]]) == sorted(trace.job_id)
    kept = trace.frame[~trace.frame["job_id"].isin(aside["job_id"])].reset_index(drop=True)
    columns = ["job_id", "tenant", "demand", "submit_time", "duration", "user"]
    pd.testing.assert_frame_equal(jobs[columns], kept[columns])
    assert (jobs["first_start_time"] >= jobs["submit_time"]).all()
    assert jobs.notna().all().all()
    largest = run.policy.largest(run.policy.parameters)
    parts = largest * run.result.gpus * trace.tenant_weight / trace.tenant_weight.sum()
    parts = np.floor(np.minimum(parts, run.result.gpus))
    quota = dict(zip(trace.tenants, parts, strict=True))
    assert (jobs["demand"] <= jobs["tenant"].map(quota)).all()
    assert (aside["demand"] > aside["tenant"].map(quota).astype(float)).all()


def test_gpu_time_is_conserved(run: Audit) -> None:
    held = run.grants["demand"] * (run.grants["end"] - run.grants["start"])
    of_job = held.groupby(run.grants["job_id"]).sum().loc[run.jobs["job_id"]]
    np.testing.assert_allclose(run.jobs["attained_service"], of_job, rtol=1e-12)
    g, tenants = run.grants, np.array(run.workload.trace.tenants)
    hours = hourly(run.result)["time"].to_numpy().reshape(-1, len(tenants))[:, :1]
    whose = (g["tenant"].to_numpy()[:, None] == tenants).astype(float)
    demand, start, end = (g[c].to_numpy(dtype=float) for c in ("demand", "start", "end"))
    until = demand * (np.clip(hours, start, end) - start) @ whose
    holds = demand * ((start < hours) & (hours <= end)) @ whose
    whose = (run.jobs["tenant"].to_numpy()[:, None] == tenants).astype(float)
    came, left = (run.jobs[c].to_numpy() for c in ("submit_time", "end_time"))
    wants = run.jobs["demand"].to_numpy() * ((came < hours) & (hours <= left)) @ whose
    timeline = hourly(run.result)
    np.testing.assert_allclose(timeline["attained_service"], until.ravel(), rtol=1e-11)
    assert (timeline["held"] == holds.ravel()).all()
    assert (timeline["held"] + timeline["waiting"] == wants.ravel()).all()


def test_every_second_is_accounted_for(run: Audit) -> None:
    jobs, settings = run.jobs, run.workload.settings
    executed = jobs["attained_service"] / jobs["demand"]
    np.testing.assert_allclose(jobs["jct"], jobs["end_time"] - jobs["submit_time"])
    np.testing.assert_allclose(jobs["jct"], jobs["queueing_delay"] + executed)
    np.testing.assert_allclose(jobs["slowdown"], jobs["jct"] / executed)
    np.testing.assert_allclose(jobs["rho_job"], jobs["attained_service"] / jobs["fair_service"])
    trace = run.workload.trace.frame.set_index("job_id").loc[jobs["job_id"]]
    least = (jobs["duration"] + jobs["overhead"]).to_numpy()
    most = (jobs["duration"] / trace["sensitivity"].to_numpy() + jobs["overhead"]).to_numpy()
    assert (executed >= least * (1 - 1e-12)).all()
    assert (executed <= most * (1 + 1e-12)).all()
    if not revokes(run.policy):
        restarts = jobs["preemptions"]
        checkpoints = restarts if run.policy.synchronous(run.policy.parameters) else jobs["leases"] - 1
        charged = checkpoints * settings.checkpoint_overhead + restarts * settings.restart_overhead
        np.testing.assert_allclose(jobs["overhead"], charged)


def test_skipped_rounds_change_nothing(run: Audit) -> None:
    every = dataclasses.replace(run.policy, revisit=lambda _: EVERY_ROUND)
    assert Audit(run.workload, every).digest == run.digest


def test_row_order_and_names_change_nothing(run: Audit) -> None:
    trace, rng = run.workload.trace, np.random.default_rng(3)
    names = {t: f"tenant-{i:02d}" for i, t in enumerate(trace.tenants)}
    weights = {names[t]: 2 * w for t, w in zip(trace.tenants, trace.tenant_weight, strict=True)}
    jobs = trace.frame.iloc[rng.permutation(len(trace))].replace({"tenant": names})
    other = Audit(run.workload._replace(trace=Trace.from_frame(jobs, weights=weights)), run.policy)
    for ours, theirs in ((other.jobs, run.jobs), (other.grants, run.grants)):
        pd.testing.assert_frame_equal(ours.drop(columns="tenant"), theirs.drop(columns="tenant"), check_exact=True)
    pd.testing.assert_frame_equal(other.placements, run.placements)


def test_the_future_is_out_of_reach(run: Audit) -> None:
    """Decisions before a moment do not depend on durations of jobs that end later, nor on later jobs."""
    clock = 0.5 * run.workload.trace.span
    known = run.workload.trace.submit_time <= clock
    jobs = run.workload.trace.frame[known]
    unended = ~jobs["job_id"].isin(run.jobs.loc[run.jobs["end_time"] <= clock, "job_id"])
    if not run.policy.needs_estimates:
        longer = np.random.default_rng(5).uniform(1, 30, len(jobs))
        jobs = jobs.assign(duration=jobs["duration"] * np.where(unended, longer, 1))
    weights = dict(zip(run.workload.trace.tenants, run.workload.trace.tenant_weight, strict=True))
    other = Audit(run.workload._replace(trace=Trace.from_frame(jobs, weights=weights)), run.policy)
    assert unended.sum() > 3
    ours, theirs = (a.grants[a.grants["start"] <= clock].drop(columns="end") for a in (other, run))
    pd.testing.assert_frame_equal(ours, theirs, check_exact=True)
    assert len(ours) > 3
    ours, theirs = (a.placements[a.placements["grant"] < len(ours)] for a in (other, run))
    pd.testing.assert_frame_equal(ours, theirs)


@pytest.mark.parametrize(
    "workload, environment",
    [
        pytest.param("crowd", {"PYTHONHASHSEED": "12345"}, id="another process"),
        pytest.param("few", {"NUMBA_DISABLE_JIT": "1"}, id="plain Python", marks=pytest.mark.exhaustive),
    ],
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_bytes_are_the_same_elsewhere(workload: str, environment: dict[str, str], variant: str) -> None:
    assert digests_elsewhere(workload, **environment)[variant] == audit(workload, variant).digest


@pytest.mark.parametrize("policy", ["max-min", "kueue-afs", "gandiva-fair", "yarn-cs", "astraea", "decayed-usage"])
def test_schedules_do_not_depend_on_the_unit_of_weights(policy: str) -> None:
    w = workloads.workload("crowd")
    ends = []
    for unit in (1.0, 2.0**40):
        weights = {t: weight * unit for t, weight in workloads.WEIGHTS.items()}
        trace = Trace.from_frame(w.trace.frame.assign(weight=w.trace.weight * unit), weights=weights)
        ends.append(simulate(trace, w.cluster, get_policy(policy)).jobs["end_time"].tolist())
    assert ends[0] == ends[1]


def test_usage_without_decay_is_all_usage() -> None:
    """With half-lives far beyond the workload, tenants are in the same order, and not all equal."""
    w = workloads.workload("crowd")
    ends = [
        simulate(w.trace, w.cluster, "decayed-usage", half_life=half_life).jobs["end_time"].tolist()
        for half_life in (1e9, 1e15)
    ]
    assert ends[0] == ends[1]


GOLDEN = Path(__file__).parent / "golden"
COLUMNS = [
    "job_id", "tenant", "demand", "submit_time", "first_start_time", "end_time", "leases", "preemptions", "overhead",
    "attained_service", "fair_service", "rho_job",
]  # fmt: skip


def table(policy: str) -> str:
    """Return a policy's schedule of 40 jobs as CSV, to the microsecond: the last bit of a sum does not matter."""
    w = workloads.workload("limited" if policy == "easy" else "few")
    result = simulate(w.trace, w.cluster, policy)
    return str(result.jobs[COLUMNS].to_csv(index=False, float_format="%.6f", lineterminator="\n"))


@pytest.mark.parametrize("policy", sorted({*all_policies(), *(path.stem for path in GOLDEN.glob("*.csv"))}))
def test_schedule_is_the_golden_one(policy: str) -> None:
    assert (GOLDEN / f"{policy}.csv").read_text() == table(policy)


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name in all_policies():
        (GOLDEN / f"{name}.csv").write_text(table(name))
