"""Gavel's evaluation: policies called directly, measures, tables and pictures."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from gavel_moments import offered

from astraea.core.result import Result
from astraea.experiments.grid import Grid
from astraea.plots import LOOKS
from papers import charts
from papers.gavel.policies import POLICIES
from papers.gavel.study import pictures, policies, runs, tables
from papers.gavel.study.gains import Factor, draw_ratios
from papers.gavel.study.physical import objectives
from papers.gavel.throughputs.table import Throughputs

COMPACT = Throughputs.compact()


def shown(jobs: pd.DataFrame) -> Result:
    return Result(jobs=jobs, excluded_jobs=pd.DataFrame(), timeline=pd.DataFrame(), provenance={})


def test_measures() -> None:
    jobs = pd.DataFrame(
        {"jct": [9.0, 1, 2, 3, 6], "finish_time_fairness": [9.0, 1, 1, 2, 2], "rho_job": [0, 1, 0.9, 0.95, 1],
         "weight": [1.0, 5, 1, 1, 5], "cost": [1.0, 2, 3, 4, 5], "end_time": [9.0, 9, 9, 9, 40],
         "slo_met": pd.array([True, True, False, None, True], "boolean")}
    )  # fmt: skip
    assert tables.steady(jobs.iloc[1:]) == {
        "average_jct": 3, "average_ftf": 1.5, "sharing_loss": 0.25, "high_jct": 3.5, "low_jct": 2.5
    }  # fmt: skip
    assert tables.bill(shown(jobs.dropna())) == {"cost": 11, "missed": 0.25}
    assert tables.by_gang(jobs.assign(demand=[1, 1, 2, 4, 1])) == {
        "average_jct": 4.2, "gang_jct": 2.5, "single_jct": 16 / 3
    }  # fmt: skip
    many = shown(pd.DataFrame({"jct": 3600.0 * np.arange(95), "end_time": 7200.0 * np.arange(95)}))
    assert objectives(many) == {"Average JCT": 47.0, "Makespan": 188.0}  # of the jobs in the middle


def test_figures_of_load(monkeypatch: pytest.MonkeyPatch) -> None:
    index = pd.DataFrame({"policy": ["las", "las-het"] * 2, "jobs_per_hour": [1.0, 1, 2, 2], "seed": 0})
    results = [
        shown(pd.DataFrame({"jct": [99.0, jct, jct + 1], "finish_time_fairness": 1.0, "rho_job": 1.0, "weight": 1.0}))
        for jct in (3.5, 1.5, 8.5, 2.5)
    ]
    monkeypatch.setattr("astraea.experiments.grid.measured", lambda _, measure, **__: [measure(r) for r in results])
    table, jobs = tables.load_figures(Grid([SimpleNamespace(columns={})] * 4, index), 2)
    assert table["average_jct"].tolist() == [4, 2, 9, 3]
    assert set(jobs["jobs_per_hour"]) == {2.0} and len(jobs) == 4
    assert jobs.loc[jobs["policy"] == "las", "jct"].tolist() == [8.5, 9.5]
    assert tables.times_less(table, "average_jct", "las", ["las-het"])["las-het"].tolist() == [2, 3]


def test_worked_examples() -> None:
    found = policies.worked_examples()
    off = (found["value"] - found["paper"]).abs().groupby(found["quantity"]).max()
    assert off["LAS het. allocation"] < 0.01 and off["water filling"] < 0.01 and off["gain over isolated"] < 1
    assert len(found) == 3 * 2 + 1 + 2 * 4


def test_effective_throughput_counts_pairs() -> None:
    problem = offered(policies.moment([[4.0], [2.0]], [1]), [[0, 1]], [[[3.0], [1.5]]])
    answer = policies.Allocation(np.array([[0.5], [0.0]]), np.array([[0.5]]))
    np.testing.assert_allclose(policies.effective(problem, answer), [3.5, 0.75])
    np.testing.assert_allclose(policies.normalized(problem, answer), [3.5 / 4, 0.75 / 2])


def test_hierarchy_keeps_the_entities_weights() -> None:
    frame = policies.hierarchy(COMPACT, ["hierarchical", "hierarchical-het"])
    assert len(frame) == 2 * 18 * 19 // 2
    np.testing.assert_allclose(frame.groupby(["policy", "timestep"])["share"].sum(), 1)
    last = frame[frame["jobs"] == 18].pivot_table("throughput", "entity", "policy", aggfunc="sum")
    blind, aware = last["hierarchical"], last["hierarchical-het"]
    # X^equal is the same part of each of 9 GPUs: weights 1, 2, 3 of 6 are 1.5, 3 and 4.5 of them
    np.testing.assert_allclose(blind, [1.5, 3, 4.5], rtol=1e-6)
    np.testing.assert_allclose(aware / aware.sum(), [1 / 6, 1 / 3, 1 / 2], rtol=1e-3)
    assert aware.sum() > blind.sum()


def test_solve_times_have_a_row_each() -> None:
    found = policies.solve_times(COMPACT, {"las-het": (4, 8), "las-het-ss": (4,)}, apart={"las-het": 4})
    assert found[["policy", "jobs", "variables"]].to_numpy().tolist() == [
        ["las-het", 4, "a class"], ["las-het", 8, "a class"], ["las-het", 4, "a job"], ["las-het-ss", 4, "a class"],
    ]  # fmt: skip
    assert (found["seconds"] > 0).all()
    assert all(set(sizes) <= set(POLICIES) for sizes in policies.SOLVES.values())


def test_colocation_is_relative_to_each_job_alone() -> None:
    found = tables.colocation(COMPACT, "p100")
    assert len(found) == 26**2
    cells = found.pivot_table(index="job", columns="beside", values="normalized", sort=False, dropna=False)
    assert (cells.isna() == cells.isna().T).all(axis=None) and 0 < cells.isna().sum(axis=None) < 26**2
    a, b = COMPACT.kind("A3C", 1), COMPACT.kind("CycleGAN", 1)
    together = COMPACT.pairs(np.array([a]), np.array([b]))[0, 0, 1]
    assert cells.loc["A3C", "CycleGAN"] == together / COMPACT.alone("A3C", 1)[1]


def test_speeds_name_the_best_types() -> None:
    found = tables.speeds(COMPACT)
    assert len(found) == 26 and (found["v100"] == 1).all()
    assert found.loc["A3C", ["fastest", "cheapest"]].tolist() == ["v100", "k80"]
    per_dollar = found[[f"{t} per $" for t in COMPACT.types]]
    np.testing.assert_allclose(per_dollar.max(axis=1), 1)


def test_more_references_estimate_better() -> None:
    found = tables.estimate_errors(COMPACT, (0.3, 1.0), (1, 4)).set_index(["references", "fraction"])["error"]
    assert found[26, 1.0] < 1e-9 < found[7, 1.0]


def test_limits_name_what_is_smaller() -> None:
    small, paper = (tables.limits(scale, COMPACT) for scale in ("small", "paper"))
    assert "compact table" in small[0]
    assert any("at scale paper 4000" in line for line in small)
    assert all("(as at scale paper)" in line for line in paper[1:])


def test_every_policy_has_a_look_of_its_own() -> None:
    assert len({LOOKS[name].label for name in POLICIES}) == len(POLICIES)


def test_the_program_by_hand_and_its_table() -> None:
    problem = policies.three_jobs()
    gains = policies.three_jobs_table(problem)
    level = policies.least_share_by_hand(problem)
    assert level == pytest.approx(8 / 11)  # of the speed with a GPU of the mean type; 1/n of each is 2 / 3
    assert gains["gain [%]"].tolist() == pytest.approx([100 * (level * 3 / 2 - 1)] * 3)
    assert gains["steps/s with 1/n"].tolist() == pytest.approx([5 / 3, 4 / 3, 1])


def test_changes_by_hand() -> None:
    pairs = {"job": ["a", "a", "b", "b"], "beside": ["a", "b", "a", "b"], "normalized": [0.5, 0.75, 0.5, 0.25]}
    assert tables.worth_sharing(pd.DataFrame(pairs)).tolist() == [1, 1.25, 1.25, 0.5]
    table = pd.DataFrame({"round_length": [360.0, 720.0], "jobs_per_hour": 1.0, "average_jct": [100.0, 105.0]})
    named = tables.against_short_rounds(table)
    assert named["round"].tolist() == ["6 min", "12 min"] and named["change"].tolist() == pytest.approx([0, 5])
    table = pd.DataFrame({"server_gpus": [1, 4], "jobs_per_hour": 1.0, "average_jct": [100.0, 110.0]})
    assert tables.lost_by_spreading(table)[4].tolist() == pytest.approx([10])
    told = pd.DataFrame({"told": list(runs.TOLD), "jobs_per_hour": 1.0, "average_jct": [7200.0, 3600.0, 1800.0]})
    shown = tables.told_of_placement(told).loc[1.0]
    assert shown["aware"] == 0.5 and shown["aware over blind"] == 0.25 and shown["aware over strict"] == 0.5


def test_gains_and_the_published_one_at_the_highest_rate() -> None:
    rates, policies = [1.0, 2.0, 3.0] * 2, np.repeat(["las", "las-het"], 3)
    jcts = [30.0, 40.0, 36.0, 20.0, 20.0, 20.0]
    table = pd.DataFrame({"jobs_per_hour": rates, "policy": policies, "average_jct": jcts})
    _, ax = charts.panels()
    draw_ratios(table.assign(seed=0), [("average_jct", Factor("las", "las-het", 4.0))], ax)
    ours, paper = (line.get_xydata().tolist() for line in ax.get_lines()[:2])  # type: ignore[attr-defined]
    assert ours[-1] == [3.0, pytest.approx(36 / 20)] and paper == [[3.0, 4.0]]
    assert [text.get_text() for text in ax.texts] == ["LAS / LAS het.\n1.8×, paper 4×"]


def test_published_costs_are_relative_to_the_dearest() -> None:
    policies = ["max-throughput", "min-cost"]
    bills = pd.DataFrame({"policy": policies, "seed": 0, "cost": [140.0, 90.0], "missed": [0.0, 0.5]})
    cost, missed = pictures.costs(bills, {"min-cost": 1.4}, {"min-cost": 0.35}).axes
    for ax, value in ((cost, 1 / 1.4), (missed, 0.35)):
        marks = [line for line in ax.get_lines() if line.get_marker() == "D" and line.get_label() == "published value"]
        assert [x for line in marks for x in line.get_xdata()] == pytest.approx([value])
