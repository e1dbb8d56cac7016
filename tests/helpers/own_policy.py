"""A policy of one's own, as an installation runs it."""

from __future__ import annotations

OWN = """
import numpy as np
import astraea
from astraea.cluster.policy import all_candidates, fits, grant, is_open

@astraea.policy("mine")
def mine(s):
    for j in all_candidates(s):
        if is_open(s, j) and fits(s, j):
            grant(s, j)

trace, cluster = astraea.synthesize("venus").head(200), astraea.Cluster(nodes=10)
result = astraea.simulate(trace, cluster, mine)
assert len(result.jobs) + len(result.excluded_jobs) == 200
assert np.isfinite(result.jobs["end_time"]).all()
"""
