"""Settings of a simulation besides trace, cluster and policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from astraea.cluster.engine.placement import PLACEMENTS
from astraea.core.checks import number, one_of
from astraea.estimation.estimates import check


@dataclass(frozen=True)
class Settings:
    """Overheads, placement and estimates of running times.

    Attributes
    ----------
    interval : float
        Time between rounds [s], at least `SHORTEST` ([Ye2022] §6.1.3).
    checkpoint_overhead : float
        Time for which GPUs are held without progress at the end of a lease [s] (§5.1.1).
    restart_overhead : float
        Duration of the cold start of a preempted job [s] (§6.4).
    placement : str
        Placement of gangs on nodes: consolidated, strict, spread or random.
    estimator : str
        Source of running times for policies that need them: oracle, noisy, history, gradient-boosting or
        constant.
    estimate_error : float
        Mean absolute percentage error of the estimator `noisy` (0.5 is 50 %), 0 for the others.
    """

    interval: float = 10.0
    checkpoint_overhead: float = 5.0
    restart_overhead: float = 20.0
    placement: str = "consolidated"
    estimator: str = "oracle"
    estimate_error: float = 0.0

    list_removal_flaw: ClassVar[bool] = False
    """True in the settings of the simulator that ASTRAEA's authors released (`loop.hold_back_neighbours`)."""

    def __post_init__(self) -> None:
        for name, least in (("interval", SHORTEST), ("checkpoint_overhead", 0.0), ("restart_overhead", 0.0)):
            expected = f"a time from {least:g} to 1e9 s"
            self._set(name, number(getattr(self, name), name, least=least, most=1e9, expected=expected))
        self._set("placement", str(one_of(self.placement, PLACEMENTS, "placement")))
        check(self.estimator, self.estimate_error)
        self._set("estimator", str(self.estimator))
        self._set("estimate_error", float(self.estimate_error))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # the class is frozen


SHORTEST: Final = 1e-3
"""Shortest time between rounds [s]; two weeks then have a billion rounds."""
