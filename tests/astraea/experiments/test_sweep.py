"""`sweep`: the runs of a grid, and their tidy tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import seaborn
from schedules import jobs, trace_of

import astraea
from astraea.cluster.cluster import Cluster
from astraea.cluster.policy import all_candidates, fits, grant, policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulation import simulated
from astraea.core.errors import InputError
from astraea.core.result import Result
from astraea.experiments import cache as cached
from astraea.experiments.sweep import Runs
from astraea.traces.trace import Trace

FOUR = Cluster(1, 4)


def drawn(seed: int) -> Trace:
    """Two days of jobs of two tenants, other ones for each seed."""
    rng = np.random.default_rng(seed)
    rows = [f"{'ab'[k % 2]}{k} {rng.integers(1, 3)} {3600 * k} {rng.integers(3000, 20_000)}" for k in range(48)]
    return trace_of(jobs(*rows))


def swept(tmp_path: Path, *arguments: Any, **options: Any) -> Runs:
    return astraea.sweep(*arguments, cache=tmp_path, progress=False, **options)


@pytest.mark.filterwarnings("ignore:vert:DeprecationWarning")  # of seaborn's own call
def test_tables_are_tidy_and_go_into_seaborn(tmp_path: Path) -> None:
    runs = swept(tmp_path, drawn, FOUR, ["astraea", "fifo"], seed=range(2), lease_term=[300, 900])
    columns = ["trace", "nodes", "scheduler", "seed", "lease_term"]
    assert [*runs.index] == columns and len(runs) == 6
    assert runs.index.drop(columns="trace").fillna(0).to_numpy().tolist() == [
        [1, "astraea", 0, 300], [1, "astraea", 1, 300], [1, "astraea", 0, 900], [1, "astraea", 1, 900],
        [1, "fifo", 0, 0], [1, "fifo", 1, 0],
    ]  # fmt: skip
    for k, result in enumerate(runs):
        alone = astraea.simulate(
            drawn(runs.index["seed"][k]), FOUR, runs.index["scheduler"][k],
            **({"lease_term": runs.index["lease_term"][k]} if k < 4 else {}),
        )  # fmt: skip
        pd.testing.assert_frame_equal(result.jobs, alone.jobs, check_exact=True)
        pd.testing.assert_series_equal(runs.summary.iloc[k, 5:].astype(float), alone.summary, check_names=False)
        of = (runs.jobs[columns].fillna(0) == runs.index.fillna(0).iloc[k]).all(axis=1)
        assert runs.jobs.loc[of, [*alone.jobs]].reset_index(drop=True).equals(alone.jobs)
    assert len(runs.jobs) == 6 * 48
    assert [*runs.tenants][:5] == columns and {"attained_service", "fair_service", "rho_tenant"} < {*runs.tenants}
    _, (left, right) = plt.subplots(1, 2)
    seaborn.ecdfplot(runs.jobs, x="rho_job", hue="scheduler", ax=left)
    seaborn.boxplot(runs.tenants, x="rho_tenant", y="scheduler", ax=right)
    plt.close("all")


def as_recorded(trace: Trace, cluster: Cluster, policy: Any, seed: int, settings: Any) -> Result:
    """A simulator of another kind: every job takes twice its JCT."""
    result = simulated(trace, cluster, policy, seed, settings)
    return replace(result, jobs=result.jobs.assign(jct=2 * result.jobs["jct"]))


def test_policies_can_have_names_of_their_own_and_another_simulator(tmp_path: Path) -> None:
    named = {"long": astraea.get_policy("astraea").with_parameters(lease_term=3600), "fifo": "fifo", "short": "astraea"}
    how: dict[str, Any] = {"seed": range(2), "settings": Settings(restart_overhead=0.0)}
    runs = swept(tmp_path, drawn, FOUR, named, **how)
    assert runs.index["scheduler"].tolist() == ["long", "long", "fifo", "fifo", "short", "short"]
    assert [result.provenance["policy"] for result in runs] == ["astraea"] * 2 + ["fifo"] * 2 + ["astraea"] * 2
    assert {result.provenance["restart_overhead"] for result in runs} == {0.0}
    other = swept(tmp_path, drawn, FOUR, named, **how, simulate=as_recorded)
    assert (other.jobs["jct"] == 2 * runs.jobs["jct"]).all()
    terms = swept(tmp_path, drawn(0), FOUR, {"a": "astraea", "b": "fifo"}, lease_term=[300, 900])
    assert terms.index[["scheduler", "lease_term"]].fillna(0).to_numpy().tolist() == [["a", 300], ["a", 900], ["b", 0]]


def test_results_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = swept(tmp_path, drawn(0), FOUR, "fifo")
    monkeypatch.setattr(cached, "compute", None)
    again = swept(tmp_path, drawn(0), FOUR, "fifo")
    pd.testing.assert_frame_equal(first.summary, again.summary)
    assert len(again.jobs) == 48 and repr(again[0].makespan) == repr(first[0].makespan)


def test_a_trace_is_the_same_for_every_seed_and_a_name_makes_one_per_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("astraea.experiments.sweep.synthesize", lambda name, seed: drawn(seed))
    same = swept(tmp_path, drawn(0), FOUR, "fifo", seed=[0, 1]).summary["average JCT [s]"]
    other = swept(tmp_path, "venus", FOUR, "fifo", seed=[0, 1]).summary["average JCT [s]"]
    assert same[0] == same[1] == other[0] != other[1]
    with pytest.raises(InputError, match="the name of a synthetic trace must be one of venus, philly, got 'venice'"):
        swept(tmp_path, "venice", FOUR, "fifo")


def test_what_differs_is_a_column(tmp_path: Path) -> None:
    longer = astraea.get_policy("astraea").with_parameters(lease_term=1800)
    places = [FOUR, Cluster(1, 5)]
    runs = swept(tmp_path, drawn(0), places, ["astraea", longer, "fifo"], restart_overhead=30, placement=["spread"])
    assert runs.index.drop(columns=["trace", "seed"]).fillna(0).to_numpy().tolist() == [
        [1, f"1 x {gpus}", *row] for gpus in (4, 5)
        for row in (["astraea", "spread", 900], ["astraea", "spread", 1800], ["fifo", "spread", 0])
    ]  # fmt: skip
    assert {result.provenance["restart_overhead"] for result in runs} == {30}


@policy("fifo")
def another(s: Any) -> None:
    for j in all_candidates(s):
        if fits(s, j):
            grant(s, j)


def test_what_cannot_be_told_apart_or_is_unknown_is_refused(tmp_path: Path) -> None:
    for arguments, options, message in (
        (([drawn(0), drawn(1)], FOUR, "fifo"), {}, "two runs have trace trace, nodes 1, scheduler fifo, seed 0; give"),
        ((drawn(0), FOUR, ["fifo", another]), {}, "two policies are named 'fifo'"),
        ((drawn(0), FOUR, ["fifo", "fifo"]), {}, "two policies are named 'fifo'"),
        ((drawn(0), FOUR, ["fifo", "astraea"]), {"leaseterm": 3}, "unknown parameter 'leaseterm'; policy fifo has no "),
        ((drawn(0), FOUR, "astraea"), {"lease_term": []}, "lease_term must have at least one value, got none"),
        (([], FOUR, "astraea"), {}, "traces must have at least one value, got none"),
        ((drawn(0), 100, "astraea"), {}, "cluster must be a Cluster"),
        ((drawn(0), "astraea", FOUR), {}, "cluster must be a Cluster, .* got 'astraea'"),
        ((pd.DataFrame(), FOUR, "astraea"), {}, "trace must be a Trace"),
        ((drawn(0), FOUR, "astraea"), {"seed": 1.5}, "seed must be a whole number"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            swept(tmp_path, *arguments, **options)
    assert not any(tmp_path.iterdir())
