"""The naive twin against schedules worked out by hand: the oracle has to be right before it judges.

Timelines are drawn as `A 0-60`: job A holds its gang from second 0 to 60; `*` marks a cold start of 20 s, which
makes no progress, as the 5 s of checkpoint at the end of each lease that does not finish the job make none.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from reference import JobSpec, exact, key, place, simulate, starts

F = Fraction




def test_numbers_are_those_that_were_written() -> None:
    assert exact(0.2) == F(1, 5)
    assert type(exact(3.0)) is int
    assert key(F(1, 2**31)) == 1  # half a step goes up
    assert key(F(1, 2**31) - F(1, 10**12)) == 0


def test_fifo_head_blocks_and_shares_are_exact() -> None:
    # 4 GPUs. A (3 GPUs) 0-25, B (4) waits for all GPUs: 30-40, C (1) would fit beside A, but B is before it: 40-45.
    # Fair rates: [0,3) A 3. [3,4) A and B 2 each. [4,25) 4/3 each, C has 1. [25,40) B 2, C 1. [40,45) C 1.
    jobs = [JobSpec(0, 3, 0, 25), JobSpec(0, 4, 3, 10), JobSpec(0, 1, 4, 5)]
    result = simulate(jobs, 1, 4, [1], "fifo")
    assert result["first_start"] == [0, 30, 40]
    assert result["end_time"] == [25, 40, 45]
    assert result["attained"] == [75, 40, 5]
    assert result["fair"] == [9 + 2 + 28, 2 + 28 + 30, 21 + 15 + 5]
    assert result["leases"] == [1, 1, 1]
    assert result["overhead"] == [0, 0, 0]
    # tenant: min(demand, quota) is 3 for 3 s, 4 for 37 s, 1 for 5 s
    assert result["timeline"] == [[(0, 0)], [(120, 9 + 148 + 5)]]


def test_lease_checkpoint_preemption_and_cold_start() -> None:
    # 1 GPU, leases of 60. A needs 100, B 30. A 0-60 (55 done), B is new: 60-90, A* 90-150 (35 done), A 150-160.
    # B ends inside its lease, so nothing is charged. Both deserve 1/2 until 90, then A 1.
    result = simulate([JobSpec(0, 1, 0, 100), JobSpec(0, 1, 0, 30)], 1, 1, [1], "astraea", lease_term=60)
    assert starts(result) == [(0, 0, False), (60, 1, False), (90, 0, False), (150, 0, True)]
    assert result["end_time"] == [160, 90]
    assert result["overhead"] == [5 + 20 + 5, 0]
    assert result["attained"] == [130, 30]
    assert result["fair"] == [45 + 70, 45]
    assert result["leases"] == [3, 1]
    assert result["preemptions"] == [1, 0]


@pytest.mark.parametrize(("duration", "end", "leases"), [(60, 60, 1), (F(121, 2), 65 + F(1, 2), 2)])
def test_a_job_may_finish_at_the_very_end_of_its_lease(duration: Fraction, end: Fraction, leases: int) -> None:
    # 60 s fit into the lease (no checkpoint); 60.5 s do not: 55 done at 60, the other 5.5 in the second lease.
    # A lease of 51 s is rounded up to 60 s.
    result = simulate([JobSpec(0, 1, 0, duration)], 1, 1, [1], "max-min", lease_term=51)
    assert result["end_time"] == [end]
    assert result["leases"] == [leases]


def test_arrivals_and_ends_between_rounds_wait_for_the_next() -> None:
    # A comes at 0.5, is seen at 10 and ends at 12.25; B came at 1 and gets the GPU at 20.
    # A alone deserves 1 for 0.5 s, then 1/2 for 11.25 s; B 1/2 for 11.25 s, then 1 until 21.
    result = simulate([JobSpec(0, 1, 0.5, 2.25), JobSpec(0, 1, 1, 1)], 1, 1, [1], "fifo")
    assert result["first_start"] == [10, 20]
    assert result["end_time"] == [F(49, 4), 21]
    assert result["fair"] == [F(1, 2) + F(45, 8), F(45, 8) + F(35, 4)]


def test_yarn_keeps_tenants_inside_their_quota() -> None:
    # 4 GPUs, weights 3:1, quotas 3 and 1. A (2 of 3) 0-50; B (2) has to wait for A though 2 GPUs are free, C (1) behind
    # it as well; D of the other tenant 0-20.
    jobs = [JobSpec(0, 2, 0, 50), JobSpec(0, 2, 0, 10), JobSpec(0, 1, 0, 10), JobSpec(1, 1, 0, 20)]
    result = simulate(jobs, 1, 4, [3, 1], "yarn-cs")
    assert result["end_time"] == [50, 60, 60, 20]
    # quotas 1.5 and 2.5: one GPU at a time for tenant 0
    pair = [JobSpec(0, 1, 0, 30), JobSpec(0, 1, 0, 30)]
    assert simulate(pair, 1, 4, [3, 5], "yarn-cs")["first_start"] == [0, 30]


def test_jobs_that_could_never_run_are_set_aside() -> None:
    # quotas 1.5 and 2.5: a gang of 2 never fits into floor(1.5); it is not active and takes nobody's share.
    result = simulate([JobSpec(0, 2, 0, 10), JobSpec(0, 1, 0, 10), JobSpec(1, 5, 0, 10)], 1, 4, [3, 5], "fifo")
    assert result["excluded_jobs"] == [0, 2]
    assert result["end_time"] == [None, 10, None]
    assert result["fair"] == [0, 10, 0]


@pytest.mark.parametrize(("promote", "order"), [(0, [0, 0, 1, 1, 0]), (0.5, [0, 0, 1, 0, 0])])
def test_tiresias_queues_and_promotion(promote: float, order: list[int]) -> None:
    # 1 GPU, leases of 60, one threshold of 100 GPU-s. A 0-60-120 reaches it; B 120-180-240 reaches it too; then A is
    # first of the second queue. Promotion at half the executed time: at 180 A has waited 60 >= 120 / 2, goes back to
    # the first queue, where it is before B; its count starts again, so it stays for two leases.
    jobs = [JobSpec(0, 1, 0, 300), JobSpec(0, 1, 0, 300)]
    params = {"thresholds": (100,), "promote": promote}
    result = simulate(jobs, 1, 1, [1], "tiresias-l", params, lease_term=60)
    assert [g.job for g in result["grants"]][:5] == order


def test_tiresias_level_is_reached_at_the_threshold_in_gpu_seconds() -> None:
    # 2 GPUs, leases of 60: A has 2 * 60 GPU-s at 60.
    jobs = [JobSpec(0, 2, 0, 300), JobSpec(0, 2, 0, 30)]
    for threshold, start in [(120, 60), (121, 120)]:
        result = simulate(jobs, 1, 2, [1], "tiresias-l", {"thresholds": (threshold,)}, lease_term=60)
        assert result["first_start"] == [0, start]


def test_tiresias_passes_over_what_does_not_fit() -> None:
    # 2 GPUs: A holds one, B (2) does not fit, C (1) does.
    jobs = [JobSpec(0, 1, 0, 30), JobSpec(0, 2, 0, 30), JobSpec(0, 1, 0, 30)]
    assert simulate(jobs, 1, 2, [1], "tiresias-l")["first_start"] == [0, 30, 0]


def test_weighted_shares_inside_a_tenant() -> None:
    # 4 GPUs, 3 to 1: A deserves 3 and B 1, but A asks for 2 only.
    result = simulate([JobSpec(0, 2, 0, 12, weight=3), JobSpec(0, 4, 0, 12)], 1, 4, [1], "fifo")
    assert result["end_time"] == [12, 32]
    assert result["fair"] == [24, 12 * 1 + 20 * 4]


def test_max_min_counts_gpus_of_this_moment() -> None:
    # 4 GPUs. A (2, tenant 0) runs; at 10: C (1) as tenant 1 has none; then D (2) as it has one, but 1 is free: tenant 1
    # is closed; B (1) takes it.
    jobs = [JobSpec(0, 2, 0, 60), JobSpec(0, 1, 5, 60), JobSpec(1, 1, 5, 60), JobSpec(1, 2, 5, 60)]
    assert simulate(jobs, 1, 4, [1, 1], "max-min")["first_start"] == [0, 10, 10, 60]


def test_max_min_shares_a_round_by_weight() -> None:
    # 6 GPUs, weights 2 and 1, all jobs of one GPU: 4 of tenant 0 and 2 of tenant 1 start, the others wait.
    jobs = [JobSpec(0, 1, 0, 30)] * 5 + [JobSpec(1, 1, 0, 30)] * 3
    assert simulate(jobs, 1, 6, [2, 1], "max-min")["first_start"] == [0, 0, 0, 0, 30, 0, 0, 30]


def test_finish_time_fairness_isolated_time() -> None:
    # 2 GPUs, both new, N = 2: A (2 GPUs) 100 / (100 * 2), B (1 GPU) the same: A came first, and B does not fit.
    pair = [JobSpec(0, 2, 0, 100), JobSpec(0, 1, 0, 100)]
    assert simulate(pair, 1, 2, [1], "finish-time-fairness")["first_start"] == [0, 100]
    # 4 GPUs. K (4) 0-100. At 100 A (4 GPUs, 50 s, since 10): N = (80 * 2 + 10 * 3) / 90, (90 + 50) / (50 * N) = 1.326.
    # B (1 GPU, 100 s, since 90): N = 3, (10 + 100) / (100 * 3) = 0.367. A is first.
    jobs = [JobSpec(0, 4, 0, 100), JobSpec(0, 4, 10, 50), JobSpec(0, 1, 90, 100)]
    assert simulate(jobs, 1, 4, [1], "finish-time-fairness")["first_start"] == [0, 100, 150]


def test_finish_time_fairness_serves_the_worst_off() -> None:
    # 1 GPU, leases of 60. A (100 s) alone 0-50, then with C (1000 s). At 60 A has 55 done and N = (50 + 2 * 10) / 60:
    # rho_F = (60 + 45) / (100 * 7/6) = 0.9; C: (10 + 1000) / (1000 * 2) = 0.505. A is renewed and ends at 105.
    jobs = [JobSpec(0, 1, 0, 100), JobSpec(0, 1, 50, 1000)]
    result = simulate(jobs, 1, 1, [1], "finish-time-fairness", lease_term=60)
    assert starts(result)[:3] == [(0, 0, False), (60, 0, True), (110, 1, False)]
    assert result["end_time"][0] == 105


@pytest.mark.parametrize(
    ("free", "demand", "placement", "nodes"),
    [
        ([4, 4, 2, 1], 1, "consolidated", ((3, 1),)),  # the fullest node that fits
        ([4, 4, 2, 1], 3, "consolidated", ((0, 3),)),
        ([4, 4, 2, 1], 5, "consolidated", ((0, 4), (3, 1))),  # a whole node, the rest where it is tightest
        ([4, 4, 2, 1], 7, "consolidated", ((0, 4), (1, 3))),
        ([4, 4, 2, 1], 8, "strict", ((0, 4), (1, 4))),
        ([3, 3, 2, 1], 4, "consolidated", ((0, 3), (3, 1))),  # no whole node: the emptiest, the rest tightest
        ([3, 3, 2, 1], 6, "consolidated", ((0, 3), (1, 3))),
        ([3, 3, 2, 1], 4, "strict", None),
        ([4, 1, 1, 0], 6, "consolidated", ((0, 4), (1, 1), (2, 1))),  # whole node, but no node for the rest
        ([4, 1, 1, 0], 6, "strict", None),
        ([2, 1, 2, 0], 3, "spread", ((0, 2), (2, 1))),
    ],
)
def test_placement(free: list[int], demand: int, placement: str, nodes: tuple[tuple[int, int], ...] | None) -> None:
    assert place(free, 4, demand, placement) == nodes


@pytest.mark.parametrize(
    ("placement", "start", "end", "nodes"),
    [("consolidated", 20, 80, ((0, 1), (1, 1))), ("strict", 100, 130, ((0, 2),))],
)
def test_sensitive_job_on_more_nodes_than_it_needs(
    placement: str, start: int, end: int, nodes: tuple[tuple[int, int], ...]
) -> None:
    # 2 nodes of 2. A and B on node 0, C on node 1; D on node 1 at 10; B ends at 20 and leaves one GPU on each node.
    # E (2 GPUs, 30 s, half speed when apart) runs apart 20-80, or waits for node 0 until A ends at 100.
    jobs = [JobSpec(0, 1, 0, 100), JobSpec(0, 1, 0, 20), JobSpec(0, 2, 0, 10), JobSpec(0, 1, 5, 200)]
    jobs += [JobSpec(0, 2, 15, 30, sensitivity=0.5)]
    result = simulate(jobs, 2, 2, [1], "fifo", placement=placement)
    assert (result["first_start"][4], result["end_time"][4]) == (start, end)
    assert result["grants"][4].nodes == nodes


def test_timeline_goes_to_the_first_hour_after_the_last_end() -> None:
    result = simulate([JobSpec(0, 2, 0, 4000), JobSpec(1, 1, 100, 3500)], 1, 4, [1, 1], "fifo")
    assert result["timeline"] == [[(0, 0), (0, 0)], [(7200, 7200), (3500, 3500)], [(8000, 8000), (3500, 3500)]]
    assert len(simulate([JobSpec(0, 1, 0, 3600)], 1, 1, [1], "fifo")["timeline"]) == 2


def test_what_has_no_answer_is_refused() -> None:
    job = JobSpec(0, 1, 0, 10)
    with pytest.raises(ValueError, match="no time for progress"):
        simulate([job], 1, 1, [1], "astraea", lease_term=20)
    with pytest.raises(ValueError, match="order of submission"):
        simulate([job._replace(submit=1), job], 1, 1, [1], "fifo")
    with pytest.raises(TypeError, match="no_such_option"):
        simulate([job], 1, 1, [1], "fifo", {"no_such_option": 1})
