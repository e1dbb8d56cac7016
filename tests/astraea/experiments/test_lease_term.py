"""The recommended lease term."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.core.metrics import summary
from astraea.experiments.grid import run_grid
from astraea.experiments.lease_term import recommended_term, select_lease_term
from astraea.experiments.run import Run
from astraea.traces.trace import Trace

ONE = Cluster(1, 1)
ASTRAEA = get_policy("astraea")


@pytest.fixture(scope="module")
def trace() -> Trace:
    """Two long jobs that take turns on one GPU: every turn costs a checkpoint and a restart."""
    return Trace.from_frame(
        pd.DataFrame(
            {"job_id": ["1", "2"], "tenant": "t", "demand": 1, "submit_time": 0.0, "duration": [2000.0, 2000.0]}
        ),
        name="turns",
    )


def test_the_table_holds_what_simulations_give(trace: Trace, tmp_path: Path) -> None:
    choice = select_lease_term(Run(trace, ONE, ASTRAEA), terms=(600, 60, 300), cache=tmp_path, progress=False)
    assert list(choice.table) == ["lease_term", "average_jct", "overhead_share", "sharing_loss"]
    assert choice.table["lease_term"].tolist() == [60, 300, 600]
    assert (choice.lease_term, choice.reason) == recommended_term(choice.table)
    for row in choice.table.to_dict("records"):
        figures = summary(simulate(trace, ONE, get_policy("astraea")(lease_term=row["lease_term"])))
        assert all(row[name] == figures[name] for name in ("average_jct", "overhead_share", "sharing_loss"))


def test_other_parameters_and_settings_stay(trace: Trace, tmp_path: Path) -> None:
    policy, settings = get_policy("astraea")(idle_guard=0.2), Settings(restart_overhead=7.0)
    options: dict[str, Any] = {"cache": tmp_path, "progress": False}
    select_lease_term(Run(trace, ONE, policy, 2, settings), terms=(300,), **options)
    (path,) = tmp_path.iterdir()
    run = Run(trace, ONE, policy(lease_term=300), 2, settings)
    assert path.stem == run.key
    assert run_grid([run], **options)[0].provenance["parameters"]["idle_guard"] == 0.2


def test_bad_input(trace: Trace, tmp_path: Path) -> None:
    for policy, terms, sentence in (
        ("fifo", (60,), "policy fifo does not preempt"),
        ("astraea", (), "at least one lease term"),
        ("astraea", (5,), "lease_term must be at least the scheduling interval"),
    ):
        with pytest.raises(InputError, match=sentence):
            select_lease_term(Run(trace, ONE, get_policy(policy)), terms, cache=tmp_path, progress=False)


def leases(jct: dict[float, float]) -> pd.DataFrame:
    rows = [{"lease_term": k, "average_jct": v, "overhead_share": 0.01, "sharing_loss": 0.2}
            for k, v in jct.items()]  # fmt: skip
    return pd.DataFrame(rows)


def test_the_shortest_term_within_the_tolerance_of_the_best_mean_is_recommended() -> None:
    frame = leases({3600.0: 101.0, 60.0: 130.0, 600.0: 102.0, 1200.0: 100.0, 300.0: 102.1})
    term, reason = recommended_term(frame)
    assert term == 600
    assert reason == (
        "600 s is the shortest lease term whose average JCT, 102 s, is within 2 % of the best, 100 s at 1200 s; "
        "checkpoints and restarts are 1.00 % of it, and 20.0 % of the jobs have sharing loss."
    )
    assert recommended_term(frame, tolerance=0)[0] == 1200
    assert recommended_term(leases({60.0: 102.0, 120.0: 101.0, 300.0: 100.0}))[0] == 60  # exactly 2 % is within
    frame = pd.concat([leases({300.0: 90.0, 900.0: 100.0}), leases({300.0: 120.0, 900.0: 100.0})])
    assert recommended_term(frame)[0] == 900
