"""Shares with queues above the tenants."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from places import ROOT
from schedules import jobs, trace_of

from astraea.cluster.cluster import Cluster
from astraea.cluster.rules import checked, no_rules
from astraea.core.errors import InputError
from astraea.traces.readers import read_trace
from astraea.traces.readers.shares import read_shares
from astraea.traces.trace import Trace
from astraea.traces.tree import Shares
from astraea_ops.audit.audit import anonymous

FILE = """queue,share,limit,parent,quota,priority
physics,3,,,,
astro,2,8,physics,6,1
bio,1,,physics,,
cs,1,,,inf,
"""
WEIGHTS = {"astro": 1 / 2, "bio": 1 / 4, "cs": 1 / 4}


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """Three jobs of the tenants of the file, read from files as a user has them."""
    (tmp_path / "shares.csv").write_text(FILE)
    names, columns = {"a": "astro", "b": "bio", "c": "cs"}, {"tenant": "user", "demand": "num_gpu"}
    rows = pd.DataFrame(jobs("c0 1 0 10", "b1 1 0 10", "a2 1 5 10")).drop(columns="deadline")
    rows.assign(tenant=rows["tenant"].map(names)).rename(columns=columns).to_csv(tmp_path / "jobs.csv", index=False)
    return read_trace(tmp_path / "jobs.csv", time_unit="s", weights=tmp_path / "shares.csv")


def test_a_tree_is_read_and_a_tenant_has_the_share_that_it_gives_it(trace: Trace) -> None:
    assert dict(zip(trace.tenants, trace.tenant_weight, strict=True)) == pytest.approx(WEIGHTS)
    assert trace.tree is not None
    assert trace.tree.parent.tolist() == [3, 3, -1, -1]  # physics is the last, behind the tenants
    np.testing.assert_array_equal(trace.tree.quota, [6, np.nan, np.inf, np.nan])
    assert trace.tree.limit.tolist() == [8, np.inf, np.inf, np.inf]
    assert trace.tree.priority.tolist() == [1, 0, 0, 0]
    assert trace.tree.least_limit.tolist() == [8, np.inf, np.inf, np.inf]


def test_the_example_of_the_documents(tmp_path: Path) -> None:
    found = re.search(r"```csv\n(queue,.*?)```", (ROOT / "docs" / "your_own_trace.md").read_text(), re.S)
    assert found is not None
    path = tmp_path / "shares.csv"
    path.write_text(found[1])
    assert read_shares(path) == pytest.approx(WEIGHTS)


def test_what_keeps_the_tenants_keeps_the_tree(trace: Trace) -> None:
    for kept in (trace.head(1), trace.window(0, 3), trace.scale_load(2), anonymous(trace)):
        assert kept.tree is trace.tree
    assert trace.with_weights(WEIGHTS).tree is None
    assert trace.with_weights(WEIGHTS).digest != trace.digest


def test_a_queue_above_others_is_no_tenant(trace: Trace) -> None:
    assert trace.tree is not None
    weights = Shares(WEIGHTS, trace.tree)
    with pytest.raises(InputError, match="tenant 'physics' has no weight; weights are given for astro, bio, cs"):
        trace_of([row | {"tenant": "physics"} for row in jobs("p0 1 0 10")], weights)


def test_a_tree_is_one_of_accounts_to_slurm(trace: Trace) -> None:
    rules = checked(no_rules(trace, Cluster(1, 8)), trace, Cluster(1, 8))
    assert rules.parent.tolist() == [-1, -1, 0, 0, -1]  # physics, cs, bio, astro, and the idle root
    assert rules.shares.tolist() == [3, 1, 1, 2, 1]
    assert rules.association.tolist() == [2, 1, 3]
