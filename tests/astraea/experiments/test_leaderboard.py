"""Leaderboards: intervals by hand, ranks, policies that cannot run, and the command with a user's log and policy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from histories import busy
from listed_jobs import listed
from small_runs import FOUR, tiny
from trace_samples import write_csv

import astraea
from astraea.cli.main import main
from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import all_policies, get_policy
from astraea.cluster.policy import View, grant
from astraea.cluster.simulate import simulate
from astraea.core.errors import PolicyError
from astraea.core.intervals import mean_interval
from astraea.core.metrics import summary, tenant_sharing_loss
from astraea.core.units import DAY
from astraea.experiments.leaderboard import MEASURES, NO_PAST, _drawn, contest, measures, standings
from astraea.traces.trace import Trace

WEEK = 7 * DAY
FEW = {name: get_policy(name) for name in ("fifo", "tiresias-l", "astraea")}

OWN = """
import astraea
from astraea.cluster.policy import all_candidates, fits, grant

@astraea.policy("{name}")
def first(s):
    for j in all_candidates(s):
        if fits(s, j):
            grant(s, j)
"""


@astraea.policy("greedy")
def greedy(s: View) -> None:
    """Grant everything, whether it fits or not."""
    for j in range(len(s.job)):
        grant(s, j)


def two_weeks() -> Trace:
    """Eight jobs for two GPUs: three short ones in the first week, and a queue of five in the second."""
    early = [(f"e{k}", "a", 1, k * DAY, 100.0 * (k + 1)) for k in range(3)]
    late = [(f"l{k}", "ab"[k % 2], 1, 13.9 * DAY + k * DAY / 40, 5000.0) for k in range(5)]
    return listed(*early, *late)


def seeds(number: int) -> list[Trace]:
    return [tiny(name="seeds", last=100.0 + k).scale_load(1 + k / 3) for k in range(number)]


def test_of_two_weeks_the_interval_reaches_from_the_one_to_the_other() -> None:
    result = simulate(two_weeks(), Cluster(1, 2), get_policy("fifo"))
    found = measures(result, resamples=400).set_index("measure")
    jobs = result.jobs
    first = jobs["submit_time"] < WEEK
    for measure, column in (("average_jct", "jct"), ("preemptions_per_job", "preemptions")):
        weekly = sorted([jobs.loc[first, column].mean(), jobs.loc[~first, column].mean()])
        assert found.loc[measure, ["low", "high"]].tolist() == pytest.approx(weekly)
        assert found.loc[measure, "value"] == pytest.approx(jobs[column].mean())
    assert found.loc["average_jct", "high"] > 10 * found.loc["average_jct", "low"]
    assert found.loc["sharing_loss", "value"] == summary(result)["sharing_loss"]
    assert found.loc["tenant_below_99", "value"] == tenant_sharing_loss(result, 0.99)
    assert found.loc["slowdown_99", "value"] == jobs["slowdown"].quantile(0.99)
    assert found.loc["longest_wait", "value"] == jobs["queueing_delay"].max() > 0
    assert found["weeks"].to_dict() == {m: 0 if m == "longest_wait" else 2 for m in found.index}
    assert tuple(found.index) == MEASURES
    pd.testing.assert_frame_equal(found, measures(result, resamples=400).set_index("measure"))
    assert measures(result)["low"].isna().all()
    week = simulate(two_weeks().scale_load(2), Cluster(1, 2), get_policy("fifo"))
    assert measures(week, resamples=400)[["low", "high"]].isna().all(axis=None)


def test_draws_are_those_of_the_weeks_repeated() -> None:
    rng = np.random.default_rng(1)
    values, week = rng.exponential(size=300), rng.integers(0, 4, 300)
    counts = np.array([[1, 1, 1, 1], [0, 3, 1, 0], [4, 0, 0, 0]])
    for quantile in (0.0, 0.99):
        for drawn, often in zip(_drawn(values, week, counts, quantile), counts, strict=True):
            repeated = np.repeat(values, often[week])
            if quantile:
                assert drawn == np.quantile(repeated, quantile, method="inverted_cdf")
            else:
                assert drawn == pytest.approx(repeated.mean())
    assert np.isnan(_drawn(np.ones(2), np.zeros(2, int), np.array([[0, 1]]), 0.0)).all()


def test_several_seeds_have_means_and_from_three_on_an_interval(tmp_path: Path) -> None:
    made, unable = contest(FEW, seeds(3), FOUR)
    table = standings(made, unable, tmp_path)
    assert unable == {} and (table["reason"] == "").all() and set(table["seeds"]) == {3}
    each = pd.concat(
        measures(simulate(run.trace, run.cluster, run.policy)).assign(scheduler=name)
        for run, name in zip(made.runs, made.index["scheduler"], strict=True)
    )
    expected = mean_interval(each, ["scheduler", "measure"], "value")
    pd.testing.assert_series_equal(table["value"], expected["mean"], check_names=False)
    pd.testing.assert_series_equal(table["low"], expected["low"].clip(lower=0), check_names=False)
    pd.testing.assert_series_equal(table["high"], expected["high"], check_names=False)
    ranks = table.pivot_table(index="measure", columns="scheduler", values="rank")
    assert (ranks.min(axis=1) == 1).all() and ranks.loc["preemptions_per_job", "fifo"] == 1
    jct = each[each["measure"] == "average_jct"].assign(seed=[0, 0, 0, 1, 1, 1, 2, 2, 2])
    in_each = jct.pivot_table(index="seed", columns="scheduler", values="value").rank(axis=1)
    mine = table[table["measure"] == "average_jct"].set_index("scheduler")
    for name, row in mine.iterrows():
        assert row["rank_low"] == min(in_each[name].min(), row["rank"])
        assert row["rank_high"] == max(in_each[name].max(), row["rank"])
    assert set(table["jobs"]) == {36}
    two = standings(*contest(FEW, seeds(2), FOUR), tmp_path)
    assert two[["low", "high"]].isna().all(axis=None) and two.dropna(subset="value")["rank_low"].notna().all()


def test_who_cannot_run_is_listed_with_the_reason(tmp_path: Path) -> None:
    """A policy that needs running times learns them or does not run; one that breaks a rule ends no other run."""
    four = {name: get_policy(name) for name in ("fifo", "themis", "allox")} | {"greedy": greedy}
    table = standings(*contest(four, [tiny()], FOUR), tmp_path)
    reasons = table[table["reason"] != ""].set_index("scheduler")["reason"]
    assert reasons[["themis", "allox"]].tolist() == [NO_PAST] * 2
    assert reasons["greedy"].startswith("policy greedy, at 0 s: ")
    assert table.loc[table["reason"] == "", "scheduler"].unique().tolist() == ["fifo"]
    assert table.loc[table["reason"] != "", "measure"].isna().all()
    with pytest.raises(PolicyError, match="greedy"):
        standings(*contest({"greedy": greedy}, [tiny()], FOUR), tmp_path)
    made, unable = contest(four, [busy()], FOUR)
    assert unable == {}
    assert {run.policy.name: run.settings.estimator for run in made.runs} == {
        "fifo": "oracle", "greedy": "oracle", "themis": "gradient-boosting", "allox": "gradient-boosting",
    }  # fmt: skip


def test_all_run_the_same_jobs(tmp_path: Path) -> None:
    """Slurm starts gangs beyond a tenant's quota, YARN-CS never does; neither gets such gangs."""
    rows = [(f"j{k}", "ab"[k % 2], 1 + 2 * (k == 3), 60.0 * k, 600.0) for k in range(6)]
    both = {name: get_policy(name) for name in ("slurm", "yarn-cs")}
    table = standings(*contest(both, [listed(*rows)], FOUR), tmp_path)
    assert set(table["jobs"]) == {5}
    alone = standings(*contest({"slurm": both["slurm"]}, [listed(*rows)], FOUR), tmp_path)
    assert set(alone["jobs"]) == {6}


def test_the_command_on_ones_own_log_with_ones_own_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, own, out = write_csv(tiny(name="log"), tmp_path / "log.csv"), tmp_path / "own.py", tmp_path / "out.csv"
    own.write_text(OWN.format(name="mine"))
    ours = ["--gpus-per-node", "2", "--policy", f"{own}:first", "--cache", str(tmp_path / "cache"), "--out", str(out)]
    assert main(["leaderboard", log, log, "--nodes", "2", *ours]) == 0
    table, text = pd.read_csv(out), capsys.readouterr().out
    assert set(table["scheduler"]) == {*all_policies(), "mine"}
    assert set(table["trace"]) == {"log"} and set(table["nodes"]) == {2} and len(table) % 2 == 0
    rows = table[(table["scheduler"] == "mine") & (table["measure"] == "average_jct")]
    jct = simulate(tiny(), FOUR, get_policy("fifo")).jobs["jct"].mean()
    fifo = table[(table["scheduler"] == "fifo") & (table["measure"] == "average_jct")]["value"]
    assert len(rows) == 2 and fifo.tolist() == pytest.approx([jct] * 2)
    assert "log, 12 jobs (without 1 gang that some policy never starts), 2 x 2 GPUs; no intervals over" in text
    assert f"themis: not run, {NO_PAST}" in text and "\nmine " in text
    assert main(["leaderboard", log, *ours]) == 0  # as many nodes as the jobs keep busy
    assert pd.read_csv(out)["nodes"].unique().tolist() != [2]


def test_what_the_command_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, own = write_csv(tiny(), tmp_path / "log.csv"), tmp_path / "own.py"
    own.write_text(OWN.format(name="fifo"))
    for more, says in (
        (["--policy", f"{own}:first"], "--policy: the name 'fifo' is taken by another policy"),
        (["--policy", f"{own}:second"], "own.py has no policy second"),
        (["--out", str(tmp_path)], "--out must be a file in a folder that exists"),
        (["--format", "unknown"], "format must be one of"),
    ):
        assert main(["leaderboard", log, *more]) == 2
        assert says in capsys.readouterr().err
    assert main(["leaderboard"]) == 2
