"""Costs of errors of estimates and of other lease terms: workloads, grids and tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from trace_samples import write_csv

from astraea.cluster.simulate import simulate
from astraea.core.metrics import summary
from astraea.estimation.estimators import LEARNED
from astraea.traces.trace import Trace
from papers.ye2022 import evaluation, lease_term
from papers.ye2022.estimates import (
    ESTIMATING,
    RATES,
    ahead_of_astraea,
    costs,
    estimate_grid,
    estimate_workload,
    places,
    remaining_table,
)
from papers.ye2022.evaluation import INTERVAL, jobs_shown, load_workload, main_grid
from papers.ye2022.lease_term import OVERHEADS, SWEPT_TERMS, above_best, recommendations, sensitivity_grid


def written(folder: Path, n: int, duration: float = 60.0) -> str:
    """Write a log of `n` jobs, one every 100 s, without a history."""
    k = np.arange(n)
    jobs = {"job_id": k, "tenant": [f"t{i % 3}" for i in k], "demand": 1 + k % 2, "submit_time": 100.0 * k}
    jobs["duration"] = duration * np.random.default_rng(1).lognormal(0, 1, n)
    return write_csv(Trace.from_frame(pd.DataFrame(jobs)), folder / f"mine{n}.csv")


def test_a_log_without_a_history_is_cut(tmp_path: Path) -> None:
    path = written(tmp_path, 901)
    work = estimate_workload(path)
    assert work.trace.job_id.tolist() == [str(k) for k in range(300, 901)]
    assert work.trace.history is not None
    assert work.trace.history.job_id.tolist() == [str(k) for k in range(300)]
    assert work.learned == tuple(LEARNED)
    (note,) = work.notes
    assert "the last two thirds of its 1.042 days are simulated, and the 300 jobs before them" in note
    assert estimate_workload(path, "small").cluster.nodes == 1
    # a longer one: the small scale keeps the whole history and takes the first jobs of the window
    small = estimate_workload(written(tmp_path, 3001), "small")
    assert len(small.trace) == 1500
    assert small.trace.history is not None and len(small.trace.history) == 1000


@pytest.mark.parametrize(("n", "duration", "ended"), [(3, 60.0, 0), (90, 60.0, 29), (601, 1e7, 0)])
def test_a_short_history_is_a_sentence(tmp_path: Path, n: int, duration: float, ended: int) -> None:
    path = written(tmp_path, n, duration)
    work = estimate_workload(path)
    assert work.learned == ()
    assert work.notes[-1].startswith("The learned estimators are left out: they need at least 200 jobs that had ended")
    assert work.notes[-1].endswith(f"by second 0 of mine{n}, and its history has {ended}.")
    sources = estimate_grid(path).index["source"]
    assert sources.nunique() == 2 + len(RATES) and "history" not in set(sources)


def test_every_run_of_the_grid_is_what_its_row_says() -> None:
    grid, main = estimate_grid("venus", "small"), main_grid("venus", "small")
    assert grid.index.groupby(["scheduler", "seed"]).size().to_dict() == {
        (name, seed): 1 if name == "astraea" else 1 + len(RATES) + len(LEARNED)
        for name in ("astraea", *ESTIMATING)
        for seed in (0, 1)
    }
    assert len({run.key for run in grid.runs}) == len(grid.runs)
    shared = {run.key for run in main.runs}  # learned runs are those of the evaluation
    for run, row in zip(grid.runs, grid.index.itertuples(), strict=True):
        work = estimate_workload("venus", "small", row.seed)
        assert work.trace.history is not None and work.notes == () and work.learned == tuple(LEARNED)
        assert run.policy.name == row.scheduler and run.trace.digest == work.trace.in_rounds(10.0).digest
        assert (run.key in shared) == (row.source in ("nothing", "gradient-boosting"))
        error = 0 if row.source in (*LEARNED, "nothing") else float(row.source.removesuffix(" %")) / 100
        if row.source == "nothing":
            assert row.scheduler == "astraea" and not run.policy.needs_estimates
        elif error:
            assert (run.settings.estimator, run.seed, run.settings.estimate_error) == ("noisy", row.seed, error)
        else:
            assert (run.settings.estimator, run.seed) == (row.source.replace("0 %", "oracle"), 0)


def test_tables_by_hand() -> None:
    """Ratios are over true times within a seed; learned sources are apart, and schedulers ahead are counted."""
    rows = [
        ("astraea", 0, "nothing", 90.0, 0.3), ("allox", 0, "0 %", 100.0, 0.2), ("allox", 1, "0 %", 200.0, 0.1),
        ("allox", 1, "50 %", 230.0, 0.4), ("allox", 0, "50 %", 110.0, 0.15), ("themis", 1, "history", 60.0, 0.5),
        ("themis", 1, "0 %", 50.0, 0.5), ("astraea", 1, "nothing", 55.0, 0.6),
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["scheduler", "seed", "source", "average_jct", "sharing_loss"])
    found = costs(table)
    assert found["scheduler"].tolist() == ["allox"] * 4 + ["themis"] * 2
    assert found["jct_ratio"].tolist() == pytest.approx([1, 1, 1.15, 1.1, 1.2, 1])
    assert found["loss_change"].tolist() == pytest.approx([0, 0, 0.3, -0.05, 0, 0])
    assert places(table) == {"0 %": 0.0, "50 %": 1.0, "history": 2.5}
    ahead = ahead_of_astraea(table)
    assert ahead.loc["themis"].loc[["0 %", "history"]].to_numpy().tolist() == [[1, 1, 1], [0, 1, 1]]
    assert ahead.loc[("allox", "0 %")].tolist() == [0, 2, 2]


def test_what_is_left_by_hand() -> None:
    """Half of 1,000 running times need more than the median, and the exponential distribution has no memory."""
    durations = np.exp(np.linspace(np.log(10.0), np.log(1e5), 1001))
    table = remaining_table(durations)
    assert (table["time"].iloc[0], table["time"].iloc[-1]) == (pytest.approx(10.0), pytest.approx(1e5))
    middle = table.iloc[(table["time"] - 1000.0).abs().argmin()]
    assert middle["observed"] == pytest.approx(0.5, abs=0.02)
    assert middle["log_logistic"] == pytest.approx(0.5, abs=0.02)
    assert table["exponential_remaining"].to_numpy() == pytest.approx(1000.0)
    assert (table.loc[table["time"] <= 3600, "after_1_h"] == 1).all()
    assert table["log_logistic_remaining"].is_monotonic_increasing


def test_each_case_has_its_own_recommendation() -> None:
    rows = [("p", 300.0, 90.0), ("p", 900.0, 100.0), ("q", 300.0, 120.0), ("q", 900.0, 100.0)]
    frame = pd.DataFrame(rows, columns=["what", "lease_term", "average_jct"]).assign(overhead_share=0.0, sharing_loss=0)
    assert recommendations(frame, "what")["recommended"].to_dict() == {"p": 300.0, "q": 900.0}


def test_the_sweep_changes_one_thing_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = sensitivity_grid("venus", "small")
    assert len(grid.runs) == len(grid.index) == len(SWEPT_TERMS) * 6 * 2  # seeds
    assert ((grid.index["overheads"] == 1) | (grid.index["load"] == 1)).all()
    recorded = {seed: load_workload("venus", "small", seed)[0].in_rounds(INTERVAL) for seed in (0, 1)}
    for run, row in zip(grid.runs, grid.index.itertuples(), strict=True):
        assert run.policy.parameters["lease_term"] == row.lease_term
        assert run.settings.restart_overhead == 20 * row.overheads
        assert run.trace.submit_time[-1] == pytest.approx(recorded[row.seed].submit_time[-1] / row.load)
    assert set(grid.index["overheads"]) == {1.0, *OVERHEADS}
    monkeypatch.setattr(evaluation, "FIRST_JOBS", 1)
    monkeypatch.setattr(evaluation, "LARGE", 1)
    few = sensitivity_grid("venus", "small")
    assert {len(run.trace) for run in few.runs} == {1} and set(few.index["seed"]) == {0}
    assert jobs_shown(recorded[0]) == f"The first 1 of {len(recorded[0]):,} jobs."


def test_each_seed_has_its_own_best_term() -> None:
    rows = [("p", 0, 90.0), ("p", 0, 99.0), ("p", 1, 100.0), ("p", 1, 50.0)]
    excess = above_best(pd.DataFrame(rows, columns=["what", "seed", "average_jct"]))["excess"]
    assert excess.tolist() == pytest.approx([0, 0.1, 1, 0])


def test_a_handful_is_simulated_under_each_lease_term() -> None:
    jobs, cluster = lease_term.handful()
    found = lease_term.under_lease_term(jobs, cluster, 900.0)
    usual = summary(simulate(jobs, cluster, "astraea"))
    assert found.to_dict() == {"lease_term": 900.0, **{name: usual[name] for name in lease_term.FIGURES}}
    fig = lease_term.three_panels(pd.DataFrame([lease_term.under_lease_term(jobs, cluster, 3600.0), found]), found)
    jct, overhead, loss = found[lease_term.FIGURES]
    titles = [ax.get_title() for ax in fig.axes]
    assert titles == [f"{jct / 3600:.2f} h", f"{100 * overhead:.1f} %", f"{100 * loss:.1f} %"]
    plt.close(fig)
