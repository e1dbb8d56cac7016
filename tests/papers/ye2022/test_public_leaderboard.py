"""The leaderboard of a public workload: its policies, the runs that it shares, and its picture."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib import pyplot as plt

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import all_policies
from astraea.experiments.leaderboard import MEASURES, NO_PAST
from astraea.plots import look
from astraea.traces.named import FETCHED
from astraea.traces.readers import read_trace
from astraea.traces.sources import SOURCES
from papers.ye2022.evaluation import evaluated_cluster, main_grid
from papers.ye2022.leaderboard import ALL, SEEDS, leaderboard_grid, picture, said
from papers.ye2022.readings import COMPARED, PAPERS


def table(seeds: int = 5, weeks: int = 0) -> pd.DataFrame:
    """Three policies, of which the last does not run."""
    rows = [
        {"scheduler": name, "measure": measure, "value": 0.2 + k, "low": 0.1 + k, "high": 0.3 + k, "rank": k + 1,
         "rank_low": 1, "rank_high": 2, "seeds": seeds, "weeks": weeks, "jobs": 100, "reason": ""}
        for measure in MEASURES for k, name in enumerate(("fifo", "astraea"))
    ]  # fmt: skip
    return pd.DataFrame([*rows, {"scheduler": "themis", "reason": NO_PAST}])


def test_policies_are_there_and_runs_are_shared_with_the_evaluation() -> None:
    assert set(ALL) == {*all_policies(), "allox-under-leases"} - {"easy"}
    assert {s.name for s in COMPARED[PAPERS]} < set(ALL)
    grid, main = leaderboard_grid("venus", "small"), main_grid("venus", "small")
    assert grid.index.groupby("seed")["scheduler"].agg(list).tolist() == [list(ALL)] * SEEDS["small"]
    mine = {(row.scheduler, row.seed): run.key for run, row in zip(grid.runs, grid.index.itertuples(), strict=True)}
    papers = main.index[main.index["reading"] == PAPERS]
    assert len(papers) == 2 * len(COMPARED[PAPERS])
    for row in papers.itertuples():
        assert mine[row.scheduler, row.seed] == main.runs[row.Index].key


def test_the_picture_has_a_row_and_a_rank_for_each_policy_that_runs() -> None:
    drawn = picture(table())
    for k, ax in enumerate(drawn.axes):
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert labels == ([look("fifo").label, look("astraea").label] if k % 3 == 0 else ["", ""])
        assert [text.get_text() for text in ax.texts][:2] == ["1", "2"]
    assert len(drawn.axes) == len(MEASURES)
    plt.close(drawn)


def test_what_stands_below_the_picture() -> None:
    assert "95 % intervals over 5 seeds." in said(table())
    assert "95 % intervals over 3 weeks of submissions." in said(table(seeds=1, weeks=3))
    assert "No intervals: fewer than 3 weeks of submissions." in said(table(seeds=1, weeks=2))
    assert "No intervals: 2 seeds." in said(table(seeds=2).assign(low=float("nan")))
    assert f"Not run: Themis\n({NO_PAST})." in said(table())
    assert "Not run: AlloX (under leases)\n" in said(table().replace({"scheduler": {"themis": "allox-under-leases"}}))


def test_the_clusters_of_itp_are_tenants(shared: Path) -> None:
    jobs = read_trace(shared / "data" / "elasticflow", name="itp", **SOURCES[FETCHED["itp"]].reading)
    assert (len(jobs), jobs.tenants) == (26_712, ("cluster01", "cluster02", "cluster03", "cluster05", "cluster07"))
    assert jobs.history is None and jobs.excluded_jobs.empty
    assert evaluated_cluster("itp", jobs, "paper") == Cluster(61)  # an offered load of 1
