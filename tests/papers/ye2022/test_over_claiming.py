"""Over-claiming: who asks for more, and what changes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from astraea.cluster.cluster import Cluster
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.traces.trace import Trace
from papers.running.grids import one_tenant_grid
from papers.ye2022.evaluation import main_grid
from papers.ye2022.one_tenant import (
    changes,
    over_claimed,
    over_claiming_grid,
    own_and_others,
    tenant_figures,
    typical_tenant,
)
from papers.ye2022.readings import PAPERS, SCHEDULERS


def three_tenants() -> Trace:
    """GPU-time: a 400, b 1,600 and c 8,000 GPU-s; d has no job."""
    rows = [("1", "a", 4, 0.0, 100.0), ("2", "b", 2, 0.0, 400.0), ("3", "b", 4, 0.0, 200.0), ("4", "c", 8, 0.0, 1000.0)]
    jobs = pd.DataFrame(rows, columns=["job_id", "tenant", "demand", "submit_time", "duration"])
    return Trace.from_frame(jobs, name="three", weights=dict.fromkeys("abcd", 1.0))


def test_jobs_of_one_tenant_ask_for_more() -> None:
    honest = three_tenants()
    over = over_claimed(honest, "b", 6)
    assert over.demand.tolist() == [4, 4, 4, 8]  # job 3 would need 8 of 6
    assert over.duration.tolist() == [100.0, 250.0, 200.0, 1000.0]
    assert over.digest != honest.digest and over.name != honest.name
    assert honest.demand.tolist() == [4, 2, 4, 8]
    assert over_claimed(honest, "b", 8).demand.tolist() == [4, 4, 8, 8]


def test_refused() -> None:
    with pytest.raises(InputError, match="no tenant is called 'e'"):
        over_claimed(three_tenants(), "e", 8)


def test_typical_tenant_is_the_median_of_those_with_jobs() -> None:
    trace = three_tenants()
    assert typical_tenant(trace) == "b"
    assert typical_tenant(trace.head(3)) == "a"  # of two, the lower


def test_honest_runs_are_those_of_the_main_grid() -> None:
    grid = over_claiming_grid("venus", "small")
    assert len(grid.runs) == 2 * 2 * len(SCHEDULERS)
    honest = [run.key for run, when in zip(grid.runs, grid.index["run"], strict=True) if when == "before"]
    main = main_grid("venus", "small")
    papers = main.index["reading"] == PAPERS
    assert honest == [run.key for run, mine in zip(main.runs, papers, strict=True) if mine]
    assert len({run.key for run in grid.runs}) == len(grid.runs)
    assert {run.key for run in grid.runs} <= {run.key for run in one_tenant_grid("venus", "small").runs}
    assert grid.index.groupby(["seed"])["tenant"].nunique().eq(1).all()
    for run, tenant in zip(grid.runs, grid.index["tenant"], strict=True):
        assert run.trace.demand[run.trace.tenant == run.trace.tenants.index(tenant)].max() <= run.cluster.gpus


def test_gains_by_hand() -> None:
    trace, cluster = three_tenants(), Cluster(4, 8)
    index = pd.DataFrame({"scheduler": "fifo", "seed": 0, "tenant": "b", "run": ["before", "after"]})
    results = [simulate(t, cluster, "fifo") for t in (trace, over_claimed(trace, "b", 8))]
    figures = own_and_others(index.assign(by_tenant=[tenant_figures(r)["by_tenant"] for r in results]))
    assert figures["own_running"].tolist() == [300.0, 187.5]
    assert figures["own_service"].tolist() == pytest.approx([1600.0, 2000.0])  # 1 / 0.8
    got = changes(figures).iloc[0]
    assert got["own_running"] == 0.625 and got["own_service"] == pytest.approx(1.25)
    assert got["own_jct"] < 1 and np.isclose(got["others_jct"], 1)  # there is room for all
