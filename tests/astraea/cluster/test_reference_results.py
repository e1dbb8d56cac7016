"""The results of the ASTRAEA authors' simulator on real workloads, where its rules and ours are the same."""

from __future__ import annotations

from pathlib import Path

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
