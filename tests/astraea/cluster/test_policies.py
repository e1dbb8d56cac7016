"""Every scheduler under contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pytest
from contract import PolicyContract, contracts, digests_elsewhere, run  # noqa: F401
from workloads import audit, key

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


class TestTiresiasLImmediate(PolicyContract):
    name = "tiresias-l"
    revokes = True
    parameters: ClassVar[Mapping[str, float]] = {"queues": 3, "threshold": 2000, "growth": 4, "immediate": 1}


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


class TestDecayedUsage(PolicyContract):
    name = "decayed-usage"
    parameters: ClassVar[Mapping[str, float]] = {"half_life": 3000}


class TestKai(PolicyContract):
    name = "kai"
    revokes = True
    parameters: ClassVar[Mapping[str, float]] = {"half_life": 3000}


class TestKaiWithoutQuota(PolicyContract):
    name = "kai"
    revokes = True
    parameters: ClassVar[Mapping[str, float]] = {"deserved": 0, "half_life": 3000, "k_value": 2}


class TestSlurm(PolicyContract):
    name = "slurm"
    parameters: ClassVar[Mapping[str, float]] = {"half_life": 3000, "interval": 10}


class TestSlurmWithLimitsAndSizes(PolicyContract):
    name = "slurm"
    parameters: ClassVar[Mapping[str, float]] = {
        "half_life": 3000, "interval": 5, "backfill": 1, "limit": 1.5, "weight_jobsize": 50_000, "favor_small": 1,
    }  # fmt: skip


class TestHived(PolicyContract):
    name = "hived"
    revokes = True


class TestAllox(PolicyContract):
    name = "allox"


class TestAlloxUnderLeases(PolicyContract):
    name = "allox-under-leases"


class TestGandivaFair(PolicyContract):
    name = "gandiva-fair"


class TestGandivaFairWhereOthersFill(PolicyContract):
    name = "gandiva-fair"
    parameters: ClassVar[Mapping[str, float]] = {"others_fill": 1}


class TestGandivaFairInCommonQuanta(PolicyContract):
    name = "gandiva-fair"
    parameters: ClassVar[Mapping[str, float]] = {"others_fill": 1, "quanta": 1}


class TestThemis(PolicyContract):
    name = "themis"


class TestThemisWhereAllBid(PolicyContract):
    name = "themis"
    parameters: ClassVar[Mapping[str, float]] = {"f": 0}


class TestThemisTimesN(PolicyContract):
    name = "themis"
    parameters: ClassVar[Mapping[str, float]] = {"isolated": 1}


@pytest.mark.parametrize("one", contracts(), ids=lambda c: c.__name__)
class TestElsewhere:
    """One process runs all contracts, for whichever worker has this class."""

    def test_another_process_gives_the_same_bytes(self, one: type[PolicyContract]) -> None:
        here = audit("crowd", one.name, tuple(one.parameters.items())).digest
        assert digests_elsewhere("crowd", PYTHONHASHSEED="12345")[key(one.name, one.parameters)] == here

    @pytest.mark.exhaustive
    def test_plain_python_gives_the_same_bytes(self, one: type[PolicyContract]) -> None:
        here = audit("few", one.name, tuple(one.parameters.items())).digest
        assert digests_elsewhere("few", NUMBA_DISABLE_JIT="1")[key(one.name, one.parameters)] == here


def test_every_policy_is_under_contract() -> None:
    assert {c.name for c in contracts()} == set(POLICIES)
