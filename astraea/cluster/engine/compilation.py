"""The loop and the policies, compiled for each other."""

from __future__ import annotations

from functools import cache
from typing import Any

import numba
import numpy as np
import pandas as pd
from numba import types

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine import loop
from astraea.cluster.engine.state import new_state
from astraea.traces.trace import Trace


@cache
def _run_signature() -> Any:
    """The loop's signature: state, private state, and a function of the state."""
    tiny = Trace.from_frame(
        pd.DataFrame({"job_id": ["0"], "tenant": ["t"], "demand": [1], "submit_time": [0.0], "duration": [1.0]})
    )
    view, private = new_state(
        tiny, Cluster(1, 1), parameters=np.zeros(1), estimate=(np.zeros(1),) * 3, memory=(0, 0, 0), seed=0,
        keep_log=False,
    )  # fmt: skip
    view_type = numba.typeof(view)
    select_type = types.FunctionType(types.void(view_type))
    return types.void(view_type), types.int64(view_type, numba.typeof(private), select_type)


def compiled_for(select: Any) -> tuple[Any, Any]:
    """Loop and policy, compiled for each other; the loop is compiled once for all policies."""
    if numba.config.DISABLE_JIT:
        return loop.run, select
    select_signature, run_signature = _run_signature()
    if run_signature.args not in loop.run.overloads:
        loop.run.compile(run_signature)
        loop.run.disable_compile()  # or it would be compiled again for the type of each policy's dispatcher
    select.compile(select_signature)
    return loop.run, select
