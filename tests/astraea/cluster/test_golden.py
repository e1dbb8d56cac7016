"""One small schedule of every policy, compared as text.

``PYTHONPATH=tests/helpers python tests/astraea/cluster/test_golden.py`` writes the files anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from workloads import workload

from astraea.cluster.policies import POLICIES
from astraea.cluster.simulate import simulate

GOLDEN = Path(__file__).parent / "golden"
COLUMNS = [
    "job_id", "tenant", "demand", "submit_time", "first_start_time", "end_time", "leases", "preemptions", "overhead",
    "attained_service", "fair_service", "rho_job",
]  # fmt: skip


def table(policy: str) -> str:
    """What a policy makes of 40 jobs, as CSV; to the microsecond, so that the last bit of a sum does not matter."""
    w = workload("few")
    result = simulate(w.trace, w.cluster, policy)
    return str(result.jobs[COLUMNS].to_csv(index=False, float_format="%.6f", lineterminator="\n"))


@pytest.mark.parametrize("policy", POLICIES)
def test_schedule_is_the_golden_one(policy: str) -> None:
    assert (GOLDEN / f"{policy}.csv").read_text() == table(policy)


def test_there_is_no_golden_file_without_a_policy() -> None:
    assert {path.stem for path in GOLDEN.glob("*.csv")} == set(POLICIES)


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name in POLICIES:
        (GOLDEN / f"{name}.csv").write_text(table(name))
