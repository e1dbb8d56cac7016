"""Rules of the authors' program in Algorithms 1 and 2, on workloads small enough to draw; all off, they are ASTRAEA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from schedules import check
from workloads import audit

from papers.ye2022.with_rules import astraea_with_rules

NAME = astraea_with_rules.name
LEASED = {"lease_term": 30}
SCHEDULES: dict[str, tuple[Any, ...]] = {
    "tenant_window": (  # a ran for two hours, an hour ago; over the last hour it is not ahead
        NAME, 2, {"lease_term": 600, "tenant_window": [0, 3600], "step": 600},
        "a0 1 0 7200     |Srrrrrrrrrrr           |Srrrrrrrrrrr",
        "a1 1 0 7200     |Srrrrrrrrrrr           |Srrrrrrrrrrr",
        "a2 1 10800 1200 |                  ..Sr |                  S.R",
        "a3 1 10800 1200 |                  ..Sr |                  .S.R",
        "b4 1 10800 1200 |                  Sr   |                  S.R",
        "b5 1 10800 1200 |                  Sr   |                  .S.R",
    ),
    "idle_guard": (  # b had its share earlier and has nothing now
        NAME, 2, LEASED | {"idle_guard": [0, 0.5]},
        "b0 1 0 60  |S==r==          |S==r==",
        "b1 1 0 60  |S==r==          |S==r==",
        "a2 1 90 30 |         S==    |         S==",
        "a3 1 90 30 |         S==    |         ...S==",
        "b4 1 90 30 |         ...S== |         S==",
    ),
    "starvation": (  # new jobs go first, until one has waited for 60 s
        NAME, 2, LEASED | {"starvation": [0, 60]},
        "a0 2 0 60  |S==.........R== |S==......R==",
        "a1 2 30 30 |   S==          |   S==",
        "a2 2 60 30 |      S==       |      S==",
        "a3 2 90 30 |         S==    |         ...S==",
    ),
    "early_lease": (  # a new job takes the GPUs of a lease renewed less than 20 s ago; what it did is lost
        NAME, 2, LEASED | {"early_lease": [0, 20, 10]},
        "a0 2 0 90  |S==r==...R== |S==r...R==r== |S==r==...R==",
        "a1 2 40 30 |    ..S==    |    S==        |    ..S==",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SCHEDULES.values(), ids=SCHEDULES)
def test_schedule(case: tuple[Any, ...]) -> None:
    check(*case)


@pytest.mark.parametrize("name", ["crowd", "venus"])
def test_without_a_rule_it_is_astraea(name: str) -> None:
    plain, ours = audit(name, "astraea"), audit(name, NAME)
    assert ours.grants.equals(plain.grants) and ours.jobs.equals(plain.jobs)
    assert np.any(audit(name, f"{NAME},early_lease=300").jobs["end_time"] != plain.jobs["end_time"])
