"""The engine against a naive twin, to the second and to the node, on small workloads, and against queueing theory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import reference
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from reference_state import JobSpec
from schedules import policy_named
from scipy import stats

from astraea.cluster.cluster import Cluster
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.metrics import hourly
from astraea.core.result import Result
from astraea.textbook import Grant
from astraea.traces.trace import Trace

job = st.builds(
    JobSpec,
    tenant=st.integers(0, 2),
    demand=st.sampled_from([1, 1, 1, 2, 2, 3, 4, 5, 8]),
    submit=st.one_of(st.integers(0, 1500).map(float), st.integers(0, 100).map(lambda k: k * 10.0)),
    duration=st.one_of(st.integers(1, 12_000).map(lambda q: q / 4), st.integers(1, 300).map(lambda k: k * 10.0)),
    weight=st.sampled_from([1, 1, 2, 0.5]),
    sensitivity=st.sampled_from([1, 1, 0.5, 0.25]),
    deadline=st.one_of(st.none(), st.integers(0, 4000).map(float)),
    time_limit=st.none(),
)
limited_job = st.builds(
    lambda job, limit: job._replace(time_limit=limit),
    job,
    st.one_of(st.none(), st.integers(1, 3000).map(float), st.integers(1, 60).map(lambda k: k * 60.0)),
)


def cases(name: str, least: int = 8, most: int = 20) -> st.SearchStrategy[dict[str, Any]]:
    """Workloads of this many jobs, with time limits for a policy that reads them, a cluster, and settings."""
    one = limited_job if name == "easy" else job
    return st.fixed_dictionaries(
        {
            "jobs": st.lists(one, min_size=least, max_size=most).map(lambda jobs: sorted(jobs, key=lambda j: j.submit)),
            "nodes": st.integers(1, 4),
            "gpus_per_node": st.sampled_from([2, 4, 4]),
            "tenant_weights": st.tuples(*[st.sampled_from([1, 2, 3])] * 3),
            "lease_term": st.sampled_from([60, 95, 300, 600]),
            "checkpoint_overhead": st.sampled_from([0, 5]),
            "restart_overhead": st.sampled_from([0, 20]),
            "placement": st.sampled_from(["consolidated", "consolidated", "strict", "spread"]),
        }
    )


def among(**values: list[float]) -> dict[str, st.SearchStrategy[float]]:
    """Return a strategy for each option: one of its values."""
    return {name: st.sampled_from(some) for name, some in values.items()}


NO_OPTIONS: st.SearchStrategy[dict[str, float]] = st.just({})
OPTIONS = {
    **dict.fromkeys(("fifo", "easy", "yarn-cs", "max-min", "finish-time-fairness"), NO_OPTIONS),
    "allox": st.fixed_dictionaries({}, optional=among(alpha=[0.25, 0.5, 1])),
    "tiresias-l": st.fixed_dictionaries(
        among(threshold=[60, 100, 300, 600]),
        optional=among(queues=[3, 4], growth=[3, 4], promote=[0.5, 2], immediate=[1]),
    ),
    "kai": st.fixed_dictionaries(
        {}, optional=among(deserved=[0, 0.5], k_value=[0, 2], window=[3600, 7200], min_runtime=[120])
    ),
    "gandiva-fair": st.fixed_dictionaries({}, optional=among(others_fill=[1], quanta=[1])),
    "astraea": st.fixed_dictionaries({}, optional=among(renewal_bonus=[0.125, 0.5], deadline_bonus=[0.25, 1])),
    "astraea-with-rules": st.fixed_dictionaries(
        {},
        optional=among(
            tenant_window=[3600, 7200], idle_guard=[0.3, 0.5, 1], starvation=[300, 900], early_lease=[50, 250]
        ),
    ),
}  # fmt: skip
"""Options of each policy that the twin knows; omitted ones have their default."""


def run_engine(case: dict[str, Any], name: str, parameters: dict[str, float]) -> Result:
    """The case in the engine's own terms."""
    jobs = pd.DataFrame(case["jobs"]).rename(columns={"submit": "submit_time"})
    jobs = jobs.assign(job_id=jobs.index, tenant="t" + jobs["tenant"].astype(str))
    jobs = jobs.astype({"deadline": float, "time_limit": float})
    trace = Trace.from_frame(jobs, weights={f"t{t}": w for t, w in enumerate(case["tenant_weights"])})
    policy = policy_named(name).with_parameters(**parameters)
    if "lease_term" in policy.parameters:
        policy = policy.with_parameters(lease_term=case["lease_term"])
    chosen = Settings(**{k: case[k] for k in ("checkpoint_overhead", "restart_overhead", "placement")})
    return simulate(trace, Cluster(case["nodes"], case["gpus_per_node"]), policy, settings=chosen, keep_log=True)


def grants_of(result: Result) -> list[Grant]:
    """The engine's log in the twin's form; a renewal stays on the nodes of the grant before it."""
    assert result.grants is not None and result.placements is not None
    placed = result.placements.groupby("grant")
    pieces = {line: tuple(sorted(zip(rows["node"], rows["gpus"], strict=True))) for line, rows in placed}
    nodes: dict[str, Any] = {}
    out = []
    for line, g in enumerate(result.grants.itertuples()):
        nodes[g.job_id] = pieces.get(line, nodes.get(g.job_id))
        out.append(Grant(g.start, int(g.job_id), g.kind == "renewal", nodes[g.job_id]))
    return out


COLUMNS = {
    "first_start_time": "first_start", "end_time": "end_time", "overhead": "overhead", "leases": "leases",
    "preemptions": "preemptions", "attained_service": "attained",
}  # fmt: skip
"""Columns of the engine's table, and their names in the twin."""


def agree(case: dict[str, Any], name: str, parameters: dict[str, float]) -> bool:
    """Compare engine and twin on a case; False if the cluster is too small for all of its jobs."""
    expected = reference.simulate(policy=name, params=parameters, **case)
    if len(expected["excluded_jobs"]) == len(case["jobs"]):
        return False
    result = run_engine(case, name, parameters)
    kept = [j for j in range(len(case["jobs"])) if j not in expected["excluded_jobs"]]
    rows = result.jobs
    assert [int(i) for i in rows["job_id"]] == kept
    assert sorted(int(i) for i in result.excluded_jobs["job_id"]) == sorted(expected["excluded_jobs"])

    # the schedule: exactly
    ours, theirs = grants_of(result), expected["grants"]
    assert sorted(ours) == sorted((g.time, g.job, g.renewed, g.nodes) for g in theirs)
    for column, key in COLUMNS.items():
        assert rows[column].tolist() == [float(expected[key][j]) for j in kept], column

    # the fairness integrals: to the last digits of a float
    fair = [float(expected["fair"][j]) for j in kept]
    np.testing.assert_allclose(rows["fair_service"], fair, rtol=1e-12)
    hours = hourly(result).set_index(["time", "tenant"])
    tenants = result.timeline["tenant"].nunique()
    for h, served in enumerate(expected["timeline"][: len(hours) // tenants]):
        at = hours.loc[h * 3600.0, ["attained_service", "fair_service"]].sort_index()
        present = [served[int(t[1:])] for t in at.index]
        np.testing.assert_allclose(at, np.array(present, dtype=float), rtol=1e-12)
    return True


TOO_MUCH = [HealthCheck.too_slow, HealthCheck.data_too_large]


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_engine_and_twin_agree_exactly(name: str) -> None:
    """Use the same workloads each time; more of them for a policy with many options."""
    decided, workloads = [0], 24 if name in ("astraea-with-rules", "gandiva-fair", "tiresias-l") else 8

    @settings(
        max_examples=workloads,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=TOO_MUCH,
    )
    @given(cases(name), OPTIONS[name])
    def on_each(case: dict[str, Any], parameters: dict[str, float]) -> None:
        decided[0] += agree(case, name, parameters)

    on_each()
    assert decided[0] >= 0.7 * workloads


@pytest.mark.exhaustive
@pytest.mark.parametrize("most", [4, 8, 12, 20])  # what shows in a few jobs is best read in a few
@settings(
    max_examples=250,
    phases=(Phase.reuse, Phase.generate, Phase.shrink),  # the time to explain is better spent on a smaller workload
    suppress_health_check=TOO_MUCH,
)
@given(data=st.data(), name=st.sampled_from(list(OPTIONS)))
def test_no_workload_is_found_on_which_they_differ(most: int, data: st.DataObject, name: str) -> None:
    agree(data.draw(cases(name, 1, most), label="workload"), name, data.draw(OPTIONS[name], label="options"))


SERVICE = 1000.0
"""Mean service time [s], 8000 times the scheduling interval, so that waiting for rounds is lost in the noise."""
JOBS, WARM = 12_000, 2_000


def mean_wait(seed: int, load: float, servers: int, exponential: bool) -> float:
    """Mean wait of FIFO in units of service, without the warm-up."""
    rng = np.random.default_rng([seed, servers, exponential])
    jobs = pd.DataFrame(
        {
            "job_id": range(JOBS),
            "tenant": "t",
            "demand": 1,
            "submit_time": np.cumsum(rng.exponential(SERVICE / (load * servers), JOBS)),
            "duration": rng.exponential(SERVICE, JOBS) if exponential else SERVICE,
        }
    )
    result = simulate(Trace.from_frame(jobs), Cluster(1, servers), "fifo", settings=Settings(interval=0.125))
    return float(result.jobs["queueing_delay"].to_numpy()[WARM:].mean() / SERVICE)


def erlang_c(load: float, servers: int) -> float:
    """Probability that an arrival has to wait in M/M/c."""
    a = load * servers
    waiting = a**servers / math.factorial(servers) / (1 - load)
    return waiting / (sum(a**k / math.factorial(k) for k in range(servers)) + waiting)


@pytest.mark.slow
@pytest.mark.parametrize(
    "load, servers, batches, exponential, expected",
    [
        pytest.param(0.7, 1, 12, True, 0.7 / 0.3, id="M/M/1"),
        pytest.param(0.7, 1, 12, False, 0.7 / (2 * 0.3), id="M/D/1"),
        pytest.param(0.8, 8, 22, True, erlang_c(0.8, 8) / (8 * (1 - 0.8)), id="M/M/8"),
    ],
)
def test_fifo_waits_as_theory_says(
    load: float, servers: int, batches: int, exponential: bool, expected: float
) -> None:
    means = np.array([mean_wait(seed, load, servers, exponential) for seed in range(batches)])
    half_width = stats.t.ppf(0.995, batches - 1) * means.std(ddof=1) / math.sqrt(batches)
    assert half_width < 0.1 * expected, "too wide an interval to tell anything"
    assert abs(means.mean() - expected) < half_width
