"""Tenants on GPUs of several types: their jobs, the cluster, and the metrics of two papers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from synthetic_traces import synthetic

from astraea.core.metrics import tenant_windows
from astraea.traces.trace import Trace
from papers.gavel import tenants
from papers.gavel.generators import from_trace
from papers.gavel.simulate import simulate
from papers.gavel.throughputs.table import Throughputs

COMPACT = Throughputs.compact()


def test_every_kth_job_of_the_whole_trace():
    philly = synthetic("philly")
    whole, kept = from_trace(philly, COMPACT, seed=0), tenants.tenant_jobs(philly, COMPACT, seed=0)
    assert abs(len(kept) - tenants.JOBS) <= 0.05 * tenants.JOBS
    assert kept.arrival_time[-1] > 0.98 * whole.arrival_time[-1]
    assert kept.entity_weight.tolist() == philly.tenant_weight.tolist()
    row = {job: i for i, job in enumerate(whole.job_id)}
    where = np.array([row[job] for job in kept.job_id])
    assert set(np.diff(where)) == {where[1] - where[0]}
    for column in ("total_steps", "arrival_time", "entity", "scale_factor"):
        np.testing.assert_array_equal(getattr(kept, column), getattr(whole, column)[where])
    each, load = tenants.equal_workers(kept, COMPACT), tenants.effective_load(kept, COMPACT)
    assert each > kept.scale_factor.max()
    assert load / (3 * each) <= tenants.LOAD < load / (3 * (each - 1))


def test_load_by_hand():
    columns = {"job_id": ["a", "b"], "tenant": ["x", "y"], "demand": [2, 1], "submit_time": [0.0, 7200.0]}
    jobs = from_trace(Trace.from_frame(pd.DataFrame({**columns, "duration": [1800.0, 600.0]})), COMPACT, seed=0)
    speed = COMPACT.alone(jobs.job_type[0], 2)
    # the second job arrives at the end; the first is done before, on its mean speed too or not
    busy = min(1800.0 * speed[0] / speed.mean(), 7200.0)
    assert tenants.effective_load(jobs, COMPACT) == pytest.approx(2 * busy / 7200)
    assert tenants.equal_workers(jobs, COMPACT) == 2


def test_both_papers_measure_the_same_work():
    jobs = tenants.tenant_jobs(synthetic("philly"), COMPACT, seed=0).first(120)
    each = tenants.equal_workers(jobs, COMPACT)
    results = [simulate(jobs, COMPACT, (each,) * 3, policy) for policy in ("las-het", "ltgf-het")]
    done = [r.jobs["effective_service"].sum() for r in results]
    assert done == pytest.approx([done[0]] * 2)
    found = pd.DataFrame(map(tenants.both_papers, results))
    shares = found.filter(like="sharing_loss")
    assert list(shares) == [f"{unit}{name}sharing_loss" for unit in ("", "effective_") for name in ("", "tenant_")]
    assert ((shares >= 0) & (shares <= 1)).all(axis=None)
    assert (found["p99_jct"] >= found["average_jct"]).all()

    counted = tenants.in_effective_time(results[0])
    assert (counted.jobs["rho_job"] == results[0].jobs["rho_effective"]).all()
    assert results[0].jobs["rho_job"].ne(results[0].jobs["rho_effective"]).any()
    windows = tenant_windows(counted)
    assert (windows["fair_service"] == tenant_windows(results[0])["fair_service"]).all()
    line = results[0].timeline.pivot_table(index="time", columns="tenant", values="effective_service")
    first = windows[windows["window_start"] == 3600.0].set_index("tenant")["attained_service"]
    assert first.to_numpy() == pytest.approx((line.loc[25 * 3600.0] - line.loc[3600.0])[first.index].to_numpy())
