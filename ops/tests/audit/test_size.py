"""The size of a cluster: inferred from its log, or given, and then contradicted by the log."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest
from recorded_logs import recorded

from astraea.cluster.cluster import Cluster
from astraea.traces.trace import Trace
from astraea_ops.audit.recorded import cluster_of

LOG = ("a1 4 0 0 100", "a2 4 0 0 90", "b1 2 10 100 150", "b2 8 20 200 300", "b3 3 30 300 400")
NODES = {"a1": "n1", "a2": "n2", "b1": "n[1-2]", "b2": "n[1-2]", "b3": "n3"}


def on_nodes(nodes: dict[str, str]) -> Trace:
    trace = recorded(*LOG)
    return dataclasses.replace(trace, details=pd.DataFrame({"node_list": [nodes.get(id, "") for id in trace.job_id]}))


@pytest.mark.parametrize(
    ("nodes", "given", "cluster"),
    [
        (NODES, (None, None), Cluster(3, 4)),  # two of three were full
        (NODES | {"a2": "n4", "b1": "n[5-6]"}, (None, None), Cluster.of([4, 4, 3, 4, 1, 1])),
        (NODES, (None, 8), Cluster(3, 8)),
        ({}, (None, None), Cluster(1, 8)),
        ({}, (None, 4), Cluster(2, 4)),
        (NODES, (2, 4), Cluster(2, 4)),
        (NODES, (5, None), Cluster(5, 8)),
        ({"a1": "n1", "a2": "n1"}, (None, 4), Cluster(2, 4)),  # eight GPUs were in use
    ],
)
def test_a_cluster_by_its_log(nodes: dict[str, str], given: tuple[int | None, int | None], cluster: Cluster) -> None:
    found, said = cluster_of(on_nodes(nodes), *given)
    assert found == cluster
    assert given[0] is not None or "is taken as " in said[0]


@pytest.mark.parametrize(
    ("given", "doubts"),
    [
        ((3, 4), ["At most 8 of 12 GPUs were ever in use, and jobs ran on 3 of 3 nodes, although 3 jobs waited. "]),
        ((2, 4), ["Jobs ran on 3 nodes, more than the 2 that were given (--nodes)."]),
        ((4, 2), ["On node n1, 4 GPUs were in use at once, more than the 2 that were given (--gpus-per-node)."]),
    ],
)
def test_a_log_that_contradicts_what_is_given(given: tuple[int, int], doubts: list[str]) -> None:
    said = cluster_of(on_nodes(NODES), *given)[1]
    assert len(said) == len(doubts)
    assert all(line.startswith(doubt) for line, doubt in zip(said, doubts, strict=True))


def test_a_quiet_cluster_may_be_large() -> None:
    assert cluster_of(recorded("a1 4 0 0 100"), 50, 8)[1] == []
