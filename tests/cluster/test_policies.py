"""Every scheduler under contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from contract import PolicyContract, contracts, run  # noqa: F401

from astraea.cluster.policies import POLICIES


class TestFifo(PolicyContract):
    name = "fifo"


class TestYarnCs(PolicyContract):
    name = "yarn-cs"


class TestTiresiasL(PolicyContract):
    name = "tiresias-l"


class TestTiresiasLPromoting(PolicyContract):
    name = "tiresias-l"
    parameters: ClassVar[Mapping[str, float]] = {"queues": 3, "threshold": 2000, "growth": 4, "promote": 1}


class TestFinishTimeFairness(PolicyContract):
    name = "finish-time-fairness"


class TestMaxMin(PolicyContract):
    name = "max-min"


class TestAstraea(PolicyContract):
    name = "astraea"


class TestAstraeaWithEveryOption(PolicyContract):
    name = "astraea"
    revokes = True
    parameters: ClassVar[Mapping[str, float]] = {
        "tenant_window": 7200, "idle_guard": 0.2, "starvation": 3600, "early_lease": 300, "renewal_bonus": 0.1,
        "deadline_bonus": 0.3,
    }  # fmt: skip


class TestAstraeaReleased(PolicyContract):
    name = "astraea-released"
    revokes = True


class TestAstraeaReleasedByFinishTime(PolicyContract):
    name = "astraea-released"
    revokes = True
    parameters: ClassVar[Mapping[str, float]] = {"job_order": 2, "delay_threshold": 500}


class TestHived(PolicyContract):
    name = "hived"
    revokes = True


class TestAllox(PolicyContract):
    name = "allox"


class TestGandivaFair(PolicyContract):
    name = "gandiva-fair"


class TestThemis(PolicyContract):
    name = "themis"


class TestThemisWhereAllBid(PolicyContract):
    name = "themis"
    parameters: ClassVar[Mapping[str, float]] = {"f": 0}


def test_every_policy_is_under_contract() -> None:
    assert {c.name for c in contracts()} == set(POLICIES)
