"""Table 3: the jobs that are drawn, those of the authors, and the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from astraea.core.errors import InputError
from astraea.core.result import Result
from papers.gavel.study import physical as study
from papers.gavel.study.physical import SHAPES, TABLE3, objectives, physical, table3, table3_grid
from papers.gavel.throughputs.table import Throughputs

MEASURED = Path("../shared/data/gavel/simulation_throughputs.json")
AUTHORS = Path("../shared/data/gavel/physical_cluster")


@pytest.mark.parametrize("trace", SHAPES)
def test_drawn_jobs_have_the_shape(trace):
    throughputs, shape = Throughputs.compact(), SHAPES[trace]
    many = [physical(trace, throughputs, seed=seed) for seed in range(20)]
    hours = []
    for w in many:
        assert len(w) == shape.jobs and w.arrival_time[0] == 0
        speed = [throughputs.alone(kind, int(s))[0] for kind, s in zip(w.job_type, w.scale_factor, strict=True)]
        hours.append(w.total_steps / speed / 3600)
    gang = np.concatenate([w.scale_factor for w in many])
    assert [np.mean(gang == g) for g in study.GANGS] == pytest.approx(shape.gangs, abs=0.05)
    every = np.concatenate(hours)
    assert shape.shortest <= every.min() < every.max() <= shape.longest
    assert every.mean() == pytest.approx((shape.shortest + shape.longest) / 2, rel=0.03)
    if shape.rate:
        spans = [(len(w) - 1) / w.arrival_time[-1] * 3600 for w in many]
        assert np.mean(spans) == pytest.approx(shape.rate, rel=0.1)
    else:
        assert all((w.arrival_time == 0).all() for w in many)
    assert (many[0].total_steps != many[1].total_steps).any()


def test_the_middle_is_measured():
    jobs = pd.DataFrame({"jct": 3600.0 * np.arange(95), "end_time": 7200.0 * np.arange(95)})
    result = Result(jobs=jobs, excluded_jobs=pd.DataFrame(), timeline=pd.DataFrame(), provenance={})
    assert objectives(result) == {"Average JCT": 47.0, "Makespan": 188.0}


def test_the_table():
    grid = table3_grid("small")
    assert {run.arguments.workers for run in grid.runs} == {study.CLUSTER}
    assert {run.arguments.options.round_length for run in grid.runs} == {study.ROUND}
    assert len(grid.runs) == len(TABLE3)
    found = grid.index.assign(**{"Average JCT": np.arange(4.0), "Makespan": 10 + np.arange(4.0)})
    found = pd.concat([found, found.assign(seed=1, **{"Average JCT": 9.0, "Makespan": 9.0})])
    shown = table3(found)
    assert list(shown["paper"]) == [3.4, 5.2, 17.9, 21.9]
    by_policy = shown.set_index("policy")
    assert by_policy.loc["las", ["low", "high"]].tolist() == [
        found.query("policy == 'las'")["Average JCT"].min(), 9.0
    ]  # fmt: skip
    assert by_policy.loc["gandiva", "drawn"] == found.query("policy == 'gandiva'")["Makespan"].mean()
    assert shown["authors"].isna().all()
    with pytest.raises(InputError, match="no such folder"):
        table3_grid("small", "", "nowhere")


def test_the_authors_traces_give_the_papers_numbers():
    if not (MEASURED.is_file() and AUTHORS.is_dir()):
        pytest.skip(f"needs {MEASURED} and {AUTHORS}")
    grid = table3_grid("small", str(MEASURED), str(AUTHORS))
    shown = table3(grid.table(objectives)).set_index("policy")
    ratio = shown["authors"] / shown["paper"]
    assert ratio[["las-het", "makespan-het"]].to_numpy() == pytest.approx(1.0, abs=0.06)
    # LAS does not care which of its many optima it has, and types do
    assert ratio["las"] == pytest.approx(1.0, abs=0.25)
    # Gandiva's packing is a search at random
    assert ratio["gandiva"] == pytest.approx(1.0, abs=0.15)
