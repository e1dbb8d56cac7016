"""Finish-time fairness: the mechanism of [Mahajan2020] as described in [Ye2022] §4.1.2 and shown in Fig 6(b).

In every round the jobs with the largest T_shared / T_isolated go first; a gang that does not fit is skipped. T_shared
is the time since submission plus the remaining time; T_isolated is N times the job's time alone, where N is the average
number of jobs that contended so far; both are estimates. The auction of Themis is not included: this is only the
objective, to minimize the largest ratio.
"""

from __future__ import annotations

import numpy as np

from astraea.cluster.engine.accounting import average_contention
from astraea.cluster.engine.state import WHILE_ONE_FITS, View
from astraea.cluster.policy import LeaseTerm, all_candidates, fits, grant, level, policy


@policy(
    "finish-time-fairness",
    LeaseTerm,
    about="Minimizes the largest finish-time ratio: a mechanism of Fig 6.",
    paper="[Ye2022] §4.1.2",
    needs_estimates=True,
    revisit=lambda _: WHILE_ONE_FITS,
)
def finish_time_fairness(s: View) -> None:
    """Minimize the largest finish-time ratio ([Ye2022] §4.1.2)."""
    jobs = all_candidates(s)
    unfairness = np.empty(len(jobs))
    for k, j in enumerate(jobs):
        service = s.job[j].total_service
        shared = s.now - s.job[j].submit_time + service - s.job[j].progress
        unfairness[k] = level(shared / (service * average_contention(s, j, s.now)))
    for k in np.argsort(-unfairness, kind="mergesort"):  # stable: ties in order of submission
        if fits(s, jobs[k]):
            grant(s, jobs[k])
