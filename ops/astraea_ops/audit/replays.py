"""Replays of a log in whole seconds: several, with different fractions of seconds, because the true ones are unknown.

One job that starts in another order moves all later jobs. Two replays that differ in nothing else therefore agree on
the order of about 90 % of the starts, and their waits differ by up to a tenth. Their median start keeps what most of
them agree on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import recorded_runs
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.rules import Rules
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.result import Result
from astraea.traces.trace import Trace
from astraea_ops.site import rules as site_rules
from astraea_ops.site.clock import clock, passes
from astraea_ops.site.site import Site

MOST: Final = 50
"""Most replays of a log."""

LARGEST_NODE: Final = 4096
"""Most units of the shared resource on a node: a pass looks at each number of free units."""

MANY: Final = 10_000
"""Number of jobs above which a log is replayed once, because chance evens out in it."""


def plan_of(
    site: Site, trace: Trace, scheduler: str, given: Mapping[str, Any], cluster: Cluster
) -> tuple[Policy, Rules | None, list[str]]:
    """Return the scheduler to replay, the rules of the site, None if it is unknown, and sentences about doubts.

    The parameters are those from the user, else those of the site. `cluster` is that of the site if it names nodes.
    `InputError` as from the scheduler.
    """
    own = get_policy(scheduler)
    known: dict[str, Any] = dict(site.parameters) if scheduler == "slurm" else {}
    if "calc_period" in own.parameters:
        known |= clock(site, trace, float({**own.parameters, **known, **given}["calc_period"]))
    own = own.with_parameters(**{name: v for name, v in known.items() if name in own.parameters} | dict(given))
    if not site.files and not site.classes:
        return own, None, []
    return own, *site_rules.rules(site, trace, cluster)


def replays(
    trace: Trace, cluster: Cluster, own: Policy, rules: Rules | None = None, settings: Settings | None = None
) -> list[Result]:
    """Replay a log several times under a scheduler; once, as it is, if it is long or not in whole seconds."""
    number = min(MOST, 2 * MANY // max(len(trace), 1))
    times = np.concatenate([trace.submit_time, trace.duration])
    if number < 2 or "clock_offset" not in own.parameters or (times % 1).any():
        return [simulate(trace, cluster, own, settings=settings, rules=rules)]
    found, starts, p = list[Result](), recorded_runs(trace)["start"].to_numpy(dtype=np.float64), own.parameters
    for k in range(number):
        random, n = np.random.default_rng(k), len(trace)
        begun = random.random(n) / 2  # the main scheduler passes at full seconds, backfill at any time
        changed = dataclasses.replace(
            trace,
            submit_time=np.sort(trace.submit_time + random.random(n)),  # jobs of one second keep their order
            duration=np.maximum(trace.duration + random.random(n) - begun, 0.1),
        )
        clocks = {"interval": min(p["interval"], 1.0), "calc_offset": p["calc_offset"] + random.random()}
        for scheduler in ("sched", "bf"):  # the times of their passes are unknown, too, unless the starts tell them
            clocks[f"{scheduler}_interval"] = p[f"{scheduler}_interval"] or p["interval"]
            clocks[f"{scheduler}_offset"] = random.random() * clocks[f"{scheduler}_interval"]
        clocks |= passes(starts, (clocks["bf_interval"], clocks["sched_interval"]), random)
        found.append(simulate(changed, cluster, own.with_parameters(**clocks), settings=settings, rules=rules))
    return found
