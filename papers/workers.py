"""Places for the simulations of a notebook: all cores of this machine, if ``make`` does not say otherwise.

The environment variables ``JOBS``, ``BACKEND`` and ``SCHEDULER`` are as in ``astraea sweep``. Jupyter's profile in
``notebooks/.ipython`` reads them when a kernel starts, so they hold for every sweep of a notebook, in no cell.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Final

from astraea.cli.arguments import computing
from astraea.core.errors import InputError

VARIABLES: Final = ("JOBS", "BACKEND", "SCHEDULER")
"""Environment variables that say where to compute."""


def compute_as_asked(environment: Mapping[str, str] = os.environ) -> ExitStack:
    """Let `joblib` compute as `VARIABLES` say, until the answer is closed or the process ends.

    Raises
    ------
    InputError
        If a variable has a value that cannot be, or no Dask scheduler answers.
    """
    jobs, backend, scheduler = (environment.get(name) or None for name in VARIABLES)
    if jobs is not None and not jobs.isdecimal():
        raise InputError(f"JOBS must be a whole number, got {jobs!r}")
    stack = ExitStack()
    if jobs or backend or scheduler:
        stack.enter_context(computing(int(jobs) if jobs else None, backend or "loky", scheduler))
        atexit.register(stack.close)
    return stack
