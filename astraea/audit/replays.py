"""Replays of a log in whole seconds: several, each with other fractions of seconds, because the true ones are unknown.

One job that starts in another order moves all later jobs. Two replays that differ in nothing else therefore agree on
the order of about 90 % of the starts, and their waits differ by up to a tenth. Their mean keeps what they agree on.
"""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np

from astraea.cluster.cluster import Cluster
from astraea.cluster.policy import Policy
from astraea.cluster.rules import Rules
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.result import Result
from astraea.core.units import DAY
from astraea.traces.trace import Trace

MOST: Final = 25
"""Most replays of a log."""

MANY: Final = 10_000
"""Number of jobs above which a log is replayed once, because chance evens out in it."""


def replays(
    trace: Trace, cluster: Cluster, own: Policy, rules: Rules | None = None, settings: Settings | None = None
) -> list[Result]:
    """Replay a log several times under a scheduler; once, as it is, if it is long or not in whole seconds."""
    number = min(MOST, 2 * MANY // max(len(trace), 1))
    times = np.concatenate([trace.submit_time, trace.duration])
    if number < 2 or "clock_offset" not in own.parameters or (times % 1).any():
        return [simulate(trace, cluster, own, settings=settings, rules=rules)]
    found = []
    for k in range(number):
        random, n = np.random.default_rng(k), len(trace)
        late = float(random.random() * own.parameters["interval"])  # the times of scheduler passes are unknown, too
        changed = dataclasses.replace(
            trace,
            submit_time=np.sort(trace.submit_time + random.random(n)) + late,  # jobs of one second keep their order
            duration=np.maximum(trace.duration + random.random(n) - random.random(n), 0.1),
        )
        clocks = {
            "calc_offset": own.parameters["calc_offset"] + late,
            "clock_offset": (own.parameters["clock_offset"] - late) % DAY,
        }
        found.append(simulate(changed, cluster, own(**clocks), settings=settings, rules=rules))
    return found
