"""`Settings`: what is accepted, and in which form it is kept."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from schedules import jobs, trace_of

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.core.errors import InputError
from astraea.experiments.run import Run


def test_numbers_of_numpy_and_whole_numbers_become_plain_ones() -> None:
    given: dict[str, Any] = {
        "interval": np.int64(10), "checkpoint_overhead": np.float32(5), "restart_overhead": 20,
        "placement": np.str_("spread"), "estimator": np.str_("noisy"), "estimate_error": np.int8(1),
    }  # fmt: skip
    wanted = Settings(10.0, 5.0, 20.0, "spread", "noisy", 1.0)
    kept = Settings(**given)
    assert json.dumps(asdict(kept)) == json.dumps(asdict(wanted))
    trace, fifo = trace_of(jobs("a0 1 0 10")), get_policy("fifo")
    assert Run(trace, Cluster(1, 4), fifo, 0, kept).key == Run(trace, Cluster(1, 4), fifo, 0, wanted).key


@pytest.mark.parametrize("interval", [1e-300, 0, -1, np.nan, "10", True, 1e10])
def test_a_time_between_rounds_that_no_simulation_can_have_is_refused(interval: Any) -> None:
    said = f"interval must be a time from 0.001 to 1e9 s, got {interval!r}"
    with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
        Settings(interval=interval)
    assert Settings(interval=0.001).interval == 0.001
