"""The tables of Themis at the smallest scale: shapes, and what must be exactly so."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import inf
from typing import Any

import pandas as pd
import pytest

from astraea.core import source
from astraea.core.errors import InputError
from astraea.core.result import Result
from astraea.experiments import keys
from astraea.experiments.cache import fill
from astraea.experiments.grid import run_grid
from astraea.plots.style import LOOKS, WORDS
from papers.themis.metrics import rho_summary
from papers.themis.policies import POLICIES
from papers.themis.policies.themis import bids, themis
from papers.themis.study.auctions import PROPERTIES, random_offer
from papers.themis.study.cells import LATER, VARIANTS, bids_in_need, simulated
from papers.themis.study.runs import APP_COLUMNS, run_of
from papers.themis.study.tables import (
    SWEEPS,
    THEMIS_SCALES,
    app_table,
    cell_of,
    lies_table,
    properties_table,
    sweep_grid,
    sweep_table,
    themis_grid,
)

SMALL = THEMIS_SCALES["small"]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of these tests alone, with what `make figures` computes beforehand."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("astraea.experiments.cache.CACHE", tmp_path_factory.mktemp("cache"))
        fill(themis_grid("", "small").runs)
        yield


def test_summary_of_two_apps_by_hand() -> None:
    """Every figure, from numbers that tell them apart."""
    columns = {
        "finish_time_fairness": [1.0, 1.5], "attained_service": [3600.0, 10800.0], "work": [3600.0, 5400.0],
        "placement": [1.0, 0.5], "jct": [100.0, 300.0], "rho_job": [0.9, 0.96], "end_time": [100.0, 700.0],
    }  # fmt: skip
    found = rho_summary(Result(pd.DataFrame(columns), pd.DataFrame(), pd.DataFrame(), {}))
    assert found == pytest.approx(
        {
            "max_rho": 1.5, "mean_rho": 1.25, "jain": 6.25 / (2 * 3.25), "gpu_time": 4.0,
            "relative_gpu_time": 1.6, "placement": 0.625, "average_jct": 200.0, "late_apps": 0.5,
            "sharing_loss": 0.5, "makespan": 700.0,
        }
    )  # fmt: skip
    for rho, late in ((1 / 0.95, 0.0), (1.0527, 1.0)):  # the bound itself is not late
        frame = pd.DataFrame({**columns, "finish_time_fairness": [rho] * 2})
        assert rho_summary(Result(frame, pd.DataFrame(), pd.DataFrame(), {}))["late_apps"] == late


def test_scales() -> None:
    """Every scale has the usual point on each axis, and as many liars as it has room for; others are refused."""
    for size in THEMIS_SCALES.values():
        assert {1.0} <= set(size.contentions) and {0.8} <= set(size.fs) and {900.0} <= set(size.leases)
        assert {0.0} <= set(size.errors) and set(size.few_fs) <= set(size.fs)
        assert 0 < size.liars <= size.lying_apps <= size.apps and 1.0 not in size.factors
    assert THEMIS_SCALES["paper"].leases[-1] == inf
    for table in (lambda scale: sweep_table("knob", scale), app_table, lies_table, properties_table):
        with pytest.raises(InputError, match="scale must be one of small, paper, full, got 'huge'"):
            table("huge")


def test_nothing_is_computed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `make figures` computes beforehand is all that is read; equal cells of different tables are one run."""
    runs = themis_grid("", "small").runs
    assert len({run.key for run in runs}) < 0.7 * len(runs)

    def compute(*_: Any) -> None:
        raise AssertionError("a table computed something")

    monkeypatch.setattr("astraea.experiments.cache._compute", lambda missing, *_: compute() if missing else None)
    for name in SWEEPS:
        assert len(sweep_table(name, "small")) == len(sweep_grid(name, "small").runs)
    for table in (app_table, lies_table, properties_table):
        assert not table("small").empty
    [run] = run_grid([run_of(cell_of(SMALL))])
    assert len(run.grants) > SMALL.apps


def test_an_edit_of_tables_leaves_runs_as_they_are() -> None:
    """The key of a run depends on the code that decides it: Themis, its variants and cells, no table or scale."""
    files = keys.reached(run_of(cell_of(SMALL)).function).files
    folders = {"/".join(path.relative_to(source.ROOT).parts[:2]) for path in files}
    assert folders == {"astraea/core", "astraea/experiments", "papers/themis"}
    names = {path.name for path in files if {"study", "experiments"} & {*path.parts}}
    assert names == {"cells.py", "kept.py"}


def test_names_of_points_of_themis() -> None:
    """They are the same runs under another name, and no run says so."""
    assert cell_of(SMALL, scheduler="themis-one-bidder") == cell_of(SMALL, f=1.0)
    assert cell_of(SMALL, variant="as it is", f=0.4, trial=1) == cell_of(SMALL, f=0.4, trial=1)


def test_comparison() -> None:
    """One row per run, one per app of it, nothing missing, the same apps for all, and both tables say the same."""
    runs, apps = sweep_table("comparison", "small"), app_table("small")
    assert [*runs[["scheduler", "trial"]].itertuples(index=False, name=None)] == list(
        product(POLICIES, range(SMALL.trials))
    )
    assert list(apps) == ["scheduler", "trial", *APP_COLUMNS]
    assert len(apps) == len(runs) * SMALL.apps and not runs.isna().any(axis=None) and not apps.isna().any(axis=None)
    kinds = apps[["trial", "job_id", "model", "gang", "exploration"]].drop_duplicates()
    assert kinds.groupby("trial").size().tolist() == [SMALL.apps] * SMALL.trials
    by_run = apps.groupby(["scheduler", "trial"], sort=False)
    assert by_run["finish_time_fairness"].max().tolist() == runs["max_rho"].tolist()
    assert by_run["jct"].mean().tolist() == pytest.approx(runs["average_jct"].tolist())
    assert by_run["rho_job"].apply(lambda x: (x < 0.95).mean()).tolist() == runs["sharing_loss"].tolist()
    row = runs[(runs["scheduler"] == "slaq") & (runs["trial"] == 1)].drop(columns=["scheduler", "trial"])
    assert [rho_summary(simulated(cell_of(SMALL, scheduler="slaq", trial=1)))] == row.to_dict("records")


def test_the_usual_point_is_the_same_in_every_table() -> None:
    """Whatever is varied, the run in the middle is that of the comparison, to the last bit."""
    runs = sweep_table("comparison", "small").set_index(["scheduler", "trial"])
    variants = sweep_table("variants", "small")
    usual = variants[(variants["variant"] == "as it is") & (variants["contention"] == 1.0)]
    parts = {
        "f": (sweep_table("knob", "small").assign(scheduler="themis"), 0.8, SMALL.fs),
        "lease_term": (sweep_table("lease", "small"), 900.0, SMALL.leases),
        "contention": (sweep_table("contention", "small"), 1.0, SMALL.contentions),
        "error": (sweep_table("error", "small"), 0.0, SMALL.errors),
        "few f": (usual.rename(columns={"f": "few f"}).assign(scheduler="themis"), 0.8, SMALL.few_fs),
    }
    for varied, (table, middle, values) in parts.items():
        assert set(table[varied]) == set(values) and not table.isna().any(axis=None), varied
        mine = table[table[varied] == middle].set_index(["scheduler", "trial"])
        mine = mine.drop(index="themis-one-bidder", level=0, errors="ignore")
        figures = [name for name in runs if name in mine]
        pd.testing.assert_frame_equal(mine[figures], runs.loc[mine.index, figures], check_exact=True)
        assert varied == "error" or table.groupby(["scheduler", "trial"])["max_rho"].nunique().max() > 1, varied
    wide = variants.pivot_table(index=["contention", "f"], columns="variant", values="max_rho")
    assert all((wide["as it is"] != wide[name]).any() for name in VARIANTS)


def test_figures_have_a_name_and_schedulers_a_look() -> None:
    """Everything measured is worded, and no two schedulers look alike in print."""
    measured = {*sweep_table("comparison", "small"), *app_table("small"), "f", "error", "factor"}
    assert measured - {"trial", "job_id", "model", "gang", "queueing_delay"} <= set(WORDS)
    looks = [LOOKS[name] for name in POLICIES]
    for kind in ("label", "color", "marker", "hatch"):
        assert len({getattr(look, kind) for look in looks}) == len(looks), kind
    assert len({(str(look.line), look.width) for look in looks}) == len(looks)


def test_lies() -> None:
    """Every mechanism, knob, factor and liar; the liars lie apart in the order of arrival.

    A row is what two runs say. With f = 0 only ratios of an app's own values count; where rho is believed, a lie is of
    use.
    """
    lies = lies_table("small")
    assert list(lies) == ["mechanism", "f", "factor", "app", "jct", "others"]
    assert len(lies) == (1 + len(SMALL.few_fs)) * len(SMALL.factors) * SMALL.liars
    assert (lies["f"].isna() == (lies["mechanism"] == "strawman")).all()
    assert lies["f"].dropna().drop_duplicates().tolist() == list(SMALL.few_fs)
    assert lies["app"].unique().tolist() == ["app-2", "app-7"]
    truth, lied = (simulated(cell).jobs["jct"] for cell in (cell_of(SMALL), cell_of(SMALL, liar=7, factor=3.0)))
    row = lies[(lies["f"] == 0.8) & (lies["app"] == "app-7")].iloc[0]
    assert row["jct"] == lied[7] / truth[7] != 1
    assert row["others"] == pytest.approx(lied.drop(7).mean() / truth.drop(7).mean(), rel=1e-12)
    assert (lies.loc[lies["f"] == 0, ["jct", "others"]] == 1).all(axis=None)
    assert (lies.loc[lies["mechanism"] == "strawman", "jct"] < 1).any()


def test_properties() -> None:
    """One row for each property of the auction, with all auctions tried; the promised ones never fail."""
    table = properties_table("small")
    assert table["property"].tolist() == list(PROPERTIES)
    assert (table["instances"] == SMALL.instances).all()
    assert (table["violations"] > 0).tolist() == [False, False, False, True, True]


def test_only_who_has_nothing_is_in_need() -> None:
    """Then nothing is 10 T_isolated later, and all else as it is; whoever holds a gang bids as ever."""
    arbiter, agents = random_offer(3)
    for agent in agents:
        plain, needy = bids(arbiter, [agent]), bids_in_need(arbiter, [agent])
        assert 1 / needy.value[0] == pytest.approx(1 / plain.value[0] + LATER)
        assert (needy.value[1:] == plain.value[1:]).all() and (needy.use == plain.use).all()
    assert arbiter.give(agents[0])
    assert (bids(arbiter, agents[:1]).value == bids_in_need(arbiter, agents[:1]).value).all()


def test_losers_get_what_is_left() -> None:
    """With everybody bidding, nobody is outside of the auction: as it is GPUs stay free, else they do not."""
    free = []
    for decide in (themis, VARIANTS["leftovers for losers too"]):
        free.append(0)
        for seed in range(20):
            arbiter, _ = random_offer(seed)
            decide(arbiter, f=0.0)
            free[-1] += len(arbiter.in_need())
    assert free[0] > free[1] == 0
