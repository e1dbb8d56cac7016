"""The evaluation's workloads, grids and readings: runs, schedulers, and their knowledge."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from listed_jobs import listed
from matplotlib import pyplot as plt

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.core.errors import InputError
from astraea.experiments.grid import Grid
from astraea.experiments.run import Run
from astraea.traces.describe import offered_load
from astraea.traces.readers import read_trace
from astraea.traces.trace import Trace
from papers import scales
from papers.ye2022 import evaluation, pictures
from papers.ye2022.evaluation import load_workload
from papers.ye2022.ladder import BEFORE, MEASURES, RUNGS, differences, drawn_weeks, ladder_grid
from papers.ye2022.readings import (
    ASTRAEA,
    BASELINES,
    COMPARED,
    FLAWED,
    MEMORIES,
    PAPERS,
    PROGRAM,
    READINGS,
    able,
    compared,
    settings_of,
)
from papers.ye2022.rules import SEVEN
from papers.ye2022.whole_rounds import simulate_in_whole_rounds


def trace(**weights: float) -> Trace:
    """Four jobs in 100 s that ask for 1,600 GPU-s, 16 GPUs, one of them a gang of 8."""
    tenants = [*weights] * 4
    rows = [("a", 1, 0.0, 100.0), ("b", 1, 10.0, 50.0), ("c", 8, 20.0, 175.0), ("d", 1, 100.0, 50.0)]
    jobs = ((name, tenants[k], demand, at, lasts) for k, (name, demand, at, lasts) in enumerate(rows))
    return listed(*jobs, name="four", weights=weights)


@pytest.mark.parametrize(("name", "jobs", "nodes"), [("venus", 11_304, 100), ("philly", 44_329, 210)])
def test_known_workloads(name: str, jobs: int, nodes: int) -> None:
    whole, cluster = evaluation.load_workload(name, "paper")
    assert (len(whole), cluster) == (jobs, Cluster(nodes, 8))
    small, cluster = evaluation.load_workload(name, "small")
    assert small.job_id.tolist() == whole.job_id[: len(small)].tolist()
    assert 1_500 <= len(small) < len(whole) / 3
    # jobs must wait at the scale that everybody looks at first, on the same cluster for every seed
    assert 1.2 < evaluation.served_load(small) / cluster.gpus <= evaluation.SMALL_LOAD
    assert cluster == evaluation.load_workload(name, "small", 1)[1]


def test_large_traces_have_one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [evaluation.few_seeds("venus", scale, 3) for scale in ("small", "paper")]
    assert found == [(0, 1), (0, 1, 2)]
    monkeypatch.setattr(evaluation, "LARGE", 11_000)
    assert evaluation.few_seeds("venus", "paper", 3) == (0,)


def test_nodes_of_an_unknown_trace() -> None:
    assert evaluation.suitable_nodes(trace(x=1)) == 2  # offered load: 16 GPUs
    assert evaluation.suitable_nodes(trace(x=7, y=1)) == 2  # x, which has 7/8, asks for the gang
    assert evaluation.suitable_nodes(trace(x=1, y=7)) == 8  # x has 1/8, and its quota must hold 8 GPUs
    # until 100 s: 1 x 100, 1 x 50, 8 x 80 and nothing of the last: 790 GPU-s, 7.9 GPUs; 16 with all that they ask for
    assert evaluation.served_load(trace(x=1)) == pytest.approx(7.9) and evaluation.crowded_nodes(trace(x=1)) == 1
    assert evaluation.served_load(trace(x=1).head(1)) == 0 and evaluation.crowded_nodes(trace(x=1).head(1)) == 1


def test_grids() -> None:
    main = evaluation.main_grid("venus", "small")
    for reading, schedulers in COMPARED.items():
        mine = main.index[main.index["reading"] == reading]
        assert mine.groupby("seed")["scheduler"].agg(list).tolist() == [[s.name for s in schedulers]] * 2
    for run, reading in zip(main.runs, main.index["reading"], strict=True):  # in rounds, or the program counts them
        assert (run.trace.submit_time % 10).any() == (run.function is simulate_in_whole_rounds) == (reading == READINGS[0])
    leases = evaluation.lease_grid("venus", "paper")
    assert set(leases.index["lease_term"]) == set(evaluation.LEASE_TERMS)
    assert set(leases.index["reading"]) == set(READINGS)
    assert [run.policy.lease_term for run in leases.runs] == leases.index["lease_term"].tolist()
    large = evaluation.lease_grid("philly", "paper").index
    assert large["lease_term"].min() == 300
    sizes = evaluation.size_grid("venus", "small")
    assert len({run.trace.digest for run in sizes.runs}) == 2 * 2  # the same jobs at every size, in each reading
    whole = evaluation.load_workload("venus", "small")[1].nodes
    assert sizes.index["nodes"].tolist() == [-(-whole * p // 100) for p in sizes.index["nodes_percent"]]


@pytest.mark.parametrize(
    "grid", [evaluation.main_grid, evaluation.accounting_grid, evaluation.size_grid, evaluation.load_grid]
)
def test_another_lease_term_or_load_changes_what_it_should(grid: Callable[..., Grid]) -> None:
    usual, longer = grid("venus", "small"), grid("venus", "small", lease_term=1800)
    pd.testing.assert_frame_equal(usual.index, longer.index)
    for before, after in zip(usual.runs, longer.runs, strict=True):
        leases = "lease_term" in before.policy.parameters
        assert (before.key != after.key) == leases
        assert not leases or (before.policy.lease_term, after.policy.lease_term) == (900, 1800)
    with pytest.raises(InputError, match=r"lease_term must be a number of at least 0, got 'long'$"):
        grid("venus", "small", lease_term="long")
    if grid is evaluation.load_grid:
        assert sorted(set(usual.index["load"])) == list(evaluation.LOADS["small"])
        for run, load in zip(usual.runs, usual.index["load"], strict=True):
            assert offered_load(run.trace) / run.cluster.gpus == pytest.approx(load, rel=1e-3)
    else:
        fuller = grid("venus", "small", load=3.0)
        pd.testing.assert_frame_equal(usual.index, fuller.index)
        assert not {run.key for run in usual.runs} & {run.key for run in fuller.runs}
        with pytest.raises(InputError, match=r"^the load must be a number of at least 0, got -1$"):
            grid("venus", "small", load=-1)


def test_real_trace_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data" / "raw" / "philly-two-weeks"
    folder.mkdir(parents=True)
    columns = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval,user,expect_time"
    (folder / "philly_two_weeks.csv").write_text(f"{columns}\n0,1,0,1,m,10,0,a,-1\n1,8,5,1,m,10,0,b,-1\n")
    (folder / "share-production.csv").write_text("name,share\na,3\nb,1\n")
    read, cluster = evaluation.load_workload("philly-two-weeks", "paper")
    assert read.name == "philly-two-weeks" and read.tenant_weight.tolist() == [3, 1]
    assert cluster == Cluster(210, 8)
    assert scales.seeds("philly-two-weeks", "paper") == (0,)


@pytest.mark.parametrize(("name", "scale"), [("nobody", "paper"), ("venus", "large"), ("helios-venus", "small")])
def test_unknown(name: str, scale: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"no such file|not downloaded yet|scale must be one of small, paper"):
        evaluation.load_workload(name, scale)


def test_the_ladder_leads_from_one_reading_to_the_other_one_difference_at_a_time() -> None:
    """The first rung is the reading `PAPERS`, the last of the main line `PROGRAM`."""
    grid, main = ladder_grid("venus", "small"), evaluation.main_grid("venus", "small")
    found = {name: [grid.runs[k] for k in part.index] for name, part in grid.index.groupby("rung")}
    line = [rung for rung in RUNGS if not rung.beside]
    for rung, reading in ((line[0], PAPERS), (line[-1], PROGRAM)):
        theirs = [main.runs[k] for k in main.index.index[main.index["reading"] == reading]]
        assert {identity(run) for run in found[rung.name]} == {identity(run) for run in theirs}
    assert len({run.key for run in grid.runs}) < len(grid.runs) / 2
    for before, rung in itertools.pairwise(line):
        assert [s.name for s in rung.schedulers] in ([s.name for s in COMPARED[r]] for r in READINGS)
        differences = ("schedulers", "settings", "learned", "in_rounds")
        assert sum(getattr(before, name) != getattr(rung, name) for name in differences) == 1, rung.name


def test_side_rungs_turn_early_leases_on_and_off_for_all() -> None:
    thresholds = {
        rung.name: {s.name: s.made.parameters.get("delay_threshold") for s in rung.schedulers} for rung in RUNGS
    }
    on, off = {"astraea": 300, "themis": 300}, {"tiresias-l": 0, "fifo": 0}
    assert thresholds["counted in whole rounds"] == {**on, **off, "yarn-cs": None}
    assert set(thresholds["early leases for all"].values()) == {300, None}
    assert set(thresholds["early leases for none"].values()) == {0, None}
    assert {rung.beside for rung in RUNGS if rung.beside} == {"counted in whole rounds"}


def test_differences_are_paired_within_a_seed() -> None:
    """ASTRAEA loses 1 + seed on the first rung and a tenth less on each one after; a rival always loses 3."""
    rows = [
        {"rung": rung.name, "scheduler": name, "seed": seed, **dict.fromkeys(MEASURES, loss)}
        for k, rung in enumerate(RUNGS)
        for seed in (0, 1)
        for name, loss in (("astraea", 1 + seed - k / 10 - seed * (k == 1)), ("fifo", 3.0))
    ]
    found = differences(pd.DataFrame(rows)).set_index(["minus", "measure", "rung"]).sort_index()
    loss = found.loc[(BEFORE, "average_jct")]
    assert RUNGS[0].name not in loss.index  # it has none before
    assert loss.loc[RUNGS[1].name, "mean"] == pytest.approx(-0.6)  # -0.1 and -1.1: Student's t with one degree: 12.7
    assert loss.loc[RUNGS[1].name, "high"] == pytest.approx(-0.6 + 12.706 * 0.5, abs=1e-3)
    assert loss.loc[RUNGS[-1].name, "mean"] == pytest.approx(-0.2)  # from the eleventh, which it stands beside
    assert loss.loc[RUNGS[-1].name, "high"] == pytest.approx(-0.2)
    assert found.loc[("fifo", "sharing_loss", RUNGS[0].name), "mean"] == pytest.approx(1.5 - 3)


@pytest.mark.parametrize("weeks", [2, 4])
def test_a_log_has_intervals_over_its_weeks_which_both_sides_of_a_difference_share(weeks: int) -> None:
    """A week's loss is its number on every rung; FIFO has one more in all weeks, AlloX twice as much."""
    of = {"astraea": lambda week: week, "fifo": lambda week: week + 1, "allox": lambda week: 2 * week}
    rows = [
        {"rung": rung.name, "scheduler": name, "figure": "sharing_loss", "week": week, "mean": loss(week), "n": 5}
        for rung in RUNGS
        for name, loss in of.items()
        for week in range(weeks)
    ]
    mean = (weeks - 1) / 2
    pairs = [(BEFORE, 0.0), ("fifo", -1.0), ("allox", -mean)]
    paired = pd.DataFrame(
        {"rung": RUNGS[3].name, "minus": minus, "measure": "sharing_loss", "mean": value, "low": None, "n": 1}
        for minus, value in pairs
    )
    found = drawn_weeks(paired, pd.DataFrame(rows))
    if weeks < 3:
        assert found.equals(paired)
        return
    low, high = found.set_index("minus")["low"], found.set_index("minus")["high"]
    assert (found["n"] == weeks).all()
    assert (low["fifo"], high["fifo"]) == pytest.approx((-1, -1))  # it is so in every week
    assert (low[BEFORE], high[BEFORE]) == pytest.approx((0, 0))
    assert low["allox"] < -mean < high["allox"]


def identity(run: Run) -> str:
    """Everything that decides a run; the ladder stores less of its result."""
    return dataclasses.replace(run, keep=None).key


def test_accounting_differs_in_submissions_only() -> None:
    known = {run.key for run in evaluation.main_grid("venus", "small").runs}
    accounting = evaluation.accounting_grid("venus", "small")
    for run, name in zip(accounting.runs, accounting.index["accounting"], strict=True):
        assert (run.trace.submit_time % 10).any() == (name == "to the second")
        assert run.key in known or name != "in rounds"


def test_what_stands_beside_the_seven_differs_in_what_its_name_says() -> None:
    assert set(SEVEN) <= {s.name for s in COMPARED[PAPERS]}
    assert {s.policy for s in COMPARED[PROGRAM]} == {"astraea-released", "yarn-cs"}
    assert ASTRAEA.made == get_policy("astraea")  # Algorithms 1 and 2, no rule of the program
    assert MEMORIES[0] is ASTRAEA and MEMORIES[1].made.parameters["tenant_window"] == 86_400
    assert [s.made.parameters["half_life"] / 3600 for s in MEMORIES[2:]] == [1, 24, 168]
    assert {s.made.lease_term for s in MEMORIES} == {900.0}
    released = next(s for s in BASELINES if s.name == "tiresias-l-released").made.parameters
    assert released["queues"] == 3
    assert (released["threshold"], released["threshold"] * released["growth"]) == (3250, 7200)  # GPU-s


def test_pictures_say_who_knows_true_running_times() -> None:
    rows = [(reading, s, 0, 3.6e3) for reading in READINGS for s in ("astraea", "themis")]
    for reading in READINGS:
        estimating = [s for s in COMPARED[reading] if s.made.needs_estimates]
        knows = {s.name for s in estimating if settings_of(reading, s).estimator == "oracle"}
        assert knows == ({"themis"} if reading == PROGRAM else set())
    fig = pictures.completion_times(pd.DataFrame(rows, columns=["reading", "scheduler", "seed", "average_jct"]))
    assert fig._supxlabel is not None
    assert "In the authors' program, Themis knows true running times." in fig._supxlabel.get_text().replace("\n", " ")
    plt.close(fig)


def test_what_is_charged_and_known() -> None:
    assert FLAWED.list_removal_flaw and FLAWED.estimator == "oracle"
    assert FLAWED.checkpoint_overhead == FLAWED.restart_overhead == 0
    measured, paid = (next(s for s in COMPARED[reading] if s.name == "themis") for reading in (PROGRAM, PAPERS))
    assert settings_of(PROGRAM, measured) == FLAWED
    assert settings_of(PAPERS, paid).estimator == "gradient-boosting" and settings_of(PAPERS, paid).restart_overhead > 0
    assert settings_of(PAPERS, ASTRAEA).estimator == "oracle"  # it asks for nothing


def test_nobody_knows_the_future_of_a_trace_without_a_past() -> None:
    trace = load_workload("venus", "small")[0]
    assert compared(PAPERS, trace) == COMPARED[PAPERS]
    without = dataclasses.replace(trace, history=None)
    assert {s.name for s in COMPARED[PAPERS]} - {s.name for s in compared(PAPERS, without)} == {"allox", "themis"}
    assert compared(PROGRAM, without) == COMPARED[PROGRAM]
    assert len(able(BASELINES, trace)) == len(BASELINES) > len(able(BASELINES, without))
    with pytest.raises(InputError, match="reading must be one of the authors' program, from the papers"):
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
    for scheduler in COMPARED[PROGRAM]:
        run = {"tiresias-l": "tiresias", "yarn-cs": "yarn"}.get(scheduler.name, scheduler.name)
        if run == "fifo":
            continue
        result = simulate_in_whole_rounds(trace, cluster, scheduler.made, settings=settings_of(PROGRAM, scheduler))
        theirs = printed.loc[f"w2_n64_{run}"]
        loss = float((result.jobs["rho_job"].round(4) < 0.95).mean())
        assert loss == pytest.approx(theirs.sharing_loss_share, abs=6e-5)
        assert result.jobs["jct"].mean() == pytest.approx(theirs.avg_jct_s, rel=1e-4)
        assert result.jobs["slowdown"].mean() == pytest.approx(theirs.avg_slowdown, rel=1e-4)
