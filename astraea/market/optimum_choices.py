"""What a job could be given in the offline optimum: a start and one of the useful numbers of workers ([Wang2023] §5.2).

(3k) needs no other numbers of workers than the least for each duration: a gang that gives up a worker on another server
still satisfies (3i). A job whose utility is not above 0 at completion is better not run.

[Wang2023] Wang et al., Online Scheduling of Distributed Machine Learning Jobs for Incentivizing Sharing in
Multi-Tenant Systems, IEEE Transactions on Computers 72(3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from astraea.market.model import Market


@dataclass(frozen=True)
class Choice:
    """Slots start + 1 to end on so many workers, on one server if `is_central`.

    `ps` is the least that a server needs for them, `value` the utility [1].
    """

    job: int
    start: int
    end: int
    workers: int
    is_central: bool
    ps: int
    value: float


def choices_of(market: Market, job: int, horizon: int) -> list[Choice]:
    """Every start with every useful number of workers, as far as it is worth something."""
    most = int(min(market.jobs.chunks[job], market.workers.sum()))
    size = np.arange(1, most + 1)
    duration = market.duration(job, size)
    options: list[tuple[int, int, bool, int]] = []
    for is_central in (False, True):
        slots = duration[:, int(is_central)]
        for w in size[np.concatenate([[True], slots[1:] < slots[:-1]])]:
            ps = _least_ps(market, int(w), is_central)
            if ps is not None:
                options.append((int(w), int(slots[w - 1]), is_central, ps))
    quick = {(d, w) for w, d, is_central, _ in options if not is_central}
    out = []
    arrival = int(market.jobs.arrival[job])
    for w, d, is_central, ps in options:
        if is_central and (d, w) in quick:
            continue  # as fast wherever it is
        start = np.arange(arrival, horizon - d + 1)
        worth = market.jobs.value(job, (start + d - arrival).astype(np.float64))
        out += [
            Choice(job, int(a), int(a) + d, w, is_central, ps, float(v))
            for a, v in zip(start[worth > 0], worth[worth > 0], strict=True)
        ]
    return out


def _least_ps(market: Market, size: int, is_central: bool) -> int | None:
    """Fewest parameter servers that any one server could feed the gang with (3i); None if none can."""
    far = np.maximum(size - market.workers, 0)
    if is_central:
        return 1 if bool(((far == 0) & (market.ps > 0)).any()) else None
    ps = market.ps_needed(size)[far]
    fits = ps <= market.ps
    return int(ps[fits].min()) if fits.any() else None
