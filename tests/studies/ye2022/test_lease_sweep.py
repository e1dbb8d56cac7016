"""The recommended lease term, and the sweep over overheads and loads."""

from __future__ import annotations

import pandas as pd
import pytest

from astraea.cluster.cluster import Cluster
from astraea.studies.ye2022.lease_sweep import OVERHEADS, SWEPT_TERMS, recommendations, sensitivity_grid
from astraea.studies.ye2022.lease_term import recommended_term
from astraea.traces.trace import Trace


def leases(jct: dict[float, float], *, what: str = "x") -> pd.DataFrame:
    rows = [{"what": what, "lease_term": k, "average_jct": v, "overhead_share": 0.01, "sharing_loss": 0.2}
            for k, v in jct.items()]  # fmt: skip
    return pd.DataFrame(rows)


def test_the_shortest_term_within_the_tolerance_is_recommended() -> None:
    frame = leases({3600.0: 101.0, 60.0: 130.0, 600.0: 102.0, 1200.0: 100.0, 300.0: 102.1})
    term, reason = recommended_term(frame)
    assert term == 600
    assert reason == (
        "600 s is the shortest lease term whose average JCT, 102 s, is within 2 % of the best, 100 s at 1200 s; "
        "checkpoints and restarts are 1.00 % of it, and 20.0 % of the jobs have sharing loss."
    )
    assert recommended_term(frame, tolerance=0)[0] == 1200


def test_the_recommendation_rests_on_means_over_seeds() -> None:
    frame = pd.concat([leases({300.0: 90.0, 900.0: 100.0}), leases({300.0: 120.0, 900.0: 100.0})])
    assert recommended_term(frame)[0] == 900
    both = pd.concat([leases({300.0: 90.0, 900.0: 100.0}, what="p"), leases({300.0: 120.0, 900.0: 100.0}, what="q")])
    assert recommendations(both, "what")["recommended"].to_dict() == {"p": 300.0, "q": 900.0}


def two_jobs() -> Trace:
    rows = [("first", "a", 8, 0.0, 3600.0), ("second", "a", 1, 72_000.0, 60.0)]
    columns = ["job_id", "tenant", "demand", "submit_time", "duration"]
    return Trace.from_frame(pd.DataFrame(rows, columns=columns), name="two")


def test_the_sweep_changes_one_thing_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = sensitivity_grid(two_jobs(), Cluster(2))
    assert len(grid.runs) == len(grid.index) == len(SWEPT_TERMS) * 6
    assert ((grid.index["overheads"] == 1) | (grid.index["load"] == 1)).all()
    for run, row in zip(grid.runs, grid.index.itertuples(), strict=True):
        assert run.policy.parameters["lease_term"] == row.lease_term
        assert run.settings.restart_overhead == 20 * row.overheads
        assert run.trace.submit_time[-1] == pytest.approx(72_000 / row.load)
    assert set(grid.index["overheads"]) == {1.0, *OVERHEADS}
    monkeypatch.setattr("astraea.studies.ye2022.lease_sweep.LARGE", 2)
    monkeypatch.setattr("astraea.studies.ye2022.lease_sweep.SWEPT_JOBS", 1)
    assert {len(run.trace) for run in sensitivity_grid(two_jobs(), Cluster(2)).runs} == {2}
    monkeypatch.setattr("astraea.studies.ye2022.lease_sweep.LARGE", 1)
    assert {len(run.trace) for run in sensitivity_grid(two_jobs(), Cluster(2)).runs} == {1}
