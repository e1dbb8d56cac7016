"""Small workloads of apps, among which `papers.smallest` looks for counter-examples."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from papers.themis.apps import App, AppTrace

EPOCH: Final = 900.0
"""Time of an epoch, and of a lease [s]."""

MODELS: Final = ("inception-v3", "vgg16")
"""The smaller one does not suffer from being spread."""


@st.composite
def small_workloads(draw: DrawFn) -> AppTrace:
    """Draw two to four apps of one or two jobs on one or two machines of up to four GPUs.

    Apps arrive at whole leases. A longer job ends with a lower loss.
    """
    machines = draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))
    job = st.integers(1, 6)  # its epochs
    one = st.tuples(st.integers(0, 3), st.integers(1, min(2, max(machines))), st.sampled_from(MODELS),
                    st.lists(job, min_size=1, max_size=2))  # fmt: skip
    apps = sorted(draw(st.lists(one, min_size=2, max_size=4)), key=lambda app: app[0])
    return AppTrace("small", tuple(
        App(chr(65 + i), EPOCH * arrival, model, gang, EPOCH, tuple(1 / np.arange(1.0, n + 1) for n in epochs))
        for i, (arrival, gang, model, epochs) in enumerate(apps)
    ), np.array(machines))  # fmt: skip


def described(workload: AppTrace) -> pd.DataFrame:
    """Return a row per app: its arrival [min], its model, GPUs of each job, and the epochs of its jobs."""
    rows = [
        (app.name, app.arrival / 60, app.model, app.gang, [len(loss) for loss in app.loss]) for app in workload.apps
    ]
    return pd.DataFrame(rows, columns=["app", "arrives [min]", "model", "GPUs per job", "epochs of its jobs"])
