"""The naive twin of ASTRAEA and its rules, against schedules by hand."""

from __future__ import annotations

from typing import Any

import pytest
from reference import JobSpec, simulate, starts


def test_astraea_tenant_with_least_of_its_quota_is_next() -> None:
    # 2 GPUs, equal quotas of 1, leases of 60. Only tenant 0 is there at 0: A and B run 0-60 (120 GPU-s). At 60 C and D
    # of tenant 1 are new: 0 < 120 gives C; then 60 / 120 = 1/2 is still less than 120 / 120, so D runs as well.
    # At 90 both have ended. Attained: 120 against 60; A and B run again, with a cold start.
    jobs = [JobSpec(0, 1, 0, 100), JobSpec(0, 1, 0, 100), JobSpec(1, 1, 50, 30), JobSpec(1, 1, 50, 30)]
    result = simulate(jobs, 1, 2, [1, 1], "astraea", lease_term=60)
    assert starts(result)[:6] == [
        (0, 0, False), (0, 1, False), (60, 2, False), (60, 3, False), (90, 0, False), (90, 1, False),
    ]  # fmt: skip
    assert result["end_time"] == [160, 160, 90, 90]


def test_astraea_gang_that_does_not_fit_closes_its_tenant() -> None:
    # 4 GPUs, quotas 3 and 1. A (2) of tenant 0 first; at 10, B (3) and C (1) of tenant 0: B is older and does not fit,
    # so C waits with it; D of tenant 1 is served.
    jobs = [JobSpec(0, 2, 0, 60), JobSpec(0, 3, 5, 10), JobSpec(0, 1, 6, 10), JobSpec(1, 1, 7, 10)]
    assert simulate(jobs, 1, 4, [3, 1], "astraea", lease_term=60)["first_start"] == [0, 60, 60, 10]


@pytest.mark.parametrize(
    ("early", "grants", "overhead", "end"),
    [
        # A (2 of 2 GPUs, 500 s, leases of 100) is renewed at 100; B (new at 105, 20 s) takes its GPUs at 110.
        # A* 130-230 (75 done), 230-330-430-530 (95 each), 45 left: 575. Lost: 5 + 10 + (20 + 5) + 3 * 5.
        (50, [(0, 0, False), (100, 0, True), (110, 1, False), (130, 0, False)], 55, 575),
        # 10 s into the lease is not less than 10 s: B waits until 200, A* 220-320 (75), 320-420 (95), 420-520 (95),
        # 45 left: 565. Lost: 2 * 5 + (20 + 5) + 2 * 5.
        (10, [(0, 0, False), (100, 0, True), (200, 1, False), (220, 0, False)], 45, 565),
    ],
)
def test_astraea_early_lease(early: float, grants: list[tuple[int, int, bool]], overhead: int, end: int) -> None:
    jobs = [JobSpec(0, 2, 0, 500), JobSpec(0, 2, 105, 20)]
    result = simulate(jobs, 1, 2, [1], "astraea", {"early_lease": early}, lease_term=100)
    assert starts(result)[:4] == grants
    assert result["overhead"] == [overhead, 0]
    assert result["end_time"][0] == end
    assert result["preemptions"] == [1, 0]
    assert result["attained"][0] == 2 * (500 + overhead)


def test_astraea_early_lease_takes_the_youngest_and_only_if_it_helps() -> None:
    # 3 GPUs, leases of 100. A 0-100-, B (from 10) 10-110-, C (from 20) 20-120-. D (new) comes at 121: one GPU is that
    # of C (10 s into its lease at 130), two are those of C and B (20 s). A gang of 3 cannot have A as well (30 s in)
    # and takes nobody. Nor does anybody lose a first lease: D at 25 waits until A has to ask at 100.
    base = [JobSpec(0, 1, 0, 300), JobSpec(0, 1, 10, 300), JobSpec(0, 1, 20, 300)]
    params = {"early_lease": 30}
    one = simulate([*base, JobSpec(0, 1, 121, 10)], 1, 3, [1], "astraea", params, lease_term=100)
    assert one["first_start"][3] == 130
    assert one["preemptions"] == [0, 0, 1, 0]
    two = simulate([*base, JobSpec(0, 2, 121, 10)], 1, 3, [1], "astraea", params, lease_term=100)
    assert two["first_start"][3] == 130
    assert two["preemptions"] == [0, 1, 1, 0]
    three = simulate([*base, JobSpec(0, 3, 121, 10)], 1, 3, [1], "astraea", params, lease_term=100)
    assert three["first_start"][3] > 130
    first = simulate([*base, JobSpec(0, 1, 25, 10)], 1, 3, [1], "astraea", params, lease_term=100)
    assert first["first_start"][3] == 100


@pytest.mark.parametrize(("params", "first"), [({}, 6), ({"tenant_window": 3600}, 5)])
def test_astraea_tenant_window_forgets(params: dict[str, Any], first: int) -> None:
    # 3 GPUs, one per quota, leases of 3600. Tenant 0 used 2 GPUs in the first hour, tenant 1 one GPU in the second;
    # tenant 2 holds two GPUs from 3700 to 7300. At 7200, jobs 5 (tenant 0) and 6 (tenant 1) want the GPU left:
    # 7200 > 3600 GPU-s since 0, but 0 < 3600 since 3600.
    jobs = [JobSpec(0, 1, 0, 3600), JobSpec(0, 1, 0, 3600), JobSpec(1, 1, 3600, 3600)]
    jobs += [JobSpec(2, 1, 3700, 3600), JobSpec(2, 1, 3700, 3600), JobSpec(0, 1, 7195, 50), JobSpec(1, 1, 7195, 50)]
    result = simulate(jobs, 1, 3, [1, 1, 1], "astraea", params, lease_term=3600)
    assert result["first_start"][first] == 7200
    assert result["first_start"][11 - first] == 7250
    assert [hour[0][0] for hour in result["timeline"]] == [0, 7200, 7200, 7250]


@pytest.mark.parametrize(("params", "starts_at"), [({}, [140, 100]), ({"idle_guard": 0.2}, [100, 140])])
def test_astraea_idle_guard(params: dict[str, Any], starts_at: list[int]) -> None:
    # 4 GPUs, quotas 2 and 2. Tenant 0 had 2 GPUs for 0-100 (200 GPU-s); tenant 1 has 1 + 1 since 40 (120 GPU-s at 100).
    # At 100 two gangs of 2 want the 2 GPUs left: tenant 1 has less, but tenant 0 holds nothing.
    jobs = [JobSpec(0, 2, 0, 100), JobSpec(1, 1, 40, 100), JobSpec(1, 1, 40, 100)]
    jobs += [JobSpec(0, 2, 95, 50), JobSpec(1, 2, 95, 50)]
    result = simulate(jobs, 1, 4, [1, 1], "astraea", params, lease_term=100)
    assert result["first_start"][3:] == starts_at


@pytest.mark.parametrize(("starvation", "third"), [(0, 2), (60, 0), (61, 2)])
def test_astraea_starving_job_is_before_new_ones(starvation: float, third: int) -> None:
    # 1 GPU, leases of 60: A 0-60, B (new at 50) 60-120; at 120 C is new, and A has waited for 60.
    jobs = [JobSpec(0, 1, 0, 100), JobSpec(0, 1, 50, 60), JobSpec(0, 1, 70, 60)]
    result = simulate(jobs, 1, 1, [1], "astraea", {"starvation": starvation}, lease_term=60)
    assert starts(result)[2] == (120, third, False)


@pytest.mark.parametrize(
    ("params", "deadline", "third"),
    [
        ({}, None, (120, 0, False)),  # both have 60 of 60 GPU-s: the older
        ({"renewal_bonus": 0.125}, None, (120, 1, True)),
        ({"deadline_bonus": 0.125}, 120, (120, 1, True)),
        ({"deadline_bonus": 0.125}, 119, (120, 0, False)),
        ({"deadline_bonus": 0.125}, float("nan"), (120, 0, False)),
    ],
)
def test_astraea_bonuses(params: dict[str, Any], deadline: float | None, third: tuple[int, int, bool]) -> None:
    # 1 GPU, leases of 60: A 0-60, B 60-120.
    jobs = [JobSpec(0, 1, 0, 300), JobSpec(0, 1, 0, 300, deadline=deadline)]
    assert starts(simulate(jobs, 1, 1, [1], "astraea", params, lease_term=60))[2] == third


def test_astraea_counts_what_it_has_granted_in_this_round() -> None:
    # 2 GPUs, equal quotas, all new at 0: one GPU for each tenant.
    jobs = [JobSpec(0, 1, 0, 30), JobSpec(0, 1, 0, 30), JobSpec(1, 1, 0, 30), JobSpec(1, 1, 0, 30)]
    assert simulate(jobs, 1, 2, [1, 1], "astraea")["first_start"] == [0, 30, 0, 30]


def test_astraea_renewal_bonus_grows_with_the_leases() -> None:
    # 1 GPU, leases of 60. A 0-60-120, B (at 65) is new: 120-180. At 180 -60/57.5 + 0.3 beats -120/122.5 of A; at 240 B
    # has two leases: -120/87.5 + 0.6 = -0.771 beats -120/152.5 = -0.787.
    jobs = [JobSpec(0, 1, 0, 300), JobSpec(0, 1, 65, 300)]
    result = simulate(jobs, 1, 1, [1], "astraea", {"renewal_bonus": 0.3}, lease_term=60)
    assert [g.job for g in result["grants"]][:5] == [0, 0, 1, 1, 1]
