"""A table of many runs that a notebook describes in one function."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import joblib
import pandas as pd

from astraea.core.progress import progress


def table_of(measure: Callable[..., Mapping[str, Any] | pd.DataFrame], **axes: Iterable[Any]) -> pd.DataFrame:
    """Call a function for every combination of some values, in parallel, and put its rows below each other.

    Parameters
    ----------
    measure : function
        Called with one value of each axis, by name; gives one row as a dict, or several as a table. It depends on
        nothing but them and on names that do not change, because it may run in another process.
    **axes : values of each argument
        The last one changes fastest.

    Returns
    -------
    DataFrame
        The columns of the axes, then those of `measure`, in the order of the combinations.
    """
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    calls = (joblib.delayed(measure)(**point) for point in points)
    found = joblib.Parallel(return_as="generator", batch_size=1)(calls)
    quiet, rows = "TQDM_DISABLE" in os.environ, []  # which tqdm does not see in a notebook
    for point, one in zip(points, progress("simulating", "runs", len(points), found, disable=quiet), strict=True):
        part = one if isinstance(one, pd.DataFrame) else pd.DataFrame([dict(one)])
        rows.append(part.assign(**point)[[*point, *(c for c in part if c not in point)]])
    return pd.concat(rows, ignore_index=True)
