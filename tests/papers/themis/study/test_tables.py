"""The tables of Themis at the smallest scale: shapes, and what must be exactly so."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from astraea.core import source
from astraea.core.errors import InputError
from astraea.core.result import Result
from astraea.experiments import keys
from astraea.experiments.cache import fill
from astraea.experiments.grid import run_grid
from astraea.experiments.parallel import computing
from astraea.plots.style import LOOKS, WORDS
from papers.themis.apps import MODELS
from papers.themis.auction import Outcome, auction, auction_of_joined
from papers.themis.metrics import rho_summary
from papers.themis.policies import POLICIES
from papers.themis.policies.themis import bids, themis
from papers.themis.study import auctions
from papers.themis.study.auctions import (
    PROPERTIES,
    bid,
    example_table,
    expected_value,
    failures,
    gain_in_gangs,
    gains,
    is_maximal,
    misreports,
    random_case,
    random_offer,
)
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
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of these tests alone."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("astraea.experiments.cache.CACHE", folder)
        yield folder


@pytest.fixture(scope="module")
def comparison() -> tuple[pd.DataFrame, pd.DataFrame]:
    return (sweep_table("comparison", "small"), app_table("small"))


@pytest.fixture(scope="module")
def properties() -> pd.DataFrame:
    return properties_table("small")


@pytest.fixture(scope="module")
def lies() -> pd.DataFrame:
    return lies_table("small")


class TestSummary:
    def test_of_two_apps_by_hand(self) -> None:
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

    def test_late_is_beyond_what_gpu_time_may_lack(self) -> None:
        """The bound is 1 / 0.95 and not late itself; equal ratios have Jain's index 1."""
        columns = dict.fromkeys(("attained_service", "work", "placement", "jct", "rho_job", "end_time"), [1.0] * 3)
        for rho, late in ((1 / 0.95, 0.0), (1.0527, 1.0)):
            frame = pd.DataFrame({**columns, "finish_time_fairness": [rho] * 3})
            found = rho_summary(Result(frame, pd.DataFrame(), pd.DataFrame(), {}))
            assert found["late_apps"] == late and found["jain"] == pytest.approx(1)


class TestScales:
    def test_what_is_asked_for_is_there(self) -> None:
        """Every scale has the usual point on each axis, and as many liars as it has room for."""
        for size in THEMIS_SCALES.values():
            assert {1.0} <= set(size.contentions) and {0.8} <= set(size.fs) and {900.0} <= set(size.leases)
            assert {0.0} <= set(size.errors) and set(size.few_fs) <= set(size.fs)
            assert 0 < size.liars <= size.lying_apps <= size.apps and 1.0 not in size.factors
        assert THEMIS_SCALES["paper"].leases[-1] == inf and sum(SMALL.machines) == 44

    @pytest.mark.parametrize(
        "function",
        [*(partial(sweep_table, name) for name in SWEEPS), app_table, lies_table, properties_table],
    )  # fmt: skip
    def test_a_scale_that_does_not_exist(self, function: Any) -> None:
        """It is refused before anything is computed."""
        with pytest.raises(InputError, match="scale must be one of small, paper, full, got 'huge'"):
            function(scale="huge")


class TestComparison:
    def test_all_schedulers_and_apps_are_there(self, comparison: tuple[pd.DataFrame, pd.DataFrame]) -> None:
        """One row per run, one per app of it, nothing missing, and all the same apps."""
        runs, apps = comparison
        assert [*runs[["scheduler", "trial"]].itertuples(index=False, name=None)] == list(
            product(POLICIES, range(SMALL.trials))
        )
        assert list(apps) == ["scheduler", "trial", *APP_COLUMNS]
        assert len(apps) == len(runs) * SMALL.apps and not runs.isna().any(axis=None) and not apps.isna().any(axis=None)
        kinds = apps[["trial", "job_id", "model", "gang", "exploration"]].drop_duplicates()
        assert kinds.groupby("trial").size().tolist() == [SMALL.apps] * SMALL.trials

    def test_numbers_are_possible(self, comparison: tuple[pd.DataFrame, pd.DataFrame]) -> None:
        """Parts are parts, no run takes less than its work, and the largest is not below the mean."""
        runs, apps = comparison
        assert runs[["jain", "placement"]].gt(0).all(axis=None) and runs[["jain", "placement"]].le(1).all(axis=None)
        assert (runs["late_apps"].between(0, 1) & runs["sharing_loss"].between(0, 1)).all()
        assert (runs["relative_gpu_time"] >= 1).all() and (runs["max_rho"] >= runs["mean_rho"]).all()
        assert (apps["queueing_delay"] < apps["jct"]).all() and apps["placement"].le(1).all()
        assert (apps.loc[apps["model"] == "inception-v3", "placement"] == 1).all()
        assert (apps.loc[apps["model"] == "vgg16", "placement"] < 1).any()

    def test_the_apps_are_those_of_the_runs(self, comparison: tuple[pd.DataFrame, pd.DataFrame]) -> None:
        """Both tables say the same of each run."""
        runs, apps = comparison
        by_run = apps.groupby(["scheduler", "trial"], sort=False)
        assert by_run["finish_time_fairness"].max().tolist() == runs["max_rho"].tolist()
        assert by_run["jct"].mean().tolist() == pytest.approx(runs["average_jct"].tolist())
        assert by_run["rho_job"].apply(lambda x: (x < 0.95).mean()).tolist() == runs["sharing_loss"].tolist()

    def test_the_usual_point_is_the_same_in_every_table(self, comparison: tuple[pd.DataFrame, pd.DataFrame]) -> None:
        """Whatever is varied, the run in the middle is that of the comparison, to the last bit."""
        runs = comparison[0].set_index(["scheduler", "trial"])
        parts = {
            "f": (sweep_table("knob", "small").assign(scheduler="themis"), 0.8),
            "lease_term": (sweep_table("lease", "small"), 900.0),
            "contention": (sweep_table("contention", "small"), 1.0),
            "error": (sweep_table("error", "small"), 0.0),
        }
        sizes = {"f": SMALL.fs, "lease_term": SMALL.leases, "contention": SMALL.contentions, "error": SMALL.errors}
        schedulers = {"f": 1, "lease_term": 3, "contention": 8, "error": 2}
        for varied, (table, usual) in parts.items():
            trials = SMALL.contention_trials if varied == "contention" else SMALL.trials
            assert len(table) == schedulers[varied] * len(sizes[varied]) * trials, varied
            assert set(table[varied]) == set(sizes[varied]) and not table.isna().any(axis=None)
            mine = table[table[varied] == usual].set_index(["scheduler", "trial"]).drop(columns=varied)
            assert len(mine) == schedulers[varied] * trials
            mine = mine.drop(index="themis-one-bidder", level=0, errors="ignore")
            pd.testing.assert_frame_equal(mine, runs.loc[mine.index, list(mine)], check_exact=True)
            for _, other in table.groupby("scheduler"):  # and it matters
                assert other.groupby("trial")["max_rho"].nunique().max() > 1 or varied == "error"

    def test_figures_have_a_name_and_schedulers_a_look(self, comparison: tuple[pd.DataFrame, pd.DataFrame]) -> None:
        """Everything measured is worded, and no two schedulers look alike in print."""
        measured = {*comparison[0], *comparison[1], "f", "error", "factor"} - {"trial", "job_id", "model", "gang"}
        assert measured - {"queueing_delay"} <= set(WORDS)
        looks = [LOOKS[name] for name in POLICIES]
        for kind in ("label", "color", "marker", "hatch"):
            assert len({getattr(look, kind) for look in looks}) == len(looks), kind
        assert len({(str(look.line), look.width) for look in looks}) == len(looks)


def test_numbers_do_not_depend_on_the_processes(lies: pd.DataFrame, tmp_path: Path) -> None:
    with computing(jobs=2), pytest.MonkeyPatch.context() as patch:
        patch.setattr("astraea.experiments.cache.CACHE", tmp_path)
        pd.testing.assert_frame_equal(lies_table(scale="small"), lies, check_exact=True)


class TestLies:
    def test_every_lie_is_there(self, lies: pd.DataFrame) -> None:
        """Every mechanism, knob, factor and liar; the liars lie apart in the order of arrival."""
        assert list(lies) == ["mechanism", "f", "factor", "app", "jct", "others"]
        assert len(lies) == (1 + len(SMALL.few_fs)) * len(SMALL.factors) * SMALL.liars
        assert (lies["f"].isna() == (lies["mechanism"] == "strawman")).all()
        assert lies["f"].dropna().drop_duplicates().tolist() == list(SMALL.few_fs)
        assert lies["app"].unique().tolist() == ["app-2", "app-7"]

    def test_a_row_is_what_two_runs_say(self, lies: pd.DataFrame) -> None:
        """Completion times of the liar and of the others, against the run without the lie."""
        cells = (cell_of(SMALL), cell_of(SMALL, liar=7, factor=3.0))
        truth, lied = (simulated(cell).jobs["jct"] for cell in cells)
        row = lies[(lies["f"] == 0.8) & (lies["app"] == "app-7")].iloc[0]
        assert row["jct"] == lied[7] / truth[7] != 1
        assert row["others"] == pytest.approx(lied.drop(7).mean() / truth.drop(7).mean(), rel=1e-12)

    def test_where_all_bid_a_factor_is_no_lie(self, lies: pd.DataFrame) -> None:
        """With f = 0 only ratios of an app's own values count; where rho is believed, a lie is of use."""
        assert (lies.loc[lies["f"] == 0, ["jct", "others"]] == 1).all(axis=None)
        assert (lies.loc[lies["mechanism"] == "strawman", "jct"] < 1).any()


class TestProperties:
    def test_the_auction_keeps_its_promises(self, properties: pd.DataFrame) -> None:
        """No counter-example to what it promises, and some to what it does not."""
        assert properties["property"].tolist() == list(PROPERTIES)
        assert (properties["instances"] == SMALL.instances).all()
        assert properties["violations"].tolist()[:3] == [0, 0, 0]
        assert properties["violations"][3:].between(1, SMALL.instances - 1).all()

    def test_they_are_counted(self, properties: pd.DataFrame) -> None:
        """Instance by instance; a lie that pays without payments does not with them, one in whole gangs may."""
        found = [gains(random_case(seed), seed) for seed in range(SMALL.instances)]
        assert max(paying for paying, _ in found) <= 1e-9
        assert sum(free > 1e-9 for _, free in found) == properties["violations"][3]
        in_gangs = [gain_in_gangs(seed) for seed in range(SMALL.instances)]
        assert sum(gain > 0.01 for gain in in_gangs) == properties["violations"][4] and min(in_gangs) >= 0

    def test_brute_force_notices_what_is_not_best(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An auction that gives nothing to anybody is found out wherever something could be won."""
        cases = [random_case(seed) for seed in range(60)]
        best = [bool(auction(case.bids, case.room).row.any()) for case in cases]
        monkeypatch.setattr(
            auctions, "auction", lambda bids, _: Outcome(np.zeros(len(bids), np.int64), np.ones(len(bids)))
        )
        assert [is_maximal(case) for case in cases] == [not won for won in best] and 0 < sum(best) < len(best)

    def test_the_search_finds_lies_in_an_auction_that_charges_less(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With half of the payments, truth is no best response any more."""

        def cheaper(*call: Any) -> Outcome:
            out = auction_of_joined(*call)
            return Outcome(out.row, np.sqrt(out.kept))

        monkeypatch.setattr(auctions, "auction_of_joined", cheaper)
        assert any(gains(random_case(seed), seed)[0] > 1e-3 for seed in range(60))

    def test_misreports_are_lies(self) -> None:
        """Values that an auction accepts, of the same shape, and none of them the truth."""
        value = np.array([1.0, 2.0, 5.0, 3.0])
        for lie in misreports(value, 0):
            assert lie.shape == value.shape and (lie > 0).all() and np.isfinite(lie).all()
        same = [np.array_equal(lie, value) for lie in misreports(value, 0)]
        assert sum(same) <= 1 < len(same)  # an order may be the true one

    def test_parts_of_a_prize_are_worth_what_the_app_says(self) -> None:
        """Whole parts are rows of the bid, others lie between; what is on one machine is kept first."""
        tried = 0
        for seed in range(20):
            arbiter, agents = random_offer(seed)
            table, rows = bid(arbiter, agents[0])
            known = {tuple(row): value for row, value in zip(rows.tolist(), table.value, strict=True)}
            for row in rows:
                gangs = int(row.sum())
                kept = [min(n, row[0]) for n in range(gangs + 1)]
                worth = [known[local, n - local] for n, local in enumerate(kept)]
                for n in range(gangs):
                    for part in (0.0, 0.25, 1.0):
                        got = expected_value(arbiter, agents[0], row, (n + part) / gangs)
                        assert got == pytest.approx((1 - part) * worth[n] + part * worth[n + 1])
                        tried += 1
        assert tried > 100


class TestExample:
    def test_those_who_mind_get_the_machines_that_hold_them(self) -> None:
        """One row is won by each; the two that suffer from being spread are not."""
        table = example_table()
        assert list(table) == ["app", "local", "spread", "rho", "won", "kept"]
        won = table[table["won"]].set_index("app")
        assert won.index.tolist() == list(MODELS)
        assert won["local"].tolist() == [1, 1, 0] and won["spread"].tolist() == [0, 0, 1]
        assert table["kept"].notna().tolist() == table["won"].tolist()

    def test_rho_by_hand(self) -> None:
        """Twelve gang-epochs of 2 min, of which each app could have run one at a time with a third of the cluster."""
        rho = example_table().set_index(["app", "local", "spread"])["rho"]
        alone, waited, lease = 12 * 120, 600, 900
        first, second = 8 * 120, 4 * 120  # of both jobs, of the better one
        for app, slowdown in (("vgg16", 2.0), ("resnet50", 1.25), ("inception-v3", 1.0)):
            assert rho[app, 0, 0] == pytest.approx((waited + lease + alone) / alone)
            assert rho[app, 1, 0] == pytest.approx((waited + alone) / alone)
            assert rho[app, 0, 1] == pytest.approx((waited + slowdown * alone) / alone)
            assert rho[app, 2, 0] == pytest.approx((waited + first / 2 + second) / alone)
            assert rho[app, 1, 1] == pytest.approx((waited + first / (1 + 1 / slowdown) + second) / alone)

    def test_payments_by_hand(self) -> None:
        """Each keeps what the others have with it over what they would have without it; all ways are tried."""
        table = example_table()
        rows = {app: table.loc[table["app"] == app, ["local", "spread", "rho"]].to_numpy() for app in MODELS}

        def best(apps: list[str]) -> float:
            ways = np.array(list(product(*(rows[app] for app in apps))))  # (ways, apps, columns)
            near, far, rho = ways.transpose(2, 0, 1)
            fits = (near.sum(axis=1) <= 2) & ((near + far).sum(axis=1) <= 3)
            return float(np.max(np.prod(1 / rho, axis=1)[fits]))

        won = table[table["won"]].set_index("app")
        assert np.prod(1 / won["rho"]) == pytest.approx(best(list(MODELS)))
        for app in MODELS:
            others = [other for other in MODELS if other != app]
            assert won["kept"][app] == pytest.approx(np.prod(1 / won["rho"][others]) / best(others))
            assert won["kept"][app] < 0.8


def test_a_cell_says_all(comparison: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """A run of a cell alone gives the row of the table."""
    found = rho_summary(simulated(cell_of(SMALL, scheduler="slaq", trial=1)))
    runs = comparison[0]
    row = runs[(runs["scheduler"] == "slaq") & (runs["trial"] == 1)].drop(columns=["scheduler", "trial"])
    assert [found] == row.to_dict("records")


class TestVariants:
    """Two rules changed one by one."""

    def test_as_it_is_is_themis(self) -> None:
        """The unchanged variant gives what Themis gives, to the last bit, and the others differ from it."""
        table = sweep_table("variants", "small")
        knob = sweep_table("knob", "small").set_index(["f", "trial"])
        usual = table[(table["variant"] == "as it is") & (table["contention"] == 1.0)]
        for row in usual[usual["f"].isin(SMALL.fs)].itertuples():
            assert row.max_rho == knob.loc[(row.f, row.trial), "max_rho"]
        assert len(table) == (1 + len(VARIANTS)) * 2 * len(SMALL.few_fs) * SMALL.contention_trials
        wide = table.pivot_table(index=["contention", "f"], columns="variant", values="max_rho")
        assert all((wide["as it is"] != wide[name]).any() for name in VARIANTS)

    def test_only_who_has_nothing_is_in_need(self) -> None:
        """Then nothing is 10 T_isolated later, and all else as it is; whoever holds a gang bids as ever."""
        arbiter, agents = random_offer(3)
        for agent in agents:
            plain, needy = bids(arbiter, [agent]), bids_in_need(arbiter, [agent])
            assert 1 / needy.value[0] == pytest.approx(1 / plain.value[0] + LATER)
            assert (needy.value[1:] == plain.value[1:]).all() and (needy.use == plain.use).all()
        assert arbiter.give(agents[0])
        assert (bids(arbiter, agents[:1]).value == bids_in_need(arbiter, agents[:1]).value).all()

    def test_losers_get_what_is_left(self) -> None:
        """With everybody bidding, nobody is outside of the auction: as it is GPUs stay free, else they do not."""
        free = {}
        for name, decide in (("as it is", themis), ("leftovers for losers too", VARIANTS["leftovers for losers too"])):
            total = 0
            for seed in range(20):
                arbiter, _ = random_offer(seed)
                decide(arbiter, f=0.0)
                total += sum(agent.app.gang <= arbiter.offered() for agent in arbiter.wanting())
            free[name] = total
        assert free["as it is"] > free["leftovers for losers too"] == 0


class TestGrid:
    """What `make figures` computes beforehand is all that the notebook reads."""

    def test_nothing_is_computed_twice(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Once the grid is filled, no table computes anything; equal cells of different tables are one run."""
        runs = themis_grid("", "small").runs
        fill(runs)
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

    def test_an_edit_of_tables_leaves_runs_as_they_are(self) -> None:
        """The key of a run depends on the code that decides it: Themis, its variants and cells, no table or scale."""
        files = keys.reached(run_of(cell_of(SMALL)).function).files
        folders = {"/".join(path.relative_to(source.ROOT).parts[:2]) for path in files}
        assert folders == {"astraea/core", "astraea/experiments", "papers/themis"}
        names = {path.name for path in files if {"study", "experiments"} & {*path.parts}}
        assert names == {"cells.py", "kept.py"}

    def test_names_of_points_of_themis(self) -> None:
        """They are the same runs under another name, and no run says so."""
        assert cell_of(SMALL, scheduler="themis-one-bidder") == cell_of(SMALL, f=1.0)
        assert cell_of(SMALL, variant="as it is", f=0.4, trial=1) == cell_of(SMALL, f=0.4, trial=1)

    def test_auctions_do_not_depend_on_the_chunks(self) -> None:
        """A seed is an auction."""
        parts = pd.concat([failures(0, 3), failures(3, 8)], ignore_index=True)
        pd.testing.assert_frame_equal(parts, failures(0, 8))
