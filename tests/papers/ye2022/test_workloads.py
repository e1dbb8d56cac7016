"""The evaluation's workloads and readings: jobs, clusters, and what the authors' program printed on its own."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pandas as pd
import pytest
from listed_jobs import listed

from astraea.cluster.cluster import Cluster
from astraea.core.errors import InputError
from astraea.traces.readers import read_trace
from astraea.traces.trace import Trace
from papers.ye2022 import workloads
from papers.ye2022.readings import FLAWED, FROM_PAPERS, IN_PROGRAM, in_program, learnable
from papers.ye2022.rules import SEVEN
from papers.ye2022.whole_rounds import simulate_in_whole_rounds
from papers.ye2022.workloads import load_workload, paths_of, title


def trace(**weights: float) -> Trace:
    """Four jobs in 100 s that ask for 1,600 GPU-s, 16 GPUs, one of them a gang of 8."""
    tenants = [*weights] * 4
    rows = [("a", 1, 0.0, 100.0), ("b", 1, 10.0, 50.0), ("c", 8, 20.0, 175.0), ("d", 1, 100.0, 50.0)]
    jobs = ((name, tenants[k], demand, at, lasts) for k, (name, demand, at, lasts) in enumerate(rows))
    return listed(*jobs, name="four", weights=weights)


@pytest.mark.parametrize(("name", "jobs", "nodes"), [("venus", 11_304, 100), ("philly", 44_329, 210)])
def test_known_workloads(name: str, jobs: int, nodes: int) -> None:
    whole, cluster = workloads.load_workload(name, "paper")
    assert (len(whole), cluster) == (jobs, Cluster(nodes, 8))
    small, cluster = workloads.load_workload(name, "small")
    assert small.job_id.tolist() == whole.job_id[: len(small)].tolist()
    assert 1_500 <= len(small) < len(whole) / 3
    # jobs must wait at the scale that everybody looks at first, on the same cluster for every seed
    assert 1.2 < workloads.served_load(small) / cluster.gpus <= workloads.SMALL_LOAD
    assert cluster == workloads.load_workload(name, "small", 1)[1]


def test_nodes_of_an_unknown_trace() -> None:
    assert workloads.suitable_nodes(trace(x=1)) == 2  # offered load: 16 GPUs
    assert workloads.suitable_nodes(trace(x=7, y=1)) == 2  # x, which has 7/8, asks for the gang
    assert workloads.suitable_nodes(trace(x=1, y=7)) == 8  # x has 1/8, and its quota must hold 8 GPUs
    # until 100 s: 1 x 100, 1 x 50, 8 x 80 and nothing of the last: 790 GPU-s, 7.9 GPUs; 16 with all that they ask for
    assert workloads.served_load(trace(x=1)) == pytest.approx(7.9) and workloads.crowded_nodes(trace(x=1)) == 1
    assert workloads.served_load(trace(x=1).head(1)) == 0 and workloads.crowded_nodes(trace(x=1).head(1)) == 1


def test_real_trace_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data" / "raw" / "philly-two-weeks"
    folder.mkdir(parents=True)
    columns = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval,user,expect_time"
    (folder / "philly_two_weeks.csv").write_text(f"{columns}\n0,1,0,1,m,10,0,a,-1\n1,8,5,1,m,10,0,b,-1\n")
    (folder / "share-production.csv").write_text("name,share\na,3\nb,1\n")
    read, cluster = workloads.load_workload("philly-two-weeks", "paper")
    assert read.name == "philly-two-weeks" and read.tenant_weight.tolist() == [3, 1]
    assert cluster == Cluster(210, 8)


@pytest.mark.parametrize(("name", "scale"), [("nobody", "paper"), ("venus", "large"), ("helios-venus", "small")])
def test_unknown(name: str, scale: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"no such file|not downloaded yet|scale must be one of small, paper"):
        workloads.load_workload(name, scale)


def test_a_title_says_where_a_workload_is_from() -> None:
    assert title(load_workload("venus", "small")[0], 2) == "Venus (synthetic), 2 seeds, 1,500 jobs each"
    assert title(trace(x=1), 1) == "four, 1 run, 4 jobs"
    assert [path.as_posix().rpartition("/data/")[2] for path in paths_of(["w2", "itp"])] == [
        "raw/philly-vcs", "raw/elasticflow",
    ]  # fmt: skip


def test_nobody_knows_the_future_of_a_trace_without_a_past() -> None:
    assert set(FROM_PAPERS) == {*SEVEN, "fifo"}
    assert {policy.name for policy in IN_PROGRAM.values()} == {"astraea-released", "yarn-cs"}
    assert [*in_program(["fifo", "hived", "themis"])] == ["themis", "fifo"] and in_program(FROM_PAPERS) == IN_PROGRAM
    jobs = load_workload("venus", "small")[0]
    assert learnable(FROM_PAPERS, jobs) == [*FROM_PAPERS]
    without = dataclasses.replace(jobs, history=None)
    assert set(FROM_PAPERS) - set(learnable(FROM_PAPERS, without)) == {"allox", "themis"}


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
    assert learnable(FROM_PAPERS, trace) == [*FROM_PAPERS]  # what came before is its past
    for name, policy in IN_PROGRAM.items():
        run = {"tiresias-l": "tiresias", "yarn-cs": "yarn"}.get(name, name)
        if run == "fifo":
            continue
        result = simulate_in_whole_rounds(trace, cluster, policy, settings=FLAWED)
        theirs = printed.loc[f"w2_n64_{run}"]
        loss = float((result.jobs["rho_job"].round(4) < 0.95).mean())
        assert loss == pytest.approx(theirs.sharing_loss_share, abs=6e-5)
        assert result.jobs["jct"].mean() == pytest.approx(theirs.avg_jct_s, rel=1e-4)
        assert result.jobs["slowdown"].mean() == pytest.approx(theirs.avg_slowdown, rel=1e-4)
