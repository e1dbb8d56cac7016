"""The two readings of [Wang2023]'s evaluation: how much work a job is.

§5.1 takes the demand for workers from the GPUs that the trace's jobs requested, and draws D_j from 20 to 50. The model
has one number for both (`workload`).

as §5.1 says
    D_j is drawn from 20 to 50: a job is 1,580 worker hours in the median, and the total revenue of 600 jobs on 100
    servers is far below 0 under every scheduler.
as here
    D_j is what the trace's job requested: revenues are of the size that the paper reports, and most workers are idle.
"""

from __future__ import annotations

from typing import Final

SECTION: Final = "as §5.1 says"
HERE: Final = "as here"
READINGS: Final = (SECTION, HERE)
