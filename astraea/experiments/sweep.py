"""Many simulations as one call, and their results as tidy tables: `sweep`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import checked_cluster, checked_policy, checked_trace
from astraea.cluster.simulation import simulated
from astraea.core.checks import one_of, whole_number
from astraea.core.errors import InputError
from astraea.core.metrics import named, summary
from astraea.core.result import Result
from astraea.experiments.cache import measured
from astraea.experiments.grid import grid, points_of
from astraea.experiments.run import Run
from astraea.traces.synthetic import SYNTHETIC, synthesize
from astraea.traces.trace import Trace

Source = Trace | str | Callable[[int], Trace]
"""A trace, or what makes one from a seed: the name of a synthetic trace, or a function."""


def sweep(
    traces: Source | Sequence[Source],
    clusters: Cluster | Sequence[Cluster],
    policies: Policy | str | Sequence[Policy | str] | Mapping[str, Policy | str],
    seed: int | Sequence[int] = 0,
    *,
    settings: Settings | None = None,
    simulate: Callable[..., Result] = simulated,
    cache: str | Path | None = None,
    progress: bool = True,
    **parameters: Any,
) -> Runs:
    """Simulate every combination of traces, clusters, policies, parameters and seeds; cached results are read.

    All policies run the same jobs: if one of them has static quotas, none gets a job beyond its tenant's quota.

    Parameters
    ----------
    traces : trace or list
        A trace is the same for every seed. The name of a synthetic trace (``"venus"``, ``"philly"``), or a function of
        the seed, makes one trace per seed.
    clusters : Cluster or list
    policies : name, policy, list, or dict
        As in `simulate`. The keys of a dict are the schedulers' names in the tables; otherwise each has its own name.
    seed : int or list
        Seeds of traces, of random placement and of noisy estimates.
    settings : Settings, optional
        As in `simulate`.
    simulate : function, optional
        Another simulator: a function of trace, cluster, policy, seed and settings at the top level of a module.
    cache : path, optional
        Folder of results.
    progress : bool
        Show a progress bar.
    **parameters
        Parameters of policies and settings, as in `simulate`. A list has values to try; any other value is fixed. A
        policy that does not have a parameter runs once, without it.

    Raises
    ------
    InputError
        If an argument is of another kind, no policy has a parameter, or two traces or policies have one name.
    PolicyError
        As in `simulate`; all other runs are finished and kept.
    """
    sources, seeds = _listed(traces, "traces"), [whole_number(one, "seed") for one in _listed(seed, "seed")]
    places = [checked_cluster(one) for one in _listed(clusters, "clusters")]
    given = [*policies.values()] if isinstance(policies, Mapping) else policies
    chosen = [checked_policy(one) for one in _listed(given, "policies")]
    names = [*policies] if isinstance(policies, Mapping) else [one.name for one in chosen]
    if not isinstance(policies, Mapping):
        _refuse_twins(chosen)
    axes = {name: _listed(values, name) for name, values in parameters.items()}
    how = (settings, simulate)
    grid([], places, chosen, axes, (), *how)  # refuses unknown parameters before a trace is made
    made = {one: [_trace(source, one) for source in sources] for one in seeds}
    runs: list[Run] = []
    for k, cluster in itertools.product(range(len(sources)), places):
        of_seeds = [grid([made[one][k]], [cluster], chosen, axes, [one], *how) for one in seeds]
        runs += itertools.chain.from_iterable(zip(*of_seeds, strict=True))
    variants = [name for name, one in zip(names, chosen, strict=True) for _ in points_of(one, axes) for _ in seeds]
    schedulers = variants * (len(sources) * len(places))
    index = _index(runs, schedulers, [name for name, values in parameters.items() if isinstance(values, _LISTS)])
    if index.duplicated().any():
        twin = ", ".join(f"{name} {value}" for name, value in index[index.duplicated()].iloc[0].items())
        raise InputError(f"two runs have {twin}; give each trace a name of its own")
    figures = measured(runs, summary, cache=cache, progress=progress)
    return Runs(index, index.join(pd.DataFrame([named(row) for row in figures])), runs, cache)


@dataclass(frozen=True, eq=False)
class Runs:
    """The results of `sweep`: a sequence of results, and tables of all of them.

    Each table begins with the columns of `index`. The results stay in the cache, and are read from there when a table
    or a single result is asked for.

    Attributes
    ----------
    index : DataFrame
        One row per run: trace, nodes, scheduler, seed, and the parameters that vary, missing where a scheduler does not
        have them. ``runs[k]`` is the `Result` of row k.
    summary : DataFrame
        One row per run: its measures, as in `Result.summary`.
    """

    index: pd.DataFrame
    summary: pd.DataFrame
    _runs: Sequence[Run]
    _cache: str | Path | None

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, k: int) -> Result:
        (result,) = measured([self._runs[k]], _whole, cache=self._cache, progress=False)
        return result

    def __iter__(self) -> Iterator[Result]:
        return (self[k] for k in range(len(self)))

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """`Result.jobs` of all runs: one row per run and job."""
        return self._table(lambda result: result.jobs)

    @cached_property
    def tenants(self) -> pd.DataFrame:
        """`Result.tenants` of all runs: one row per run, window and tenant."""
        return self._table(lambda result: result.tenants)

    def _table(self, part: Callable[[Result], pd.DataFrame]) -> pd.DataFrame:
        tables = measured(self._runs, part, cache=self._cache, progress=False)
        repeated = self.index.loc[self.index.index.repeat([len(table) for table in tables])].reset_index(drop=True)
        return repeated.join(pd.concat(tables, ignore_index=True))


def _whole(result: Result) -> Result:
    return result


_LISTS: Final = (list, tuple, range, np.ndarray, pd.Series, pd.Index)


def _listed(value: Any, name: str) -> list[Any]:
    """Return the values of a list, or one value as a list; `InputError` if there is none."""
    values = [*value] if isinstance(value, _LISTS) else [value]
    if not values:
        raise InputError(f"{name} must have at least one value, got none")
    return values


def _trace(source: Any, seed: int) -> Trace:
    """Return the trace of a seed."""
    if isinstance(source, str):
        return synthesize(one_of(source, SYNTHETIC, "the name of a synthetic trace"), seed)
    return checked_trace(source(seed) if callable(source) else source)


def _refuse_twins(policies: Sequence[Policy]) -> None:
    """Raise `InputError` if two policies cannot be told apart by their name and parameters."""
    for one, other in itertools.combinations(policies, 2):
        if one.name == other.name and (one.select is not other.select or one.parameters == other.parameters):
            raise InputError(f"two policies are named {one.name!r}; give one of them another name")


def _index(runs: Sequence[Run], schedulers: Sequence[str], listed: Sequence[str]) -> pd.DataFrame:
    """Return the columns that distinguish each run; `listed` parameters are always among them."""
    rows = pd.DataFrame([run.columns for run in runs]).drop(columns="policy").assign(scheduler=schedulers)
    if len({run.cluster for run in runs}) > rows["nodes"].nunique():
        rows.insert(2, "cluster", [str(run.cluster) for run in runs])
    names = [name for name in ("trace", "nodes", "cluster", "scheduler", "seed") if name in rows]
    others = rows.drop(columns=[*names, "gpus_per_node"])
    most = others.groupby(rows["scheduler"]).nunique().max().to_dict()
    return rows[[*names, *(name for name in others if name in listed or most[name] > 1)]]
