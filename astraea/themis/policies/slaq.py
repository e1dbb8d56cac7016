"""SLAQ in the setting of Themis: best loss gradient first ([Mahajan2020], baselines).

The gradient is the mean fall of the loss over the later half of the epochs so far, for each GPU-second. An app whose
next job has had fewer than two epochs goes before all others.
"""

from __future__ import annotations

import numpy as np

from astraea.themis.agent import Agent
from astraea.themis.arbiter import Arbiter
from astraea.themis.policy import best_first


def slaq(arbiter: Arbiter) -> None:
    """One gang after the other to the app whose next job lowers its loss fastest."""

    def gradient(agent: Agent) -> float:
        job = agent.waiting()[0]
        epochs = int(agent.epochs[job])
        if epochs < 2:
            return np.inf
        loss, half = agent.app.loss[job], (epochs + 1) // 2
        return float(loss[half - 1] - loss[epochs - 1]) / ((epochs - half) * agent.app.epoch * agent.app.gang)

    best_first(arbiter, lambda agent: -gradient(agent))
