"""The nodes that Slurm takes, where the simulator would take others."""

from __future__ import annotations

import pandas as pd
import pytest

from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.traces.trace import Trace
from papers.ye2022.live.nodes import on_slurms_nodes
from papers.ye2022.live.tables import ASTRAEA, CLUSTER


@pytest.mark.parametrize(("is_slurms", "node"), [(False, 2), (True, 0)])
def test_a_small_job_goes_to_the_shortest_run_of_nodes(is_slurms: bool, node: int) -> None:
    jobs = {"job_id": list("abcd"), "tenant": "all", "demand": [6, 8, 7, 1], "submit_time": [0.0, 1.0, 3.0, 5.0],
            "duration": [15.0, 15.0, 15.0, 10.0]}  # fmt: skip
    policy = on_slurms_nodes(ASTRAEA) if is_slurms else ASTRAEA
    settings = Settings(interval=2, checkpoint_overhead=0, restart_overhead=0, placement="strict")
    found = simulate(Trace.from_frame(pd.DataFrame(jobs)), CLUSTER, policy, settings=settings, keep_log=True)
    # d fits exactly beside c on node 2, which has an empty neighbour; node 0, where a left two GPUs, has none
    assert found.placements is not None
    assert found.placements["node"].tolist() == [0, 1, 2, node]


def test_gpus_of_a_lease_that_is_over_can_be_taken_at_once() -> None:
    jobs = {"job_id": list("abcde"), "tenant": "all", "demand": 8, "submit_time": [0.0, 1.0, 1.0, 1.0, 3.0],
            "duration": [60.0, 60.0, 60.0, 60.0, 10.0]}  # fmt: skip
    settings = Settings(interval=2, checkpoint_overhead=0, restart_overhead=0, placement="strict")
    trace = Trace.from_frame(pd.DataFrame(jobs))
    found = simulate(trace, CLUSTER, on_slurms_nodes(ASTRAEA), settings=settings, keep_log=True)
    grants = found.grants
    assert grants is not None and found.placements is not None
    [last] = grants.index[grants["job_id"] == "e"]
    assert grants.loc[last, "start"] == 20.0  # a's lease is over, the others' are not
    assert found.placements.set_index("grant").loc[last, "node"] == 0
