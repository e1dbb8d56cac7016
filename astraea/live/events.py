"""What happens to the jobs of a real cluster between two rounds, and what a round decides."""

from __future__ import annotations

from typing import NamedTuple


class Event(NamedTuple):
    """What happened to a job, when [s]; `kind` as in `engine.live`."""

    time: float
    kind: int
    id: str
    lease_end: float = 0.0


class Decision(NamedTuple):
    """What the policy chose at a round, as ids of jobs in the order in which it chose them."""

    granted: tuple[str, ...]  #: pending jobs that get their GPUs
    renewed: tuple[str, ...]  #: jobs whose lease had ended, and that keep theirs
    expired: tuple[str, ...]  #: jobs whose lease had ended, and that lose them
    revoked: tuple[str, ...]  #: jobs that lose their GPUs in the middle of a lease
