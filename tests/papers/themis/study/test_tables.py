"""The tables and auctions of Themis at the smallest scale and by hand, and what a paper printed in their pictures."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from math import inf

import numpy as np
import pandas as pd
import pytest
from themis_small import app, workload

from astraea.core.errors import InputError
from astraea.core.result import Result
from astraea.experiments.cache import fill
from astraea.experiments.grid import run_grid
from astraea.experiments.run import Work
from papers.themis.apps import MODELS, Tuner
from papers.themis.auction import Outcome, auction
from papers.themis.metrics import rho_summary
from papers.themis.policies import POLICIES, get_policy
from papers.themis.policies.themis import bid, themis
from papers.themis.simulate import simulate
from papers.themis.study import auctions, tables
from papers.themis.study.auctions import PROPERTIES, random_offer
from papers.themis.study.cells import LATER, VARIANTS, bid_in_need, simulated
from papers.themis.study.pictures import knob_and_lease
from papers.themis.study.tables import app_table, cell_of, lies_table, properties_table, run_of, sweep_table
from papers.themis.workload import sample_workload

SMALL = tables.THEMIS_SCALES["small"]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of these tests alone, with what `make figures` computes beforehand."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("astraea.experiments.cache.CACHE", tmp_path_factory.mktemp("cache"))
        fill(tables.themis_grid("", "small").runs)
        yield


def test_summary_of_two_apps_by_hand() -> None:
    """Every figure, from distinct numbers."""
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


def test_nothing_is_computed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables read only what `make figures` computes beforehand; equal cells of different tables are one run."""
    runs = tables.themis_grid("", "small").runs
    assert len({run.key for run in runs}) < 0.7 * len(runs)

    def refuse(missing: Mapping[str, Work]) -> Generator[None]:
        assert not missing, "a table computed something"
        yield from ()

    monkeypatch.setattr("astraea.experiments.cache._outcomes", refuse)
    for name in tables.SWEEPS:
        assert len(sweep_table(name, "small")) == len(tables.sweep_grid(name, "small").runs)
    for table in (app_table, lies_table, properties_table):
        assert not table("small").empty
    [run] = run_grid([run_of(cell_of(SMALL))])
    assert len(run.grants) > SMALL.apps
    with pytest.raises(InputError, match="scale must be one of small, paper, got 'huge'"):
        app_table("huge")


def test_comparison() -> None:
    """One row per run, one per app of it, nothing missing, the same apps for all, and both tables say the same."""
    runs, apps = sweep_table("comparison", "small"), app_table("small")
    points = [[scheduler, trial] for scheduler in POLICIES for trial in range(SMALL.trials)]
    assert runs[["scheduler", "trial"]].to_numpy().tolist() == points
    assert list(apps) == ["scheduler", "trial", *tables.APP_COLUMNS]
    assert len(apps) == len(runs) * SMALL.apps and not runs.isna().any(axis=None) and not apps.isna().any(axis=None)
    kinds = apps[["trial", "job_id", "model", "gang", "exploration"]].drop_duplicates()
    assert kinds.groupby("trial").size().tolist() == [SMALL.apps] * SMALL.trials
    worst = apps.groupby(["scheduler", "trial"], sort=False)["finish_time_fairness"].max()
    assert worst.tolist() == runs["max_rho"].tolist()
    row = runs[(runs["scheduler"] == "slaq") & (runs["trial"] == 1)].drop(columns=["scheduler", "trial"])
    assert [rho_summary(simulated(cell_of(SMALL, scheduler="slaq", trial=1)))] == row.to_dict("records")


def test_the_usual_point_is_the_same_in_every_table() -> None:
    """In every variation, the run in the middle is the one of the comparison, to the last bit."""
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
    assert cell_of(SMALL, scheduler="themis-one-bidder") == cell_of(SMALL, f=1.0)


def test_lies() -> None:
    """Every mechanism, knob, factor and liar; the liars lie apart in the order of arrival.

    A row is what two runs say. With f = 0 only ratios of an app's own values count; where rho is believed, a lie is of
    use.
    """
    lies = lies_table("small")
    assert len(lies) == (1 + len(SMALL.few_fs)) * len(SMALL.factors) * SMALL.liars
    assert (lies["f"].isna() == (lies["mechanism"] == "strawman")).all()
    assert lies["app"].unique().tolist() == ["app-2", "app-7"]
    truth, lied = (simulated(cell).jobs["jct"] for cell in (cell_of(SMALL), cell_of(SMALL, liar=7, factor=3.0)))
    row = lies[(lies["f"] == 0.8) & (lies["app"] == "app-7")].iloc[0]
    assert row["jct"] == lied[7] / truth[7] != 1
    assert row["others"] == pytest.approx(lied.drop(7).mean() / truth.drop(7).mean(), rel=1e-12)
    assert (lies.loc[lies["f"] == 0, ["jct", "others"]] == 1).all(axis=None)
    assert (lies.loc[lies["mechanism"] == "strawman", "jct"] < 1).any()


def test_the_auction_keeps_its_promises() -> None:
    """No counter-example to its promises, and some to other properties."""
    table = properties_table("small")
    assert table["property"].tolist() == list(PROPERTIES)
    assert (table["instances"] == SMALL.instances).all()
    assert (table["violations"] > 0).tolist() == [False, False, False, True, True]
    # a seed is an auction in any chunk
    pd.testing.assert_frame_equal(auctions.failures(0, 8)[5:8].reset_index(drop=True), auctions.failures(5, 8))


def test_brute_force_notices_what_is_not_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """An auction that gives nothing is detected wherever something could be won."""
    cases = [auctions.random_case(seed) for seed in range(60)]
    best = [bool(auction(*case).row.any()) for case in cases]
    nothing = lambda bids, _: Outcome(np.zeros(len(bids), np.int64), np.ones(len(bids)))  # noqa: E731
    monkeypatch.setattr(auctions, "auction", nothing)
    assert [auctions.is_maximal(case) for case in cases] == [not won for won in best] and 0 < sum(best) < len(best)


def test_parts_of_a_prize_are_worth_what_the_app_says() -> None:
    """Whole parts are rows of the bid, others lie between; what is on one machine is kept first."""
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
                    got = auctions.expected_value(arbiter, agents[0], row, (n + part) / gangs)
                    assert got == pytest.approx((1 - part) * worth[n] + part * worth[n + 1])


def test_the_example_by_hand() -> None:
    """Twelve gang-epochs of 2 min, of which each app could have run one at a time with a third of the cluster.

    One row is won by each, and the two that suffer from being spread are not. Each pays.
    """
    table = auctions.example_table()
    rho = table.set_index(["app", "local", "spread"])["rho"]
    alone, waited, lease = 12 * 120, 600, 900
    first, second = 8 * 120, 4 * 120  # of both jobs, of the better one
    for name, slowdown in (("vgg16", 2.0), ("resnet50", 1.25), ("inception-v3", 1.0)):
        assert rho[name, 0, 0] == pytest.approx((waited + lease + alone) / alone)
        assert rho[name, 1, 0] == pytest.approx((waited + alone) / alone)
        assert rho[name, 0, 1] == pytest.approx((waited + slowdown * alone) / alone)
        assert rho[name, 2, 0] == pytest.approx((waited + first / 2 + second) / alone)
        assert rho[name, 1, 1] == pytest.approx((waited + first / (1 + 1 / slowdown) + second) / alone)
    won = table[table["won"]].set_index("app")
    assert won.index.tolist() == list(MODELS)
    assert won["local"].tolist() == [1, 1, 0] and won["spread"].tolist() == [0, 0, 1]
    assert table["kept"].notna().tolist() == table["won"].tolist()
    assert (won["kept"] < 0.8).all()


def test_only_who_has_nothing_is_in_need() -> None:
    """Only the value of nothing changes, to 10 T_isolated later; an app that holds a gang bids as before."""
    arbiter, agents = random_offer(3)
    for agent in agents:
        (plain, _), (needy, _) = bid(arbiter, agent), bid_in_need(arbiter, agent)
        assert 1 / needy.value[0] == pytest.approx(1 / plain.value[0] + LATER)
        assert (needy.value[1:] == plain.value[1:]).all() and (needy.use == plain.use).all()
    assert arbiter.give(agents[0])
    assert (bid(arbiter, agents[0])[0].value == bid_in_need(arbiter, agents[0])[0].value).all()


def test_losers_get_what_is_left() -> None:
    """If every app bids, none is outside of the auction; GPUs then stay free, otherwise they do not."""
    free = []
    for decide in (themis, VARIANTS["leftovers for losers too"]):
        free.append(0)
        for seed in range(20):
            arbiter, _ = random_offer(seed)
            decide(arbiter, f=0.0)
            free[-1] += len(arbiter.in_need())
    assert free[0] > free[1] == 0


def test_losses_of_jobs_and_what_they_foretell() -> None:
    """Every epoch is a row: of four jobs two end after 2 epochs, the second best after 4, the best at its own end."""
    losses = [1.0 + j - 0.01 * np.arange(n) for j, n in enumerate((9, 20, 20, 20))]
    table = tables.loss_table(app("a", losses, tuner=Tuner(first=2, longest=20)))
    assert table.groupby("job")["epoch"].max().to_dict() == {0: 9, 1: 4, 2: 2, 3: 2}
    assert table.groupby("job")["rung"].first().to_dict() == {0: 3, 1: 2, 2: 1, 3: 1}
    assert table.loc[(table["job"] == 0) & (table["epoch"] == 3), "loss"].item() == pytest.approx(0.98)
    # only jobs that train longer are foreseen
    trace = sample_workload(15, seed=3)
    table = tables.foresight(trace)
    assert table["median"].is_monotonic_decreasing and (table["worst_tenth"] > table["median"]).all()
    assert list(table["jobs"]) == [sum(len(loss) > n for a in trace.apps for loss in a.loss) for n in table["epochs"]]


def test_what_is_held_adds_up_to_the_gpu_time() -> None:
    """The area below both steps is the app's GPU-time, in all and on one machine."""
    trace = workload([app("a", [12] * 3, gang=4, tuner=Tuner(first=2, longest=20))], 4, 2, 2)
    result = simulate(trace, get_policy("tiresias"))
    held = tables.held_table(trace, result, "a")
    area = {kind: np.dot(part["held"].iloc[:-1], np.diff(part["time"])).item() for kind, part in held.groupby("kind")}
    service = result.grants["demand"] * (result.grants["end"] - result.grants["start"])
    is_local = result.grants["is_local"]
    assert area == pytest.approx({"in all": service.sum(), "on one machine": service[is_local].sum()})
    assert 0 < area["on one machine"] < area["in all"]
    assert held["time"].iloc[0] == 0
    assert (held.groupby("kind")["held"].last() == 0).all()


def test_groups_of_apps_by_hand() -> None:
    """Late or lacking: one app of each kind, and the two bounds themselves, which are neither.

    By placement: a score of exactly 0.75 belongs to the group above, a perfect one to its own.
    """
    rows = {
        "finish_time_fairness": [1.0, 1.2, 1.0, 1.2, 1 / 0.95],
        "rho_job": [1.0, 1.0, 0.9, 0.9, 0.95],
        "placement": [0.95, 0.5, 0.75, 1.0, 1.0 - 1e-12],
    }
    apps = pd.DataFrame({"scheduler": "x", **rows})
    cases = tables.quadrants(apps)
    assert list(cases.columns) == list(tables.CASES)
    assert cases.loc["x"].tolist() == pytest.approx([0.4, 0.2, 0.2, 0.2])
    placed = tables.by_placement(apps).set_index("placement")
    assert list(placed.index) == ["below 0.75", "0.75 to 0.9", "0.9 to 1", "1"]
    assert list(placed["apps"]) == [1, 1, 1, 2]
    assert list(placed["late"]) == [1, 0, 0, 0.5]
    assert placed.loc["1", "rho_job"] == pytest.approx((0.9 + 0.95) / 2)


def test_published_values_of_fig_19_and_leases_that_end() -> None:
    """Lines at the paper's two numbers; leases without end have no place on the axis."""
    knob = pd.DataFrame({"f": [0.0, 0.8], "max_rho": [2.0, 1.3], "relative_gpu_time": [1.0, 1.1]})
    lease = pd.concat([knob.assign(scheduler=name, lease_term=[900.0, inf]) for name in ("themis", "strawman")])
    axes = knob_and_lease(knob, lease, 1.2, 0.8).axes
    lines = [{line.get_label(): line for line in ax.lines} for ax in axes]
    assert [list(lines[k]["paper: 1.2"].get_ydata()) for k in (0, 2)] == [[1.2, 1.2]] * 2
    assert [list(lines[k]["paper: f = 0.8"].get_xdata()) for k in (0, 1)] == [[0.8, 0.8]] * 2
    assert list(lines[2]["Themis"].get_ydata()) == [2.0]
