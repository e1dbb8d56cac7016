"""Estimators by name: their estimates, that policies see nothing else, and refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from histories import busy, of
from synthetic_traces import synthetic

from astraea.cli.main import main
from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import all_policies, get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.estimation import estimators
from astraea.estimation.estimators import LEARNED, estimate, identity, sigma_of
from astraea.experiments.run import Run
from astraea.traces import named
from papers.ye2022.running_times import accuracy

NEEDY = [p.name for p in all_policies().values() if p.needs_estimates]


def test_the_oracle_is_right_and_sure() -> None:
    trace = busy()
    for e in (estimate(trace), estimate(trace, "noisy", 0.0)):
        assert (e.median == trace.duration).all()
        assert not e.spread_below.any() and not e.spread_above.any()


@pytest.mark.parametrize("error", [0.05, 2.0])
def test_noise_has_the_error_rate_and_the_spread_that_it_states(error: float) -> None:
    rng = np.random.default_rng(1)
    assert np.abs(np.exp(sigma_of(error) * rng.standard_normal(400_000)) - 1).mean() == pytest.approx(error, rel=0.02)
    trace = synthetic("philly")
    noisy, again, other = (estimate(trace, "noisy", error, seed) for seed in (0, 0, 1))
    assert (noisy.median == again.median).all() and not (noisy.median == other.median).any()
    table = accuracy({"it": noisy}, trace).loc["it"]
    assert table["mean APE"] == pytest.approx(100 * error, rel=0.05)
    assert table["coverage"] == pytest.approx(80, abs=1)


@pytest.mark.parametrize("estimator", ["history", pytest.param("gradient-boosting", marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("policy", NEEDY)
def test_policies_cannot_reach_durations_of_jobs_that_have_not_ended(policy: str, estimator: str) -> None:
    trace, cluster, settings = busy(), Cluster(2, 4), Settings(estimator=estimator)
    before = simulate(trace, cluster, policy, settings=settings, keep_log=True)
    for part in (0.3, 0.7):
        moment = part * trace.span
        ended = before.jobs.set_index("job_id")["end_time"].reindex(trace.job_id).to_numpy() <= moment
        rng = np.random.default_rng(5)
        changed = replace(
            trace, duration=np.where(ended, trace.duration, trace.duration * rng.uniform(1, 9, len(trace)))
        )
        after = simulate(changed, cluster, policy, settings=settings, keep_log=True)
        ours, theirs = (r.grants[r.grants["start"] <= moment].drop(columns="end") for r in (before, after))
        assert len(ours) > 50
        pd.testing.assert_frame_equal(ours, theirs, check_exact=True)
        ours, theirs = (r.placements[r.placements["grant"] < len(ours)] for r in (before, after))
        pd.testing.assert_frame_equal(ours, theirs)


def test_the_rows_of_jobs_that_are_excluded_are_left_out() -> None:
    trace = busy()
    demand = trace.demand.copy()
    demand[::7] = 100
    larger = replace(trace, demand=demand)
    smaller = larger._take(np.flatnonzero(demand < 100))
    results = [simulate(t, Cluster(2, 4), "finish-time-fairness") for t in (larger, smaller)]
    assert len(results[0].excluded_jobs) > 20
    pd.testing.assert_frame_equal(results[0].jobs, results[1].jobs)


def test_estimates_are_learned_once_for_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimators, "_fitted", {})
    for seed in range(10):
        estimate(busy(60, seed), "history")
    assert len(estimators._fitted) == 8  # and no more
    trace = busy(seed=11)
    settings = Settings(estimator="history")
    simulate(trace, Cluster(2, 4), "finish-time-fairness", settings=settings)
    monkeypatch.setitem(LEARNED, "history", lambda: pytest.fail("learned again"))
    simulate(trace, Cluster(3, 4), "finish-time-fairness", settings=settings)
    simulate(busy(seed=11), Cluster(3, 4), "finish-time-fairness", settings=settings)


def test_what_decides_estimates_is_in_the_key_of_a_run_and_in_its_provenance() -> None:
    trace = busy()
    policy, settings = get_policy("finish-time-fairness"), Settings(estimator="history")
    base = Run(trace, Cluster(2, 4), policy, settings=settings)
    assert trace.history is not None
    other_states = replace(trace.history, state=trace.history.state[::-1])
    keys = {
        base.key,
        replace(base, settings=Settings()).key,
        replace(base, settings=Settings(estimator="noisy")).key,
        replace(base, settings=Settings(estimator="noisy", estimate_error=0.5)).key,
        replace(base, trace=replace(trace, history=other_states)).key,
        replace(base, trace=replace(trace, origin=None)).key,
    }
    assert len(keys) == 6
    needless = replace(base, policy=get_policy("fifo"))
    assert needless.key == replace(needless, trace=replace(trace, history=other_states)).key
    about = simulate(trace, base.cluster, policy, settings=settings).provenance
    assert about.items() >= {"estimator": "history", "estimate_error": 0, **identity(trace, "history")}.items()
    assert "scikit-learn" in identity(trace, "gradient-boosting")
    assert "learned_from_sha256" not in simulate(trace, base.cluster, "fifo").provenance


def test_the_command_line_takes_an_estimator(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(named, "synthesize", lambda name, seed: busy())
    run = ["simulate", "venus", "--policy", "finish-time-fairness", "--nodes", "2", "--gpus-per-node", "4", "--json"]
    said = []
    for options in ("", "--estimator noisy --estimate-error 2", "--param estimator=noisy --param estimate_error=2"):
        assert main([*run, *options.split()]) == 0
        said.append([line for line in capsys.readouterr().out.splitlines() if "seconds" not in line])
    assert said[0] != said[1] == said[2]
    for options, sentence in (
        ("--estimator psychic", "estimator must be one of"),
        ("--estimate-error x", "estimate_error must be a number"),
        ("--estimator noisy --param estimator=noisy", "--param estimator: given twice"),
    ):
        assert main([*run, *options.split()]) == 2
        assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    "name, error, sentence",
    [
        ("psychic", 0, "estimator must be one of oracle, noisy, history, gradient-boosting, constant, got 'psychic'"),
        ("noisy", -0.1, r"estimate_error must be a number from 0 to 10 \(1 is 100 %\), got -0.1"),
        ("noisy", 50, "estimate_error must be a number from 0 to 10"),
        ("history", 0.5, "is for the estimator noisy only and must be 0 with history, got 0.5"),
    ],
)
def test_bad_settings_are_refused(name: str, error: Any, sentence: str) -> None:
    for ask in (lambda: estimate(busy(60), name, error), lambda: Settings(estimator=name, estimate_error=error)):
        with pytest.raises(InputError, match=sentence):
            ask()


@pytest.mark.parametrize("name", LEARNED)
def test_what_cannot_learn_says_so(name: str) -> None:
    trace = busy(60)
    with pytest.raises(InputError, match=f"trace busy has no history, but {name} needs jobs that ended before"):
        simulate(replace(trace, history=None), Cluster(2, 4), "finish-time-fairness", settings=Settings(estimator=name))
    unended = of([("a", "x", 1, 900, 5000)], [("a", "x", 1, 1000, 7)])
    with pytest.raises(InputError, match="none of the 1 jobs of its history had ended by its second 0"):
        estimate(unended, name)
    simulate(replace(trace, history=None), Cluster(2, 4), "fifo", settings=Settings(estimator=name))
