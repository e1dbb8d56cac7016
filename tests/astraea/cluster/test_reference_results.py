"""The results of the ASTRAEA authors' simulator on real workloads, where its rules and ours are the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from astraea.cluster.cluster import Cluster
from astraea.cluster.simulate import simulate
from astraea.core import metrics
from astraea.traces.readers import read_trace

NODES = {"w2": 64, "chrSLO": 140}


@pytest.mark.parametrize("workload", NODES)
def test_yarn_cs_is_as_in_the_reference(shared: Path, workload: str) -> None:
    folder = shared / "reference"
    expected = pd.read_csv(folder / "summary.csv", index_col="run").loc[f"{workload}_n{NODES[workload]}_yarn"]
    trace = read_trace(folder / f"{workload}.input.csv.gz", format="tiresias-csv", time_unit="s")
    result = simulate(trace, Cluster(NODES[workload]), "yarn-cs")
    assert len(result.jobs) == expected["jobs"]
    assert metrics.average_jct(result) == pytest.approx(expected["avg_jct_s"], rel=0.01)
    assert result.jobs["jct"].median() == pytest.approx(expected["median_jct_s"], rel=0.01)
    assert metrics.sharing_loss(result) == pytest.approx(expected["sharing_loss_share"], abs=0.01)


@pytest.mark.parametrize("workload", NODES)
def test_astraea_loses_nothing_of_a_real_workload(shared: Path, workload: str) -> None:
    trace = read_trace(shared / "reference" / f"{workload}.input.csv.gz", format="tiresias-csv", time_unit="s")
    result = simulate(trace, Cluster(NODES[workload]), "astraea", keep_log=True)
    jobs, grants = result.jobs, result.grants
    assert grants is not None
    assert sorted([*jobs["job_id"], *result.excluded_jobs["job_id"]]) == sorted(trace.job_id)
    assert jobs[["first_start_time", "end_time", "fair_service"]].notna().all().all()
    np.testing.assert_allclose(jobs["attained_service"], jobs["demand"] * (jobs["duration"] + jobs["overhead"]))
    held = (grants["demand"] * (grants["end"] - grants["start"])).groupby(grants["job_id"]).sum()
    np.testing.assert_allclose(held.loc[jobs["job_id"]], jobs["attained_service"])
    last = result.timeline[result.timeline["time"] == result.timeline["time"].max()]
    until = last["time"].iloc[0]
    late = (grants["demand"] * (grants["end"].clip(lower=until) - grants["start"].clip(lower=until))).sum()
    assert last["attained_service"].sum() + late == pytest.approx(held.sum(), rel=1e-9)
    change = np.concatenate([grants["demand"], -grants["demand"]])
    order = np.lexsort((change, np.concatenate([grants["start"], grants["end"]])))
    assert change[order].cumsum().max() <= result.gpus
