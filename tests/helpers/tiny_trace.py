"""A trace of four jobs with results found by hand, commands on it, and a user's policy."""

from __future__ import annotations

from pathlib import Path

# One GPU, leases of 60 s, checkpoint 5 s, restart 20 s, rounds every 10 s.
# A: [0, 60) a lease, 55 s of progress and a checkpoint; it asks for renewal, but B is new and goes first
# B: submitted at 5, [60, 90)
# A: [90, 150) restart 20 s, progress 35 s, checkpoint 5 s; renewed; [150, 160) the last 10 s
# Fair service: A has 5 s alone, 85 s in halves, 70 s alone; B has 85 s in halves.
TINY = "job_id,user,num_gpu,submit_time,duration\nA,t,1,0,100\nB,t,1,5,30\nC,t,0,7,30\nD,t,2,9,30\n"


def command(tiny: Path, *more: str, name: str = "simulate") -> list[str]:
    return [name, str(tiny), "--time-unit", "s", "--nodes", "1", "--gpus-per-node", "1", *more]


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
"""The command as an installation runs it."""
