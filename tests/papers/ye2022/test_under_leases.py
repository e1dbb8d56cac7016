"""AlloX under leases: a golden schedule, and what tells it from AlloX."""

from __future__ import annotations

from pathlib import Path

from workloads import audit

from papers.ye2022.under_leases import allox_under_leases

NAME = allox_under_leases.name
GOLDEN = Path(__file__).parent / "golden" / f"{NAME}.csv"


def test_schedule_is_the_golden_one() -> None:
    golden = GOLDEN.read_text()
    columns = golden.partition("\n")[0].split(",")
    jobs = audit("few", NAME).jobs[columns]
    assert jobs.to_csv(index=False, float_format="%.6f", lineterminator="\n") == golden


def test_only_it_preempts() -> None:
    assert audit("crowd", NAME).jobs["preemptions"].sum() > 0 == audit("crowd", "allox").jobs["preemptions"].sum()
