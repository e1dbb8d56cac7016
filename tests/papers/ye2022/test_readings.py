"""Two readings of one evaluation: who is in them, what is charged, and who knows what."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pandas as pd
import pytest
from matplotlib import pyplot as plt

from astraea.cluster.policies import get_policy
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.plots import charts
from astraea.plots.style import look
from astraea.traces.readers import read_trace
from papers.ye2022.evaluation import load_workload
from papers.ye2022.readings import (
    ALGORITHM,
    ASTRAEA,
    BASELINES,
    COMPARED,
    COUNTED,
    MEASURED,
    MEMORIES,
    PAPERS,
    READINGS,
    able,
    compared,
    settings_of,
)
from papers.ye2022.rules import SEVEN


def test_what_stands_beside_the_seven_differs_in_what_its_name_says() -> None:
    assert set(SEVEN) <= {s.name for s in COMPARED[PAPERS]}
    assert {s.policy for s in COMPARED[MEASURED]} == {"astraea-released", "yarn-cs"}
    assert ALGORITHM.made == get_policy("astraea")
    more = {k for k, v in ASTRAEA.made.parameters.items() if v != ALGORITHM.made.parameters[k]}
    assert more == {"tenant_window", "idle_guard", "starvation"}  # early leases stand in the program only
    assert MEMORIES[0] is ALGORITHM and MEMORIES[1].made.parameters["tenant_window"] == 86_400
    assert [s.made.parameters["half_life"] / 3600 for s in MEMORIES[2:]] == [1, 24, 168]
    assert {s.made.lease_term for s in MEMORIES} == {900.0}
    released = next(s for s in BASELINES if s.name == "tiresias-l-released").made.parameters
    assert released["queues"] == 3
    assert (released["threshold"], released["threshold"] * released["growth"]) == (3250, 7200)  # GPU-s


@pytest.mark.parametrize("reading", READINGS)
def test_pictures_say_who_knows_true_running_times(reading: str) -> None:
    knows = {
        s.name for s in COMPARED[reading] if s.made.needs_estimates and settings_of(reading, s).estimator == "oracle"
    }
    assert knows == ({"themis"} if reading == MEASURED else set())
    for s in COMPARED[reading]:
        assert ("(true times)" in look(s.name, reading=reading).label) == (s.name in knows)
    frame = pd.DataFrame({"reading": reading, "scheduler": ["astraea", "themis"], "x": [1.0, 2.0], "share": [0.5, 1.0]})
    fig, axes = charts.panels(columns=4)
    charts.cdf(frame, "x", by="scheduler", ax=axes[0])
    charts.lines(frame, "x", "share", by="scheduler", ax=axes[1])
    charts.bars(frame, "scheduler", "x", ax=axes[2])
    charts.ranked(frame, "x", axes[3])
    drawn = [[line.get_label() for line in ax.get_lines()] for ax in axes[:2]]
    drawn += [[t.get_text().replace("\n", " ") for t in a.get_ticklabels()] for a in (axes[2].xaxis, axes[3].yaxis)]
    assert all(look("themis", reading=reading).label in labels for labels in drawn)
    plt.close(fig)


def test_what_is_charged_and_known() -> None:
    themis = {reading: next(s for s in COMPARED[reading] if s.name == "themis") for reading in COMPARED}
    assert settings_of(MEASURED, themis[MEASURED]) == COUNTED and COUNTED.estimator == "oracle"
    assert COUNTED.whole_rounds and COUNTED.list_removal_flaw
    assert COUNTED.checkpoint_overhead == COUNTED.restart_overhead == 0
    paid = settings_of(PAPERS, themis[PAPERS])
    assert paid.estimator == "gradient-boosting" and paid.restart_overhead > 0
    assert settings_of(PAPERS, ASTRAEA).estimator == "oracle"  # it asks for nothing


def test_nobody_knows_the_future_of_a_trace_without_a_past() -> None:
    trace = load_workload("venus", "small")[0]
    assert compared(PAPERS, trace) == COMPARED[PAPERS]
    without = dataclasses.replace(trace, history=None)
    assert {s.name for s in COMPARED[PAPERS]} - {s.name for s in compared(PAPERS, without)} == {"allox", "themis"}
    assert compared(MEASURED, without) == COMPARED[MEASURED]
    assert len(able(BASELINES, trace)) == len(BASELINES) > len(able(BASELINES, without))
    with pytest.raises(InputError, match="reading must be one of as measured, by its paper"):
        compared("mine", trace)


def test_as_measured_on_the_authors_workloads_gives_what_their_program_printed(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four Philly virtual clusters on 64 nodes: sharing loss, average JCT and slowdown of `shared/reference`."""
    printed = pd.read_csv(shared / "reference" / "summary.csv").set_index("run")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "raw").mkdir(parents=True)
    (tmp_path / "data" / "raw" / "philly-vcs").symlink_to(shared / "data" / "philly-vcs")
    trace, cluster = load_workload("w2")
    given = read_trace(shared / "reference" / "w2.input.csv.gz")
    assert (trace.submit_time == given.submit_time).all() and (trace.duration == given.duration).all()
    assert compared(PAPERS, trace) == COMPARED[PAPERS]  # what came before is its past
    for scheduler in COMPARED[MEASURED]:
        run = {"tiresias-l": "tiresias", "yarn-cs": "yarn"}.get(scheduler.name, scheduler.name)
        if run == "fifo":
            continue
        result = simulate(trace, cluster, scheduler.made, settings=settings_of(MEASURED, scheduler))
        theirs = printed.loc[f"w2_n64_{run}"]
        loss = float((result.jobs["rho_job"].round(4) < 0.95).mean())
        assert loss == pytest.approx(theirs.sharing_loss_share, abs=6e-5)
        assert result.jobs["jct"].mean() == pytest.approx(theirs.avg_jct_s, rel=1e-4)
        assert result.jobs["slowdown"].mean() == pytest.approx(theirs.avg_slowdown, rel=1e-4)
