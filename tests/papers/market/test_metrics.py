"""What a plan earned and for whom, on plans written by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from market_small import market

from papers.market import metrics
from papers.market.model import Plan, Schedule


def _plan() -> Plan:
    """Three tenants' jobs on 4 workers and 2 parameter servers; the last never runs, the second pays 8."""
    m = market([2, 2, 1, 1], [2] * 4, tenant=[0, 1, 1, 2], arrival=[0, 1, 3, 0], quota=[2, 1, 1], ps_quota=[1, 0, 1])
    one, two = np.array([0]), np.array([2])
    schedules = (
        Schedule(0, 0, 2, one, two, np.array([1])),
        Schedule(1, 1, 3, np.array([1]), two, np.array([1]), 8.0, True, 90.0),
        Schedule(2, 4, 5, one, two, np.array([1])),
    )
    income = np.zeros((3, 3))
    income[:, 1] = [4.0, 1.0, 3.0]
    return Plan(m, schedules, income)


def test_what_a_plan_earned_and_for_whom() -> None:
    plan = _plan()
    assert plan.revenues.tolist() == [98.0, 98.0, 98.0, 0.0]  # from arrival; nothing for a job that never runs
    assert metrics.total_revenue(plan) == 294.0
    # the second has the ideal revenue of its round; the others run for two slots and one
    assert metrics.ideal_revenue(plan) == 98.0 + 90.0 + 99.0
    gains = metrics.gains(plan)
    assert gains.to_dict() == {"tenant 1": 98.0 + 4.0, "tenant 2": 196.0 + 1.0 - 8.0, "tenant 3": 3.0}
    assert gains.sum() == 294.0
    assert metrics.revenue_fairness(plan) == pytest.approx([102 / 294 / 0.5, 189 / 294 / 0.125, 3 / 294 / 0.375])
    assert metrics.makespan(plan) == 5
    assert metrics.utilization(plan, 9).tolist() == [0.5, 1.0, 0.5, 0.0, 0.5]
    assert metrics.utilization(plan, 2).tolist() == [0.5, 1.0]


def test_a_late_job_costs() -> None:
    late = replace(_plan().schedules[0], start=148, end=150)
    assert replace(_plan(), schedules=(late,)).revenues[0] == -50.0


def test_convex_revenue() -> None:
    plan = _plan()
    jobs = replace(plan.market.jobs, utility="convex", slope=np.full(4, -2.0))
    plan = replace(plan, market=replace(plan.market, jobs=jobs))
    assert plan.revenues.tolist() == [2500.0] * 3 + [0.0]


def test_no_revenue_fairness_without_revenue_or_share() -> None:
    empty = replace(_plan(), schedules=())
    assert np.isnan(metrics.revenue_fairness(empty)).all()
    assert metrics.makespan(empty) == 0 and len(metrics.utilization(empty, 9)) == 0
    nothing = replace(_plan().market, worker_quota=np.array([2, 2, 0]), ps_quota=np.array([1, 1, 0]))
    alpha = metrics.revenue_fairness(replace(_plan(), market=nothing))
    assert np.isnan(alpha).tolist() == [False, False, True]
