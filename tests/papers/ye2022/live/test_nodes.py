"""The nodes that Slurm takes, where the simulator would take others."""

from __future__ import annotations

import pytest
from listed_jobs import listed

from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from papers.ye2022.live.tables import ASTRAEA, CLUSTER, SIMULATED

SETTINGS = Settings(interval=2, checkpoint_overhead=0, restart_overhead=0, placement="strict")


@pytest.mark.parametrize(("policy", "node"), [(ASTRAEA, 2), (SIMULATED, 0)])
def test_a_small_job_goes_to_the_shortest_run_of_nodes(policy: Policy, node: int) -> None:
    jobs = [("a", "t", 6, 0.0, 15.0), ("b", "t", 8, 1.0, 15.0), ("c", "t", 7, 3.0, 15.0), ("d", "t", 1, 5.0, 10.0)]
    found = simulate(listed(*jobs), CLUSTER, policy, settings=SETTINGS, keep_log=True)
    # d fits exactly beside c on node 2, which has an empty neighbour; node 0, where a left two GPUs, has none
    assert found.placements is not None
    assert found.placements["node"].tolist() == [0, 1, 2, node]


def test_gpus_of_a_lease_that_is_over_can_be_taken_at_once() -> None:
    others = ((job, "t", 8, 1.0, 60.0) for job in "bcd")
    trace = listed(("a", "t", 8, 0.0, 60.0), *others, ("e", "t", 8, 3.0, 10.0))
    found = simulate(trace, CLUSTER, SIMULATED, settings=SETTINGS, keep_log=True)
    assert found.grants is not None and found.placements is not None
    [last] = found.grants.index[found.grants["job_id"] == "e"]
    assert found.grants.loc[last, "start"] == 20.0  # a's lease is over, the others' are not
    assert found.placements.set_index("grant").loc[last, "node"] == 0
