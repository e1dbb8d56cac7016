"""ASTRAEA from the paper and as released: the variants, the drawn example, and their measures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from listed_jobs import listed

from astraea.cluster.cluster import Cluster
from astraea.cluster.simulate import simulate
from astraea.core.result import Result
from astraea.traces.readers import read_trace
from astraea.traces.trace import Trace
from papers import charts
from papers.ye2022.evaluation import load_workload, main_grid
from papers.ye2022.readings import FLAWED, NO_COST
from papers.ye2022.released import (
    FREE_VARIANTS,
    VARIANTS,
    WRITTEN,
    changed_loss,
    changes,
    example,
    grouped,
    held_at_submission,
    job_figures,
    job_groups,
    lease_ends_together,
    parting,
    released_grid,
    staggered,
    study_figures,
    synchrony,
    tenant_loads,
    walked,
    whole_minutes,
)
from papers.ye2022.released_pictures import dot_plot


def two_tenants() -> Trace:
    """Tenant a has two jobs, b one that comes after an hour; both have the same weight."""
    jobs = [("1", "a", 2, 0.0, 7200.0), ("2", "a", 1, 3605.0, 61.0), ("3", "b", 2, 3661.0, 1800.0)]
    return listed(*jobs, name="two", weights={"a": 1.0, "b": 1.0})


def leases(result: Result) -> list[tuple[str, float, float]]:
    """Job, beginning and end of every lease [min]."""
    times = result.log[["start", "end"]] / 60
    return list(zip(result.log["job_id"], times["start"], times["end"], strict=True))


def test_grid_has_every_variant_once_for_each_seed() -> None:
    grid = released_grid("venus", "small")
    assert len(grid.runs) == 2 * len(VARIANTS) + len(FREE_VARIANTS)
    assert len({run.key for run in grid.runs}) == len(grid.runs)
    assert not grid.index.duplicated(["variant", "overheads", "minutes", "seed"]).any()
    known = {run.key for run in main_grid("venus", "small").runs}  # so that these are computed once for both
    usual = grid.index["variant"].eq(WRITTEN) & grid.index["overheads"]
    assert all(run.key in known for run, is_usual in zip(grid.runs, usual, strict=True) if is_usual)
    for run, row in zip(grid.runs, grid.index.itertuples(), strict=True):
        assert row.overheads == (run.settings.restart_overhead > 0) and row.scheduler == run.policy.name
        assert row.minutes == (not (run.trace.submit_time % 60).any())


def test_four_jobs_part_where_a_new_one_may_take_a_young_lease() -> None:
    """C comes two minutes after A's lease began and takes its GPUs; D finds one free; A pays for both."""
    found = {text: sorted(leases(result)) for text, result in parting().items()}
    assert found == {
        "the paper's text": [
            ("A", 0, 15), ("A", 15, 30), ("A", 35, 50), ("B", 0, 15), ("B", 15, 30), ("B", 35, 50),
            ("C", 30, 35), ("D", 30, 35),
        ],
        "the released program": [
            ("A", 0, 15), ("A", 15, 17), ("A", 27, 42), ("A", 42, 57), ("B", 0, 15), ("B", 15, 30), ("B", 30, 45),
            ("C", 17, 22), ("D", 22, 27),
        ],
    }  # fmt: skip


def test_the_example_mended_and_with_the_neighbour_skipped() -> None:
    """The new job, there at 15.5 min, waits until all leases end again at 30 min; or it takes over from B.

    B is behind A: its lease ends at 16 min, when the new job is there; C is behind A at 30 min.
    """
    mended, skipped = example(False), example(True)
    assert leases(mended) == [
        ("A", 0, 15), ("B", 0, 15), ("C", 0, 15), ("A", 15, 30), ("B", 15, 30), ("C", 15, 30),
        ("new", 30, 40), ("A", 30, 45), ("B", 30, 45), ("C", 40, 55),
    ]  # fmt: skip
    assert leases(skipped) == [
        ("A", 0, 15), ("B", 0, 16), ("C", 0, 15), ("A", 15, 30), ("C", 15, 31), ("new", 16, 26),
        ("B", 26, 41), ("A", 30, 45), ("C", 31, 46), ("B", 41, 55),
    ]  # fmt: skip
    assert lease_ends_together(mended) == pytest.approx((3 * 3 + 3 * 3 + 2 * 2 + 1) / 9)
    assert lease_ends_together(skipped) == pytest.approx((2 * 2 + 5 * 1 + 1) / 8)


def test_changes_and_the_walk_are_compared_within_each_seed() -> None:
    """Only runs of the release without overheads count; the difference is skipped minus mended."""
    table = pd.DataFrame({"variant": [WRITTEN, "b"] * 2, "seed": [0, 0, 1, 1], "jct": [10.0, 9.0, 100.0, 110.0]})
    assert changes(table, {"jct": "JCT"}).loc["b", "JCT"] == "+0.0 % (1 of 2)"
    assert changes(table.assign(jct=[0.0, 9.0, 100.0, 110.0]), {"jct": "JCT"}).loc["b", "JCT"] == "–"
    rows = [
        ("released, bug mended", False, False, "astraea-released", 0.3),
        ("released, bug mended", False, True, "astraea-released", 0.3),
        ("as released", False, False, "astraea-released", 0.2), ("as released", False, True, "astraea-released", 0.4),
        ("released, bug mended", True, False, "astraea-released", 0.9), (WRITTEN, False, False, "astraea", 0.9),
    ]  # fmt: skip
    ran = pd.DataFrame(rows, columns=["variant", "overheads", "minutes", "scheduler", "sharing_loss"]).assign(seed=0)
    alone = walked(ran)
    assert len(alone) == 4
    change = changed_loss(alone).set_index("times")["change"]
    assert change.to_dict() == {"in rounds": pytest.approx(-0.1), "whole minutes": pytest.approx(0.1)}


def test_whole_minutes_and_staggered() -> None:
    trace = two_tenants()
    minutes = whole_minutes(trace)
    assert minutes.submit_time.tolist() == [0.0, 3660.0, 3720.0]
    assert minutes.duration.tolist() == [7200.0, 120.0, 1800.0]
    assert minutes.digest != trace.digest and minutes.name != trace.name
    later = staggered(minutes, seed=3)
    moved = dict(zip(later.job_id, later.submit_time, strict=True))
    delay = np.array([moved[j] - s for j, s in zip(minutes.job_id, minutes.submit_time, strict=True)])
    assert ((delay >= 0) & (delay <= 50) & (delay % 10 == 0)).all() and delay.any()
    assert (np.diff(later.submit_time) >= 0).all()
    np.testing.assert_array_equal(later.tenant_weight, trace.tenant_weight)
    assert later.digest == staggered(minutes, seed=3).digest != staggered(minutes, seed=4).digest


def test_what_tenants_hold_and_ask_for() -> None:
    trace, cluster = two_tenants(), Cluster(1, 4)
    result = simulate(trace, cluster, "astraea", settings=NO_COST)
    assert held_at_submission(result).tolist() == [0, 2, 0]
    found, jobs = study_figures(result), job_figures(result)
    assert list(jobs) == ["tenant", "slowdown", "loses", "held"] and len(jobs) == 3
    assert found["sharing_loss"] == pytest.approx(jobs["loses"].mean())
    assert found["longest_wait"] >= found["first_wait"] >= 0
    loads = tenant_loads(trace, cluster).set_index("tenant")
    assert loads["quota"].tolist() == [2.0, 2.0]
    assert loads["load"].tolist() == pytest.approx([(2 * 7200 + 61) / (2 * 3661), 3600 / (2 * 3661)])


def test_job_groups_by_hand() -> None:
    rows = {
        "variant": ["x"] * 4 + ["y"] * 4, "seed": 0, "tenant": ["a", "a", "b", "b"] * 2, "held": [0, 2, 1, 9] * 2,
        "slowdown": [1.0, 2.0, 4.0, 1.0, 1.0, 1.0, 1.0, 1.0], "loses": [False, True, True, False] + [False] * 4,
    }  # fmt: skip
    loads = pd.DataFrame({"seed": 0, "tenant": ["a", "b"], "quota": [2.0, 10.0], "load": [1.5, 0.5]})
    among = job_groups(pd.DataFrame(rows), loads)
    found = {tuple(row[:3]): row[3:] for row in among.to_numpy().tolist()}
    assert found["x", "held", "below 20 %"] == pytest.approx([0.5, 0.75, 2.5, 0.5])
    assert found["x", "held", "100 % and more"] == pytest.approx([0.25, 0.25, 2.0, 1.0])
    assert found["x", "load", "below 100 %"] == pytest.approx([0.5, 0.75, 2.5, 0.5])
    assert all(row[1] == 0 for (variant, *_), row in found.items() if variant == "y")  # nobody waits
    shown = grouped(among, "load", ["x"])
    assert list(shown.columns) == ["jobs [%]", "excess [%]", "slowdown", "with sharing loss [%]"]
    assert shown.loc[("x", "below 100 %")].tolist() == [50.0, 75.0, 2.5, 50.0]


def test_synchrony_of_whole_minutes() -> None:
    trace, cluster = load_workload("venus", "small")
    together = synchrony(trace, cluster, most_jobs=400).set_index(["minutes", "skipped"])["together"].to_dict()
    assert together[True, False] > together[False, False]  # whole minutes put leases in step
    assert together[True, False] > together[True, True] >= 1  # and the skipped neighbour out of it


@pytest.mark.exhaustive
def test_staggering_does_what_the_skipped_neighbour_does(shared: Path) -> None:
    """On the authors' workload, whose times are whole minutes, either rule reduces losses, both little more."""
    trace = read_trace(shared / "reference" / "chrSLO.input.csv.gz", format="tiresias-csv", time_unit="s")
    assert not (trace.submit_time % 60).any() and not (trace.duration % 60).any()
    loss = {}
    for name, jobs in (("minutes", trace), ("staggered", staggered(trace))):
        for skipped in (False, True):
            settings = FLAWED if skipped else NO_COST
            rho = simulate(jobs, Cluster(140), "astraea-released", settings=settings).jobs["rho_job"]
            loss[name, skipped] = (rho < 0.95).mean()
    flaw = loss["minutes", False] - loss["minutes", True]
    assert flaw > 0.035
    assert loss["minutes", False] - loss["staggered", False] > 0.9 * flaw
    assert loss["staggered", False] - loss["staggered", True] < 0.3 * flaw


def test_dots_draw_means_and_seeds() -> None:
    frame = pd.DataFrame({"variant": ["a", "a", "b", "b"], "x": [1.0, 3.0, 5.0, 5.0], "y": [0.0, 1.0, 1.0, 1.0]})
    _, axes = charts.panels(columns=2)
    columns = {"x": ("X [%]", 100.0), "y": ("Y", 1.0)}
    dot_plot(frame, columns, "variant", axes, groups={"a": "first", "b": "second"}, reference="a", log=["x", "y"])
    assert [ax.get_xscale() for ax in axes] == ["log", "linear"]  # a value is 0
    drawn = [np.ravel(line.get_xdata()).tolist() for line in axes[0].lines]
    assert drawn[:2] == [[200.0, 200.0], [100.0, 300.0]]  # the reference, seeds
    assert [x for x in drawn[2:] if x] == [[200.0], [500.0, 500.0], [500.0]]  # their mean, and the other variant
