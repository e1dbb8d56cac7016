"""The ladder: one difference a rung, from one reading to the other, and differences within a seed."""

from __future__ import annotations

import itertools

import pandas as pd
import pytest

import astraea
from astraea.cluster.policies import get_policy
from astraea.core.metrics import tenant_windows
from papers.ye2022.ladder import BEFORE, MEASURES, RULES, RUNGS, UNITS, differences, in_units, measures
from papers.ye2022.readings import FLAWED, IN_PROGRAM
from papers.ye2022.whole_rounds import simulate_in_whole_rounds
from papers.ye2022.with_rules import astraea_with_rules
from papers.ye2022.workloads import load_workload


def test_it_leads_from_one_reading_to_the_other_one_difference_at_a_time() -> None:
    line = [rung for rung in RUNGS if not rung.beside]
    first, last = line[0], line[-1]
    assert all(policy == get_policy(name) for name, policy in first.schedulers.items())
    assert (first.estimator, first.in_rounds) == ("gradient-boosting", True)
    assert (last.schedulers, last.settings, last.estimator) == (IN_PROGRAM, FLAWED, "oracle")
    assert last.simulate is simulate_in_whole_rounds
    for before, rung in itertools.pairwise(line):
        changed = ("schedulers", "settings", "learned", "in_rounds")
        assert sum(getattr(before, name) != getattr(rung, name) for name in changed) == 1, rung.name
    for count, rung in enumerate(line[1:5], 1):
        off, mine = astraea_with_rules.parameters, rung.schedulers["astraea"].parameters
        assert {name: mine[name] for name in mine if mine[name] != off[name]} == dict([*RULES.items()][:count])


def test_side_rungs_turn_early_leases_on_and_off_for_all() -> None:
    thresholds = {
        rung.name: {name: one.parameters.get("delay_threshold") for name, one in rung.schedulers.items()}
        for rung in RUNGS
    }
    on, off = {"astraea": 300, "themis": 300}, {"tiresias-l": 0, "fifo": 0}
    assert thresholds["counted in whole rounds"] == {**on, **off, "yarn-cs": None}
    assert set(thresholds["early leases for all"].values()) == {300, None}
    assert set(thresholds["early leases for none"].values()) == {0, None}
    assert {rung.beside for rung in RUNGS if rung.beside} == {"counted in whole rounds"}


def test_differences_are_paired_within_a_seed() -> None:
    """ASTRAEA loses 1 + seed on the first rung and a tenth less on each one after; a rival always loses 3."""
    rows = [
        {"rung": rung.name, "scheduler": name, "seed": seed, **dict.fromkeys(MEASURES, loss)}
        for k, rung in enumerate(RUNGS)
        for seed in (0, 1)
        for name, loss in (("astraea", 1 + seed - k / 10 - seed * (k == 1)), ("fifo", 3.0))
    ]
    found = differences(pd.DataFrame(rows)).set_index(["minus", "measure", "rung"]).sort_index()
    loss = found.loc[(BEFORE, "average_jct")]
    assert RUNGS[0].name not in loss.index  # it has none before
    assert loss.loc[RUNGS[1].name, "mean"] == pytest.approx(-0.6)  # -0.1 and -1.1: Student's t with one degree: 12.7
    assert loss.loc[RUNGS[1].name, "high"] == pytest.approx(-0.6 + 12.706 * 0.5, abs=1e-3)
    assert loss.loc[RUNGS[-1].name, "mean"] == pytest.approx(-0.2)  # from the eleventh, beside which it is
    assert loss.loc[RUNGS[-1].name, "high"] == pytest.approx(-0.2)
    assert found.loc[("fifo", "sharing_loss", RUNGS[0].name), "mean"] == pytest.approx(1.5 - 3)


def test_measures_are_those_of_each_result() -> None:
    trace, cluster = load_workload("venus", "small")
    runs = astraea.sweep(
        trace.head(300), cluster, ["astraea", "fifo"], placement=["consolidated", "strict"], progress=False
    )
    table = measures(runs)
    assert table[["scheduler", "placement"]].equals(runs.index[["scheduler", "placement"]])
    for row, result in zip(table.to_dict("records"), runs, strict=True):
        rho = tenant_windows(result)["rho_tenant"].dropna()
        assert row["tenant_below_99"] == pytest.approx((rho < 0.99 - 1e-9).mean())
        assert row["sharing_loss"] == pytest.approx((result.jobs["rho_job"].dropna() < 0.95).mean())
        assert row["average_jct"] == pytest.approx(result.jobs["jct"].mean())
    long = in_units(table)
    assert len(long) == len(table) * len(UNITS)
    hours = long[long["panel"] == "average JCT [h]"]["value"].to_numpy()
    assert hours.tolist() == pytest.approx((table["average_jct"] / 3600).tolist())
