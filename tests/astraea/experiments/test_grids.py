"""Stored parts of a result, tables of grids, and the lease term that a grid recommends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from small_runs import FOUR, same, tiny

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.core.metrics import summary
from astraea.experiments.archive import pack, reduced, unpack
from astraea.experiments.cache import in_order
from astraea.experiments.grid import Grid, run_grid
from astraea.experiments.lease_term import recommended_term, select_lease_term
from astraea.experiments.run import Run
from astraea.traces.trace import Trace


def test_rows_stand_beside_the_index() -> None:
    values = [pd.DataFrame({"x": [1, 2]}), pd.DataFrame({"x": [3]})]
    runs = [Run(tiny(), FOUR, get_policy("fifo"), seed) for seed in (0, 1)]
    grid = Grid(runs, pd.DataFrame({"row": [0, 1]}))
    assert len((grid + grid).runs) == len((grid + grid).index) == 4
    assert (grid + grid).index.index.tolist() == [0, 1, 2, 3]
    parts = iter(values)
    table = grid.table(lambda _: next(parts))
    assert table.to_numpy().tolist() == [[0, 1], [0, 2], [1, 3]]
    assert list(table) == ["row", "x"]


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_only_what_is_kept_comes_back(jobs: int, tmp_path: Path) -> None:
    keep = {"jobs": ("job_id", "jct"), "timeline": ("time",)}
    whole = Run(tiny(), FOUR, get_policy("fifo"))
    with joblib.parallel_config("loky", n_jobs=jobs):  # a worker gets what is kept with the run
        full, less = run_grid([whole, replace(whole, keep=keep)], cache=tmp_path, progress=False)
    pd.testing.assert_frame_equal(less.jobs, full.jobs[["job_id", "jct"]], check_exact=True)
    pd.testing.assert_frame_equal(less.timeline, full.timeline[["time"]], check_exact=True)
    assert less.excluded_jobs.empty and not full.excluded_jobs.empty
    assert less.provenance == full.provenance


@pytest.mark.parametrize("fraction", [0.0, 0.1])
def test_results_come_back_to_the_last_bit(fraction: float) -> None:
    frame = tiny().frame.assign(duration=lambda jobs: jobs["duration"] + fraction)
    result = simulate(Trace.from_frame(frame, name="tiny"), FOUR, "astraea", lease_term=60, keep_log=True)
    assert len(result.excluded_jobs)
    back = unpack(pack(result))
    same(back, result)
    assert back.seconds == result.seconds
    assert reduced(result, None) is result
    left = unpack(pack(reduced(result, {"jobs": ("jct", "slowdown"), "grants": ("start",)})))
    assert left.grants is not None and list(left.grants) == ["start"] and left.placements is None
    pd.testing.assert_frame_equal(left.jobs, result.jobs[["jct", "slowdown"]], check_exact=True)
    assert unpack(pack(reduced(result, {"jobs": ("jct",)}))).grants is None
    alone = unpack(pack(reduced(result, "summary")))
    pd.testing.assert_frame_equal(alone, pd.DataFrame([summary(result)]), check_exact=True)


def test_words_that_are_missing_and_types_come_back() -> None:
    table = pd.DataFrame({"word": ["a/b \u00e9", None], "count": np.array([1, 2], dtype=np.int32), "on": [True, False]})
    mixed = table.assign(any=pd.Series([1.5, "x"], dtype=object), met=pd.array([True, None], dtype="boolean"))
    pd.testing.assert_frame_equal(unpack(pack(mixed)), mixed, check_exact=True)
    assert unpack(pack(table.iloc[:0])).dtypes.equals(table.dtypes)


def test_one_run_of_each_kind_comes_first_and_then_the_longest() -> None:
    long = Trace.from_frame(pd.concat([tiny().frame] * 2).assign(job_id=lambda jobs: range(len(jobs))), name="long")
    runs = {f"fifo {seed}": Run(tiny(), FOUR, get_policy("fifo"), seed) for seed in (0, 1)}
    runs |= {"long": Run(long, FOUR, get_policy("fifo")), "astraea": Run(tiny(), FOUR, get_policy("astraea"))}
    assert in_order(runs) == ["fifo 0", "astraea", "long", "fifo 1"]


ONE = Cluster(1, 1)
ASTRAEA = get_policy("astraea")


@pytest.fixture(scope="module")
def trace() -> Trace:
    """Two long jobs that take turns on one GPU: every turn costs a checkpoint and a restart."""
    jobs = {"job_id": ["1", "2"], "tenant": "t", "demand": 1, "submit_time": 0.0, "duration": 2000.0}
    return Trace.from_frame(pd.DataFrame(jobs), name="turns")


def test_the_table_holds_what_simulations_give(trace: Trace, tmp_path: Path) -> None:
    choice = select_lease_term(Run(trace, ONE, ASTRAEA), terms=(600, 60, 300), cache=tmp_path, progress=False)
    assert list(choice.table) == ["lease_term", "average_jct", "overhead_share", "sharing_loss"]
    assert choice.table["lease_term"].tolist() == [60, 300, 600]
    assert (choice.lease_term, choice.reason) == recommended_term(choice.table)
    for row in choice.table.to_dict("records"):
        figures = summary(simulate(trace, ONE, get_policy("astraea").with_parameters(lease_term=row["lease_term"])))
        assert all(row[name] == figures[name] for name in ("average_jct", "overhead_share", "sharing_loss"))


def test_other_parameters_and_settings_stay(trace: Trace, tmp_path: Path) -> None:
    policy, settings = get_policy("astraea").with_parameters(renewal_bonus=0.2), Settings(restart_overhead=7.0)
    options: dict[str, Any] = {"cache": tmp_path, "progress": False}
    select_lease_term(Run(trace, ONE, policy, 2, settings), terms=(300,), **options)
    (path,) = tmp_path.iterdir()
    run = Run(trace, ONE, policy.with_parameters(lease_term=300), 2, settings)
    assert path.stem == run.key
    assert run_grid([run], **options)[0].provenance["parameters"]["renewal_bonus"] == 0.2


def test_what_has_no_lease_term_to_recommend(trace: Trace, tmp_path: Path) -> None:
    for policy, terms, sentence in (
        ("fifo", (60,), "policy fifo does not preempt"),
        ("astraea", (), "at least one lease term"),
        ("astraea", (5,), "lease_term must be at least the scheduling interval"),
    ):
        with pytest.raises(InputError, match=sentence):
            select_lease_term(Run(trace, ONE, get_policy(policy)), terms, cache=tmp_path, progress=False)


def leases(jct: dict[float, float]) -> pd.DataFrame:
    rows = [{"lease_term": k, "average_jct": v, "overhead_share": 0.01, "sharing_loss": 0.2}
            for k, v in jct.items()]  # fmt: skip
    return pd.DataFrame(rows)


def test_the_shortest_term_within_the_tolerance_of_the_best_mean_is_recommended() -> None:
    frame = leases({3600.0: 101.0, 60.0: 130.0, 600.0: 102.0, 1200.0: 100.0, 300.0: 102.1})
    term, reason = recommended_term(frame)
    assert term == 600
    assert reason == (
        "10 min is the shortest lease term whose average JCT, 1.7 min, is within 2 % of the best, 1.67 min at 20 min. "
        "Checkpoints and restarts are 1.00 % of this JCT, and 20.0 % of the jobs have sharing loss."
    )
    assert recommended_term(frame, tolerance=0)[0] == 1200
    assert recommended_term(leases({60.0: 102.0, 120.0: 101.0, 300.0: 100.0}))[0] == 60  # exactly 2 % is within
    frame = pd.concat([leases({300.0: 90.0, 900.0: 100.0}), leases({300.0: 120.0, 900.0: 100.0})])
    assert recommended_term(frame)[0] == 900
