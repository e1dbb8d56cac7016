"""What becomes of the jobs of a market: schedules and payments ([Wang2023] §3.1)."""

from __future__ import annotations

from dataclasses import dataclass

from astraea.core.arrays import FloatArray, IntArray
from astraea.market.model import Market


@dataclass(frozen=True, eq=False)
class Schedule:
    """One job's workers and parameter servers, from its start to its completion without a break.

    Attributes
    ----------
    job : int
    start, end : int
        t- and t+: slots start + 1 to end are used; `end` is the completion time [slot].
    server, workers, ps : array of int, shape (k,)
        Servers that it uses, and y and z on each.
    worker_cost, ps_cost : float
        c_jw and c_jp, what is paid for all slots together; 0 within the own share.
    is_shared : bool
        Whether it runs on unused resources of all tenants (J_2) and pays for them.
    ideal : float
        Ideal revenue, f_j of the time since the beginning of its round (Definition 1); NaN where there are no rounds.
    """

    job: int
    start: int
    end: int
    server: IntArray
    workers: IntArray
    ps: IntArray
    worker_cost: float = 0.0
    ps_cost: float = 0.0
    is_shared: bool = False
    ideal: float = float("nan")

    @property
    def cost(self) -> float:
        """What is paid for workers and parameter servers together."""
        return self.worker_cost + self.ps_cost


@dataclass(frozen=True, eq=False)
class Plan:
    """Schedules of the jobs that run, in the order in which they were admitted, and who earns from whom.

    Attributes
    ----------
    market : Market
    schedules : tuple of Schedule
        At most one of each job; jobs without one never run.
    income : array of float, shape (U, U)
        ``income[u, v]`` is what tenant u earns from jobs of tenant v (Eq. 2, all slots); a tenant may pay itself.
    scheduler : str
        Name of who made it, as tables have it.
    """

    market: Market
    schedules: tuple[Schedule, ...]
    income: FloatArray
    scheduler: str
