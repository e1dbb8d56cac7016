"""Tables and pictures of the evaluation, from whole runs and from their stored columns."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from listed_jobs import listed

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.simulate import simulate
from astraea.core.metrics import summary, tenant_windows
from astraea.core.result import Result
from astraea.core.units import DAY, HOUR
from astraea.experiments.archive import pack, reduced, unpack
from astraea.experiments.grid import Grid
from astraea.experiments.run import Run
from papers.ye2022 import burst, characterize, one_tenant, pictures, released, time_pictures
from papers.ye2022.beside_astraea import against_astraea, over_tiresias, with_loss
from papers.ye2022.evaluation import READ, kept, load_workload, run_of, size_grid
from papers.ye2022.readings import PAPERS, PROGRAM, READINGS
from papers.ye2022.tables import (
    across,
    box_stats,
    busy_utilization,
    by_reading,
    cluster_timeline,
    compared,
    efficiency_figures,
    fairness_figures,
    longest_waits,
    plus_minus,
    relative_to,
    times_as_much,
    weekly_figures,
    weekly_jobs,
)


def fifo(*jobs: tuple[int, float, float], nodes: int = 1, policy: str = "fifo") -> Result:
    """Jobs of one tenant, (demand, submit_time, duration), on nodes of 8 GPUs."""
    return simulate(listed(*((f"j{k}", "a", *job) for k, job in enumerate(jobs))), Cluster(nodes), policy)


def test_waiting_for_a_round_is_a_loss_of_short_jobs() -> None:
    # j0 8 GPUs 0..3600; j1 waits for it from 1805 (1795 s); j2 comes at 9005, runs at 9010 for 20 s: 20/25 < 0.95
    result = fifo((8, 0.0, HOUR), (8, 1805.0, 600.0), (8, 9005.0, 20.0))
    assert result.jobs["rho_job"][2] == pytest.approx(20 / 25)
    assert fairness_figures(result)["sharing_loss"] == pytest.approx(2 / 3)
    # a tenant whose 12 h of service in a window of 24 h were 5 s late is below 1, and not below 99 %
    got = fairness_figures(fifo((8, 5.0, 12 * HOUR), (8, 30 * HOUR, HOUR)))
    assert got["tenant_sharing_loss"] > 0
    assert got["tenant_below_99"] == got["tenant_below_95"] == 0


def test_weeks_together_are_the_whole() -> None:
    # the second week is empty; the third has two jobs, and the cases of the week after it, in which the last one runs
    result = fifo((8, 5.0, HOUR), (8, 15 * DAY, 10 * DAY), (8, 15 * DAY, HOUR))
    weeks = weekly_figures(result)
    assert sorted(weeks["week"].unique()) == [0, 2]
    jobs = weeks[weeks["figure"] == "average_jct"].set_index("week")["n"]
    assert jobs.to_dict() == {0: 1, 2: 2}
    totals = (weeks["mean"] * weeks["n"]).groupby(weeks["figure"]).sum()
    found = (totals / weeks.groupby("figure")["n"].sum()).to_dict()
    figures = efficiency_figures(result) | fairness_figures(result)
    assert found == pytest.approx({name: figures[name] for name in found}) and len(found) == 6
    # of Figs 9 and 14, the overhead is a share of completion times
    policy = get_policy("astraea").with_parameters(lease_term=60)
    shared = simulate(listed(*((f"{t}{k}", t, 4, 8 * k * DAY, HOUR) for k in (0, 1) for t in "ab")), Cluster(1), policy)
    parts = weekly_jobs(shared)
    totals = (parts["mean"] * parts["n"]).groupby(parts["figure"]).sum()
    whole = summary(shared)
    assert whole["overhead_share"] > 0
    assert (totals / parts.groupby("figure")["n"].sum()).to_dict() == pytest.approx(
        {name: whole[name] for name in ("average_jct", "overhead_share", "sharing_loss")}
    )


def test_busy_utilization_ends_with_the_submissions() -> None:
    # 8 GPUs until 2 h, then 1 GPU until 14 h; the last submission at 4 h
    result = fifo((8, 0.0, 2 * HOUR), (1, 2 * HOUR, 12 * HOUR), (1, 4 * HOUR, 10.0))
    assert busy_utilization(result) == pytest.approx((8 * 2 + 1 * 2) / (8 * 4))
    assert efficiency_figures(result)["utilization"] == pytest.approx((8 * 2 + 1 * 12) / (8 * 14), rel=0.01)
    assert math.isnan(busy_utilization(fifo((1, 0.0, 60.0), (1, 5.0, 60.0))))  # no full hour


def test_the_average_slowdown_is_split_by_size() -> None:
    got = efficiency_figures(fifo((16, 0.0, 100.0), (16, 0.0, 100.0), (8, 0.0, 100.0), nodes=2))
    assert got["slowdown_more_nodes"] == pytest.approx((1 + 2) / 2)  # one after the other
    assert got["slowdown_one_node"] == pytest.approx(3)  # behind both
    alone = efficiency_figures(fifo((8, 0.0, 60.0)))
    assert alone["slowdown_one_node"] == 1 and math.isnan(alone["slowdown_more_nodes"])


def test_means_are_written_with_their_interval() -> None:
    frame = pd.DataFrame({"x": ["a", "a", "a", "b", "b", "b", "c", "c"], "y": [0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.1, 0.3]})
    shown = plus_minus(frame, "x", {"y": ("y [%]", 100.0)})
    # three seeds: t(0.975, 2) = 4.303, standard error 0.1 / sqrt(3)
    assert shown.loc["a", "y [%]"] == "20.0 ± 24.8"
    assert shown.loc["b", "y [%]"] == "50.0 ± 0.0"
    assert shown.loc["c", "y [%]"] == "20.0"  # an interval from two seeds is thirteen standard errors wide
    texts = {0.0: "0.00", 1234.5: "1234", 0.00123: "0.00123", float("nan"): "nan", 0.996: "1.00", -2.0: "-2.00"}
    for mean, text in texts.items():
        alone = plus_minus(pd.DataFrame({"x": ["a"], "y": [mean]}), "x", {"y": ("y", 1.0)})
        assert alone.loc["a", "y"] == text


def test_ratios_are_of_means_over_seeds_or_within_each() -> None:
    rows = [("astraea", 0, 0.1), ("astraea", 1, 0.3), ("fifo", 0, 0.6), ("fifo", 1, 0.2)]
    frame = pd.DataFrame(rows, columns=["scheduler", "seed", "loss"])
    assert times_as_much(frame, {"loss": "times"})["times"].to_dict() == pytest.approx({"fifo": 2.0})
    assert times_as_much(frame.assign(loss=0.0), {"loss": "times"})["times"].isna().all()
    assert relative_to(frame, "scheduler", "loss", "astraea")["relative"].tolist() == pytest.approx([1, 1, 6, 2 / 3])


def test_the_longest_wait_and_whose_it_is() -> None:
    # one node: 8 GPUs 0..1000; then the gang of 8 (900 s of waiting) before the small job (700 + 500)
    assert longest_waits(fifo((8, 0.0, 1000.0), (8, 100.0, 500.0), (1, 300.0, 50.0))) == {
        "first_wait": 1200.0, "first_wait_large": 900.0, "total_wait": 1200.0, "total_wait_large": 900.0,
        "longest_waiting_demand": 1.0,
    }  # fmt: skip
    # two gangs share the node by leases of 900 s: each starts within the first two, then they take turns
    turns = longest_waits(fifo((8, 0.0, 3600.0), (8, 0.0, 3600.0), policy="astraea"))
    assert turns["first_wait"] <= 910.0 and turns["total_wait"] == turns["total_wait_large"] > 2700.0
    small = longest_waits(fifo((1, 0.0, 60.0)))  # no large gang
    assert small["first_wait"] == 0
    assert math.isnan(small["first_wait_large"]) and math.isnan(small["total_wait_large"])


def test_readings_side_by_side_in_the_order_of_the_figures() -> None:
    rows = [(PROGRAM, "fifo", 3.0), (PROGRAM, "astraea", 1.0), (PAPERS, "astraea", 2.0)]
    frame = pd.DataFrame(rows, columns=["reading", "scheduler", "value"]).assign(seed=0)
    found = by_reading(frame, lambda part: plus_minus(part, "scheduler", {"value": ("v", 1)}))
    assert found.index.tolist() == ["astraea", "fifo"]
    assert found.to_numpy().tolist() == [["1.00", "2.00"], ["3.00", ""]]
    again = pd.concat([frame.assign(load=0.7), frame.assign(load=1.2, value=2 * frame["value"])])
    shown = across(again, "load", "value", 10)
    assert shown.columns.tolist() == ["0.7", "1.2"]
    assert shown.loc["the authors' program: fifo"].tolist() == ["30.0", "60.0"]


def sizes(aside: int = 3) -> pd.DataFrame:
    """Two seeds at two sizes: JCTs of ASTRAEA are half of Tiresias-L's, its losses three times, where there are any."""
    columns = ["reading", "scheduler", "nodes_percent", "seed", "average_jct", "sharing_loss", "excluded_jobs"]
    rows = [
        (reading, name, percent, seed, jct * (1 + seed), loss * (percent < 100), aside)
        for reading in READINGS
        for name, jct, loss in (("astraea", 3600.0, 0.3), ("tiresias-l", 7200.0, 0.1))
        for percent in (60, 100)
        for seed in (0, 1)
    ]
    return pd.DataFrame(rows, columns=columns)


def test_ratios_over_tiresias_are_of_one_seed_and_size() -> None:
    part = sizes()[lambda d: d["reading"] == PAPERS]
    jct, loss = (over_tiresias(part, c) for c in ("average_jct", "sharing_loss"))
    assert set(jct["scheduler"]) == {"astraea"} and len(jct) == 4
    assert jct["relative"].tolist() == [0.5] * 4
    assert loss["nodes_percent"].tolist() == [60, 60]  # nobody has a loss at 100 %
    assert loss["relative"].tolist() == pytest.approx([3, 3])
    assert set(with_loss(sizes())["nodes_percent"]) == {60}
    # ratios are written in the panels, in both readings
    fig = pictures.cluster_sizes(sizes())
    assert [[text.get_text() for text in ax.texts] for ax in fig.axes] == [["0.50"] * 2] * 2 + [["3.00", "–"]] * 2
    assert fig._supxlabel is not None and "Without the 3 jobs" in fig._supxlabel.get_text()
    none = pictures.cluster_sizes(sizes(aside=0))
    assert none._supxlabel is not None and "Without" not in none._supxlabel.get_text()


def test_a_whisker_beyond_the_panel_has_a_sign() -> None:
    box: dict[str, Any] = {"q1": 0.9, "median": 1.0, "q3": 1.1}
    ends = {"a": (0.4, 1.6), "b": (0.8, 1.2), "c": (0.2, 1.3)}
    rows = [
        {"reading": reading, "scheduler": scheduler, "tenant": tenant, **box, "low": low, "high": high}
        for reading in READINGS
        for scheduler in ("astraea", "tiresias-l")
        for tenant, (low, high) in ends.items()
    ]
    levels = {"tenant_sharing_loss": 0.31, "tenant_below_99": 0.2, "tenant_below_95": 0.1}
    shares = pd.DataFrame([{"reading": reading, "scheduler": "fifo", "seed": 0, **levels} for reading in READINGS])
    fig = pictures.tenant_fairness(pd.DataFrame(rows), shares, {"fifo": 0.446})
    for ax in fig.axes[2:4]:
        signs = {line.get_marker(): list(line.get_xdata()) for line in ax.lines if line.get_marker() in ("v", "^")}
        assert signs == {"v": [0, 2], "^": [0]}
    for ax in fig.axes[:2]:
        drawn = sorted(float(line.get_xdata()[0]) for line in ax.lines if len(line.get_xdata()))
        assert drawn == pytest.approx([10, 20, 31, 44.6])


def test_changes_from_astraea_are_within_a_seed() -> None:
    ours = {"average_jct": 100.0, "average_slowdown": 2.0, "sharing_loss": 0.1, "tenant_below_99": 0.2}
    theirs = {"average_jct": 110.0, "average_slowdown": 9.0, "sharing_loss": 0.3, "tenant_below_99": 0.1}
    rows = [
        {"scheduler": name, "seed": seed} | {c: x * (1 + (seed and c[:7] == "average")) for c, x in values.items()}
        for name, values in (("astraea", ours), ("themis", theirs))
        for seed in (0, 1)
    ]
    fig = against_astraea(pd.DataFrame(rows), "")
    marks = [[line.get_xdata()[0] for line in ax.get_lines() if line.get_marker() == "P"] for ax in fig.axes]
    assert [x for found in marks for x in found] == pytest.approx([0.1, 20, -10])  # parts, points
    assert [text.get_text() for text in fig.axes[1].texts] == ["350 %"]  # beyond the axis
    assert all(ax.get_xlim()[0] < 0 < ax.get_xlim()[1] for ax in fig.axes)


def test_the_time_of_jobs_adds_up() -> None:
    figures = {"average_jct": 100.0, "average_queueing_delay": 30.0, "overhead_share": 0.1, "preemptions_per_job": 1.0}
    fig = time_pictures.overheads(pd.DataFrame([{"scheduler": "astraea", "seed": 0, **figures}]))
    parts = [patch.get_width() for patch in fig.axes[0].patches]
    assert parts == pytest.approx([60, 30, 10])  # running, waiting, checkpoints and restarts


def same(a: Any, b: Any) -> None:
    """Equal to the last bit."""
    if isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_exact=True)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for name in a:
            same(a[name], b[name])
    else:
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("scheduler", ["astraea", "astraea-released", "yarn-cs"])
def test_every_measure_gives_the_same_of_what_the_cache_keeps(scheduler: str) -> None:
    jobs, cluster = load_workload("venus", "small")
    trace = jobs.head(250)
    run = run_of(trace, cluster, scheduler)
    whole = simulate(run.trace, run.cluster, run.policy, settings=run.settings)
    kept = unpack(pack(reduced(whole, run.keep)))
    assert isinstance(kept, Result) and kept.grants is None
    assert len(pack(kept)) < 0.9 * len(pack(whole))  # much less of more jobs, where headers weigh nothing
    for measure in (
        summary, tenant_windows, fairness_figures, efficiency_figures, longest_waits, cluster_timeline,
        one_tenant.tenant_figures, one_tenant.hourly_service, burst.burst_figures, released.study_figures,
        released.job_figures, lambda result: len(result.excluded_jobs),
        lambda result: characterize.tenant_utilization(trace, result, HOUR),
        lambda result: characterize.pending(trace, result)[0],
    ):  # fmt: skip
        same(measure(whole), measure(kept))


def test_of_sizes_the_summary_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("astraea.experiments.cache.CACHE", tmp_path)
    assert {run.keep for run in size_grid("venus", "small").runs} == {"summary"} == {kept("philly")}
    assert kept("w2") == kept("my-log.csv") == READ  # weeks of a log are read from its jobs
    trace, cluster = load_workload("venus", "small")
    run = Run(trace.head(250), cluster, "fifo")
    whole, small = (Grid([r], pd.DataFrame({"seed": [0]})).table() for r in (run, replace(run, keep="summary")))
    same(whole, small)


def test_the_comparison_with_astraea_pairs_seeds() -> None:
    logs = {"astraea": [0.0, 1.0, 2.0], "fifo": [0.1, 1.2, 2.3], "hived": [-0.1, 1.2, 2.0], "allox": [-0.1, 0.8, 1.7]}
    rows = [{"scheduler": s, "seed": k, "y": np.exp(v)} for s, values in logs.items() for k, v in enumerate(values)]
    frame = pd.DataFrame(rows)
    table = compared(frame, "y")
    assert list(table.index) == ["fifo", "hived", "allox"]
    # differences of logarithms 0.1, 0.2, 0.3: standard error 0.1 / sqrt(3), t table: 2 degrees of freedom
    half = 4.3027 * 0.1 / np.sqrt(3)
    assert np.log(table.loc["fifo", ["ratio", "low", "high"]].astype(float)).tolist() == pytest.approx(
        [0.2, 0.2 - half, 0.2 + half], rel=1e-4
    )
    assert table["lower"].tolist() == [0, 1, 3]
    assert table["finding"].tolist() == ["not shown to differ"] * 3
    narrow = frame.assign(y=np.exp(10 * np.log(frame["y"]))).query("scheduler != 'hived'")
    shifted = narrow.assign(y=narrow["y"] * narrow["scheduler"].map({"astraea": 1.0, "fifo": 99.0, "allox": 1 / 99}))
    assert compared(shifted, "y")["finding"].tolist() == ["higher", "lower"]
    few = compared(frame[frame["seed"] < 2], "y")
    assert few["finding"].tolist() == ["too few to tell"] * 3
    assert few["low"].isna().all()


def test_box_stats() -> None:
    frame = pd.DataFrame({"t": "x", "v": [*range(101), np.nan]})
    assert box_stats(frame, "v", ["t"]).to_numpy().tolist() == [["x", 5.0, 25.0, 50.0, 75.0, 95.0, 101]]
