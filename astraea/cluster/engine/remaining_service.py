"""What is to be expected of a job that has had some service ([Ye2022] §6.1.5: baselines work on estimates)."""

from __future__ import annotations

import numpy as np

from astraea.cluster.engine.state import View
from astraea.core.compilation import inlined


@inlined
def expect(s: View, j: int) -> None:
    """Estimate the service of the whole job `j` again, after its progress has changed.

    The estimate is a log-logistic distribution around its median m, with one shape below and one above it. Its
    survival function is S(x) = 1 / (1 + (x / m)^(1 / spread)); the answer is the median of what is left of it after
    the service e that the job has had, S(x) = S(e) / 2, which is always above e: a job that outlives its estimate
    never has nothing left. Without spread, and before any service, it is m.
    """
    median, had = s.job[j].estimate, s.job[j].progress
    above = s.job[j].spread_above
    spread = s.job[j].spread_below if had < median else above
    if np.isnan(median):  # the policy wants none
        return
    if had <= 0 or spread == 0:
        s.job[j].total_service = max(median, had)
        return
    log_odds = np.log(had / median) / spread
    if log_odds > 30:  # far out the distribution is a power law, and this its limit
        s.job[j].total_service = had * 2**above
    else:
        s.job[j].total_service = max(median * (1 + 2 * np.exp(log_odds)) ** above, had)
