"""The market's tables and pictures at the smallest scale: shapes and exact values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from astraea.experiments.cache import fill
from papers import charts
from papers.market.constraints import violations
from papers.market.metrics import revenue_fairness, total_revenue
from papers.market.model import SLOT
from papers.market.policies.astraea.batches import astraea_market
from papers.market.policies.astraea.capacity import feasible_theta
from papers.market.policies.fair import hived
from papers.market.study import choices, tables
from papers.market.study.example import price_steps, worked_example
from papers.market.study.exhibits import (
    exhibits_table,
    finished_early,
    paper_plan,
    properties_table,
    property_searches,
    two_jobs,
)
from papers.market.study.pictures import near_optimum, relative_revenue, running_time
from papers.market.study.properties import PROPERTIES, planned, random_market, reported
from papers.market.study.runs import LEMMA, SCHEDULERS
from papers.market.study.settings import fig4_readings, last_use, settings_table, table2
from papers.market.study.tables import MARKET_SCALES, TABLE2, market_grid, market_of, plans
from papers.market.study.use_pictures import makespans
from papers.market.workload import HERE as AS_HERE
from papers.market.workload import READINGS, SECTION

SMALL = MARKET_SCALES["small"]
FOUR = set(SCHEDULERS)
USUAL = market_of("philly", "small", 0, *SMALL.usual)
HERE: dict[str, Any] = {"scale": "small"}


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of these tests alone."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("astraea.experiments.cache.CACHE", folder)
        yield folder


@pytest.fixture(scope="module")
def revenue() -> pd.DataFrame:
    return tables.revenue_table(**HERE)


def test_revenue(revenue: pd.DataFrame) -> None:
    points = len(SMALL.jobs) + len(SMALL.servers)
    # everybody at every point; Astraea as written at the default one; as §5.1 says nothing convex and no BatchSche
    assert len(revenue) == SMALL.trials * (2 * (points * len(FOUR) + 2) + points * (len(FOUR) - 1) + 2)
    assert not revenue.isna().any(axis=None)
    linear = revenue[(revenue["utility"] == "linear") & (revenue["scheduler"] == "astraea-market")]
    total = linear.groupby("reading")["revenue"].sum()
    assert total[SECTION] < 0 < total[AS_HERE]
    revenue = revenue[revenue["reading"] == AS_HERE]
    usual = [revenue[(revenue["varied"] == v) & (revenue["value"] == n)]
             for v, n in zip(("jobs", "servers"), SMALL.usual, strict=True)]  # fmt: skip
    assert usual[0].iloc[:, 3:].to_numpy().tolist() == usual[1].iloc[:, 3:].to_numpy().tolist()
    assert set(usual[0]["scheduler"]) == FOUR | {LEMMA}
    number = revenue["value"].where(revenue["varied"] == "jobs", SMALL.usual[0])
    assert (revenue["revenue_per_job"] * number).tolist() == pytest.approx(revenue["revenue"].tolist())
    assert (revenue["floored_revenue"] >= revenue["revenue"]).all()
    astraea = revenue[revenue["scheduler"].str.startswith("astraea") & (revenue["utility"] == "linear")]
    assert (astraea["ideal_revenue"] > astraea["floored_revenue"]).all()  # a round begins after a job's arrival
    assert (revenue.loc[revenue["scheduler"] == "batch-sche", "shared"] == 0).all()
    assert (revenue.loc[revenue["scheduler"] == "gandiva-fair", "shared"] > 0).any()


def test_fairness_theta_and_admission() -> None:
    market = market_of("philly", "small", 1, *SMALL.usual)
    fairness = tables.fairness_table(**HERE)
    assert list(fairness) == ["reading", "scheduler", "trial", "tenant", "alpha"]
    assert fairness["reading"].drop_duplicates().tolist() == list(READINGS)
    cases = fairness.groupby(["reading", "scheduler", "trial"], sort=False)
    assert cases.size().tolist() == [14] * (7 * SMALL.trials)
    mine = cases.get_group((AS_HERE, "hived", 1))
    assert mine["alpha"].tolist() == revenue_fairness(hived(market)).tolist()
    # theta at 100 % is that of the paper
    thetas = tables.theta_table(**HERE)
    assert len(thetas) == 2 * len(SMALL.percents) * SMALL.trials and set(thetas["reading"]) == {AS_HERE}
    market = market_of("philly", "small", 1, SMALL.jobs[-1], SMALL.usual[1])
    plan = astraea_market(market, theta=feasible_theta(market), rounds=1)
    found = thetas[(thetas["load"] == "high") & (thetas["percent"] == 100) & (thetas["trial"] == 1)]
    assert found["revenue"].tolist() == [total_revenue(plan)]
    admission = tables.admission_table(**HERE)
    assert set(admission["scheduler"]) == {"astraea-market", LEMMA}
    assert (admission["ideal"] > admission["cost"]).all()
    assert (admission["cost"] >= 0).all() and (admission["cost"] > 0).any()


def test_utilization(revenue: pd.DataFrame) -> None:
    table = tables.utilization_table(**HERE)
    assert table["utilization"].between(0, 1).all()
    cases = table.groupby(["reading", "scheduler", "trial"])
    assert len(cases) == 7 * SMALL.trials and (cases["hour"].min() == 1).all()
    assert cases["hour"].is_monotonic_increasing.all()
    mean = table.groupby("reading")["utilization"].mean()
    assert mean[SECTION] > mean[AS_HERE]
    last = table[table["utilization"] > 0].groupby(["reading", "scheduler", "trial"])["hour"].max()
    at = revenue[
        (revenue["varied"] == "jobs") & (revenue["value"] == SMALL.usual[0]) & (revenue["utility"] == "linear")
    ]
    makespan = at.set_index(["reading", "scheduler", "trial"])["makespan"].drop(LEMMA, level=1) / SLOT
    assert last.to_dict() == makespan.to_dict()


def test_settings(revenue: pd.DataFrame) -> None:
    table = settings_table(**HERE)
    assert set(table["setting"]) == set(tables.SETTINGS)
    value = table.set_index(["setting", "figure", "scheduler"])["value"]
    usual = revenue[(revenue["reading"] == AS_HERE) & (revenue["utility"] == "linear")]
    usual = usual.query("varied == 'jobs' and value == @SMALL.usual[0]")
    total = usual.groupby("scheduler")[["revenue", "ideal_revenue", "floored_revenue"]].sum()
    ours, theirs = total.loc["astraea-market"], total.loc["hived"]
    at = value[tables.USUAL]
    assert at["Fig 4, real", "hived"] == pytest.approx(ours["revenue"] / theirs["revenue"])
    assert at["Fig 4, one-sided", "hived"] == pytest.approx(ours["ideal_revenue"] / theirs["floored_revenue"])
    fairness = tables.fairness_table(**HERE)
    alpha = fairness.query("scheduler == 'hived' and reading == @AS_HERE").groupby("trial")["alpha"]
    assert at["Fig 8, variance", "hived"] == pytest.approx(alpha.var(ddof=0).mean())
    used = tables.utilization_table(**HERE).query("scheduler == 'hived'").groupby(["reading", "trial"])["utilization"]
    assert at["Fig 13, peak", "hived"] == pytest.approx(used.max()[AS_HERE].mean())
    assert value[tables.DRAWN]["Fig 13, peak", "hived"] > at["Fig 13, peak", "hived"]
    # other prices change nothing for who has none
    assert value[tables.THETA_OF_44]["Fig 13, peak", "hived"] == at["Fig 13, peak", "hived"]


def test_a_setting_changes_only_what_it_names() -> None:
    mixed = market_of("philly", "small", 0, *SMALL.usual, setting="2 or 8 GPUs")
    slow = market_of("philly", "small", 0, *SMALL.usual, setting="b_w 100 Mbit/s")
    drawn = market_of("philly", "small", 0, *SMALL.usual, setting=tables.DRAWN)
    assert set(mixed.workers.tolist()) == {2, 8} and slow.worker_bandwidth == 100.0
    assert drawn.jobs.chunks.min() >= 20 and drawn.workers.tolist() == USUAL.workers.tolist()
    for other in (mixed, slow, drawn):
        assert other.jobs.train.tolist() == USUAL.jobs.train.tolist()


def test_times_tenants_and_ratios() -> None:
    time = tables.time_table(**HERE)
    assert len(time) == 2 * 3 * SMALL.trials and (time["seconds_per_job"] > 0).all()
    tenants = tables.tenants_table(**HERE)
    assert tenants["tenants"].tolist() == [n for n in SMALL.tenants for _ in range(SMALL.trials)] * 2
    assert (tenants.loc[tenants["reading"] == AS_HERE, "variance"] > 0).all()
    ratios = tables.ratio_table(**HERE)
    # as §5.1 says neither with the most jobs nor with the fewest servers
    jobs, servers = len(SMALL.small_jobs), len(SMALL.small_servers)
    points = jobs * servers + (jobs - 1) * (servers - 1)
    assert len(ratios) == points * SMALL.trials * len(FOUR)
    assert ratios["is_exact"].all() and (ratios["ratio"] <= 1 + 1e-6).all()
    assert (ratios.loc[ratios["reading"] == AS_HERE, "ratio"] > 0).all()
    axes = near_optimum(ratios, "servers", 0.6).axes
    means = [[line for line in ax.get_lines() if str(line.get_label()).endswith(" servers")] for ax in axes]
    colors = [{line.get_color() for line in lines} for lines in means]
    assert colors[0] == colors[1] and len(colors[0]) == len(SMALL.small_servers)


def test_price_steps() -> None:
    table = price_steps()
    assert table["workers_in_use"].tolist() == table["admitted"].cumsum().shift(fill_value=0).tolist()
    assert table["cost"].tolist() == (table["worker_price"] + table["ps_price"]).tolist()
    room = table["workers_in_use"] < 8
    assert table["admitted"].tolist() == ((table["ideal"] > table["cost"]) & room).tolist()
    # somebody is refused although a worker is free, and who comes later is worth it
    assert (~table["admitted"] & room).any() and not table["admitted"].is_monotonic_decreasing


def test_properties_fail_and_are_counted() -> None:
    table = properties_table(**HERE)
    assert table["property"].tolist() == list(PROPERTIES)
    for row in table.itertuples():
        fails = PROPERTIES[str(row.property)]
        for found, is_own_priced in ((row.violations, True), (row.repaired, False)):
            assert found == sum(fails(random_market(seed), is_own_priced) != "" for seed in range(SMALL.instances))
        assert 0 <= row.repaired < row.violations < row.instances == SMALL.instances  # type: ignore[operator]
        assert "tenant" in str(row.counter_example)


def test_exhibits() -> None:
    example = worked_example()
    for plan in (paper_plan(example), paper_plan(example, start=8)):
        assert violations(example, plan) == []
        assert plan.income.sum() == sum(s.cost for s in plan.schedules)
    table = exhibits_table()
    assert table[["gain", "gain_other"]].to_numpy().tolist() == [
        [92 + 8, 96 + 8], [96 + 92 - 16 + 8] * 2, [96, 98], [93, 105], [99, 97], [99, 99],
    ]  # fmt: skip
    longer = finished_early(planned(reported(two_jobs(), 1, epochs=4)), two_jobs())
    assert violations(two_jobs(), longer) == []


def test_the_notebooks_compute_nothing_beside_their_grids(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill([*market_grid("", "small").runs, *property_searches("small").runs])
    entries = {path.name for path in cache.iterdir()}
    monkeypatch.setattr("astraea.experiments.cache.compute", lambda *_: pytest.fail("computed again"))
    assert len(settings_table(**HERE)) > 0
    for table in ("revenue", "ratio", "fairness", "time", "theta", "admission", "utilization", "tenants"):
        assert len(getattr(tables, f"{table}_table")(**HERE)) > 0
    assert len(properties_table(**HERE)) > 0
    assert {path.name for path in cache.iterdir()} == entries


def test_a_plan_is_made_once() -> None:
    """Tables share runs: every plan of the default point is among those of Fig 4."""
    known = [run.key for run in plans("philly", "small", "Fig 4").runs]
    assert len(set(known)) == len(known)
    for figure in ("Fig 7", "Fig 9", "Fig 12"):
        assert {run.key for run in plans("philly", "small", figure).runs} <= set(known)


def test_choices_of_theta_and_lambda() -> None:
    """Waiting costs revenue, as written nothing is earned, and a choice is a row of the table."""
    table = choices.table("philly", "small")
    means = table[table["theta"] == 2.0].groupby("rounds")["revenue"].mean()
    assert len(means) == len(choices.TRIED_ROUNDS) and (means.diff().dropna() < 0).all()
    written = table[table["rounds"] == choices.AS_WRITTEN]
    assert len(written) == choices.TRIALS and (written["revenue"] < 0).all() and written["variance"].isna().all()
    made = choices.choose(choices.market("philly", "small"), *choices.HERE)
    theta, rounds = choices.HERE
    row = table[(table["theta"] == theta) & (table["rounds"] == rounds) & (table["trial"] == 0)].iloc[0]
    assert (made.revenue, np.var(made.alpha)) == (row["revenue"], row["variance"])
    assert 0 < made.admitted <= choices.JOBS and made.used.max() <= 1


def test_table_2_beside_the_papers() -> None:
    found = pd.DataFrame({"tenants": [5, 5, 14], "revenue_per_job": [100.0, 300, 400], "variance": [1.0, 1, 4]})
    shown = table2(found)
    assert shown["revenue per job", "ours"].tolist() == [200, 400, 2]
    assert shown["revenue per job", "paper / ours"].iloc[0] == TABLE2[5][0] / 200
    assert shown["variance of alpha", "paper"].iloc[1] == TABLE2[14][1]
    lost = table2(found.assign(revenue_per_job=-found["revenue_per_job"]))["revenue per job"]
    assert lost["ours"].tolist()[:2] == [-200, -400] and lost["paper / ours"].isna().all()
    assert np.isnan(lost.loc["max / min", "ours"]) and lost.loc["max / min", "paper"] > 1


def test_readings_of_figure_4() -> None:
    rows = [("linear", "jobs", s, r, i, f) for s, r, i, f in (("astraea-market", 30.0, 60.0, 40.0),
            ("hived", 20.0, 30.0, 40.0), ("batch-sche", -5.0, 10.0, 1.0))]  # fmt: skip
    columns = ["utility", "varied", "scheduler", "revenue", "ideal_revenue", "floored_revenue"]
    table = pd.DataFrame(rows, columns=columns).assign(reading=AS_HERE)
    found = fig4_readings(table, {"jobs": {"hived": 1.35, "batch-sche": 1.58}})["jobs"]
    assert found.loc["hived"].tolist() == [1.5, 1.5, 2.0, 1.35]
    assert np.isnan(found.loc["batch-sche", "real"]) and found.loc["batch-sche", "ideal over floored real"] == 60


def test_last_use() -> None:
    used = pd.DataFrame({"scheduler": ["hived"] * 3 + ["batch-sche"] * 3, "hour": [1, 2, 3] * 2, "trial": 0,
                         "utilization": [0.5, 0.25, 0.0, 0.1, 0.1, 0.1], "reading": AS_HERE})  # fmt: skip
    found = last_use(used)
    assert found.loc["hived"].tolist() == [2, 50] and found.loc["batch-sche"].tolist() == [3, 10]


def test_losses_are_written_where_they_have_no_place() -> None:
    revenue = pd.DataFrame(
        [(n, trial, name, value * (trial + 1)) for n in (5, 15) for trial in (0, 1)
         for name, value in (("astraea-market", 100.0), ("hived", 80.0), ("batch-sche", -150.0))],
        columns=["value", "trial", "scheduler", "revenue"],
    )  # fmt: skip
    _, ax = charts.panels()
    relative_revenue(revenue, ax, {"hived": 1.35})
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["5", "15", "all"]
    assert [text.get_text() for text in ax.texts] == ["loses"] * 3
    marks = {line.get_label(): list(line.get_ydata()) for line in ax.get_lines()}
    assert marks["HiveD"] == pytest.approx([1.25] * 3) and marks["BatchSche"] == []
    assert [1.35] in [list(line.get_ydata()) for line in ax.get_lines() if line.get_marker() == "D"]


def test_makespans_are_last_hours_of_use_and_published_ones_are_in_our_row() -> None:
    used = pd.DataFrame({"scheduler": ["hived"] * 4 + ["astraea-market"], "trial": [0, 0, 1, 1, 0],
                         "hour": [1, 9, 1, 9, 20], "utilization": [0.5, 0.2, 0.5, 0.0, 0.5]})  # fmt: skip
    _, ax = charts.panels()
    makespans(used, ax, {"hived": 0.6})
    assert [text.get_text() for text in ax.texts] == ["5 h", "20 h"]
    [mark] = [line for line in ax.get_lines() if line.get_marker() == "D" and len(line.get_xdata())]
    assert (list(mark.get_xdata()), list(mark.get_ydata())) == ([3.0], [1])


def test_running_time_of_all_jobs_and_of_one() -> None:
    times = pd.DataFrame({"jobs": [100, 200], "servers": 10, "trial": 0, "seconds_per_job": [1e-4, 2e-4]})
    times = times.assign(reading=AS_HERE)
    whole, one = running_time(times, "jobs", 1.56).axes
    assert list(whole.get_lines()[0].get_ydata()) == pytest.approx([0.01, 0.04])
    assert list(one.get_lines()[0].get_ydata()) == [1e-4, 2e-4]
    texts = ["as here: 2 times as long with 200 jobs as with 100", "paper: about 1.56 s, on a laptop"]
    assert [text.get_text() for text in one.texts] == texts
