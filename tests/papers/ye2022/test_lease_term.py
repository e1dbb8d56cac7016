"""Recommended lease terms case by case, under other overheads and loads, and tried by hand."""

from __future__ import annotations

import pandas as pd
import pytest
from listed_jobs import listed
from matplotlib import pyplot as plt

from astraea.cluster.cluster import Cluster
from astraea.cluster.simulate import simulate
from astraea.core.metrics import summary
from papers.ye2022 import lease_term
from papers.ye2022.lease_term import OVERHEADS, SWEPT_TERMS, recommendations, sensitivity_grid


def test_each_case_has_its_own_recommendation() -> None:
    rows = [("p", 300.0, 90.0), ("p", 900.0, 100.0), ("q", 300.0, 120.0), ("q", 900.0, 100.0)]
    frame = pd.DataFrame(rows, columns=["what", "lease_term", "average_jct"]).assign(overhead_share=0.0, sharing_loss=0)
    assert recommendations(frame, "what")["recommended"].to_dict() == {"p": 300.0, "q": 900.0}


def test_the_sweep_changes_one_thing_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = listed(("first", "a", 8, 0.0, 3600.0), ("second", "a", 1, 72_000.0, 60.0))
    grid = sensitivity_grid(trace, Cluster(2))
    assert len(grid.runs) == len(grid.index) == len(SWEPT_TERMS) * 6
    assert ((grid.index["overheads"] == 1) | (grid.index["load"] == 1)).all()
    for run, row in zip(grid.runs, grid.index.itertuples(), strict=True):
        assert run.policy.parameters["lease_term"] == row.lease_term
        assert run.settings.restart_overhead == 20 * row.overheads
        assert run.trace.submit_time[-1] == pytest.approx(72_000 / row.load)
    assert set(grid.index["overheads"]) == {1.0, *OVERHEADS}
    monkeypatch.setattr(lease_term, "SWEPT_JOBS", 1)
    monkeypatch.setattr(lease_term, "LARGE", 1)
    assert {len(run.trace) for run in sensitivity_grid(trace, Cluster(2)).runs} == {1}


def test_a_handful_is_simulated_under_each_lease_term() -> None:
    jobs, cluster = lease_term.handful()
    assert len(jobs) == lease_term.HANDFUL
    found = lease_term.under_lease_term(jobs, cluster, 900.0)
    assert list(found.index) == ["lease_term", *lease_term.FIGURES]
    usual = summary(simulate(jobs, cluster, "astraea"))
    assert found.to_dict() == {"lease_term": 900.0, **{name: usual[name] for name in lease_term.FIGURES}}
    curve = pd.DataFrame([lease_term.under_lease_term(jobs, cluster, 3600.0), found])
    fig = lease_term.three_panels(curve, found)
    jct, overhead, loss = found[lease_term.FIGURES]
    titles = [ax.get_title() for ax in fig.axes]
    assert titles == [f"{jct / 3600:.2f} h", f"{100 * overhead:.1f} %", f"{100 * loss:.1f} %"]
    plt.close(fig)
