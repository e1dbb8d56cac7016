"""Grids of runs: in parallel under joblib, each result in a content-addressed cache.

The name of a cached file is the SHA-256 of everything that decides the result (`Run.key`), so nothing in
the cache is ever out of date. A worker publishes each result as soon as it has it: a killed grid loses only what was
in flight, several processes may share a cache, and a repeated grid computes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.policy_api import Policy
from astraea.cluster.simulate import Settings
from astraea.core.errors import InputError
from astraea.core.metrics import summary
from astraea.core.result import Result
from astraea.experiments.cache import CACHE, Work, measured
from astraea.experiments.parallel import Backend
from astraea.experiments.run import Run
from astraea.traces.trace import Trace

__all__ = ["CACHE", "Run", "grid", "grid_table", "run_grid"]


def grid(
    traces: Iterable[Trace],
    clusters: Iterable[Cluster],
    policies: Iterable[Policy | str],
    parameters: Mapping[str, Sequence[Any]] | None = None,
    seeds: Iterable[int] = (0,),
) -> list[Run]:
    """Every combination of traces, clusters, policies, values of parameters and seeds, the last changing fastest.

    Parameters
    ----------
    parameters : mapping of str to values, optional
        Of policies or of `Settings`. A policy that does not have a parameter is run without it, once.

    Raises
    ------
    InputError
        If a parameter belongs to none of the policies and is no setting, or has no value.
    """
    chosen = [get_policy(p) if isinstance(p, str) else p for p in policies]
    given = dict(parameters or {})
    of_settings = [f.name for f in fields(Settings)]
    for name, values in given.items():
        if name not in of_settings and not any(name in p.parameters for p in chosen):
            known = sorted({k for p in chosen for k in p.parameters})
            whose = ", ".join(p.name for p in chosen)
            raise InputError(
                f"unknown parameter {name!r}; {whose}: {', '.join(known) or 'none'}; settings: {', '.join(of_settings)}"
            )
        if len(values) == 0:
            raise InputError(f"parameter {name!r} has no value")
    variants = [
        (policy(**_only(point, policy.parameters)), Settings(**_only(point, of_settings)))
        for policy in chosen
        for point in _points({k: v for k, v in given.items() if k in of_settings or k in policy.parameters})
    ]
    cells = itertools.product(traces, clusters, variants, seeds)
    return [Run(trace, cluster, policy, seed, settings) for trace, cluster, (policy, settings), seed in cells]


def _points(axes: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Every combination of values."""
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def _only(point: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {k: v for k, v in point.items() if k in names}


def run_grid(
    runs: Sequence[Work],
    *,
    jobs: int | None = None,
    cache: str | Path | None = None,
    backend: Backend = "loky",
    scheduler: str | None = None,
    progress: bool = True,
) -> list[Result]:
    """Results of all runs, in their order; what is in the cache is not computed again.

    Parameters
    ----------
    runs : sequence of Run
        Equal ones are computed once.
    jobs : int, optional
        Processes; as many as there are cores if not given. A Dask cluster brings its own number.
    cache : path, optional
        Folder of the cache, `CACHE` if not given.
    backend : {"loky", "dask"}
        Processes of this machine, or a Dask cluster; the results are the same, byte for byte.
    scheduler : str, optional
        Address of the Dask scheduler, ``tcp://host:port``.
    progress : bool
        Show a progress bar if there is something to compute.

    Raises
    ------
    InputError, PolicyError
        If a run failed; names the first that did. The others have been finished and kept.
    """
    return measured(runs, _as_is, jobs=jobs, cache=cache, backend=backend, scheduler=scheduler, progress=progress)


def grid_table(
    runs: Sequence[Work],
    *,
    measure: Callable[[Result], dict[str, Any]] = summary,
    jobs: int | None = None,
    cache: str | Path | None = None,
    backend: Backend = "loky",
    scheduler: str | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """One row per run: what distinguishes it, and what is measured of its result.

    Parameters are those of `run_grid`; only one result at a time is in memory.

    Parameters
    ----------
    measure : function of a Result
        Gives columns by name.
    """
    rows = measured(runs, measure, jobs=jobs, cache=cache, backend=backend, scheduler=scheduler, progress=progress)
    return pd.DataFrame([{**run.columns, **row} for run, row in zip(runs, rows, strict=True)])


def _as_is(result: Result) -> Result:
    return result
