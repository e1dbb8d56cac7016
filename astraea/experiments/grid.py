"""Grids of runs, and the tables made from them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.definition import unknown
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulation import simulated, split_off_impossible
from astraea.core.errors import InputError
from astraea.core.metrics import summary
from astraea.core.result import Result
from astraea.experiments.archive import Value
from astraea.experiments.cache import measured
from astraea.experiments.run import Run
from astraea.traces.trace import Trace


def kept_summary(value: Value) -> Mapping[str, Any]:
    """Return the `metrics.summary` of a result, computed now or kept in the cache."""
    return summary(value) if isinstance(value, Result) else dict(value.iloc[0])


@dataclass(frozen=True, eq=False)
class Grid:
    """Runs, and an index with one row per run that distinguishes it: the basis of every study."""

    runs: Sequence[Run]
    index: pd.DataFrame

    @classmethod
    def of(cls, rows: Iterable[tuple[Run, Mapping[str, Any]]]) -> Grid:
        """Make a grid of runs and their rows of the index."""
        listed = list(rows)
        return cls([run for run, _ in listed], pd.DataFrame([dict(row) for _, row in listed]))

    def __add__(self, other: Grid) -> Grid:
        return Grid([*self.runs, *other.runs], pd.concat([self.index, other.index], ignore_index=True))

    def table(self, measure: Callable[[Any], Mapping[str, Any] | pd.DataFrame] = kept_summary) -> pd.DataFrame:
        """Make one table of all runs; cached results are not computed again.

        `measure` returns one row of columns for a result, or a table, whose rows are then joined to the run's row of
        the index. The default also accepts results of which only the summary was kept. The columns are those of the
        index, those of `measure` that neither the index nor the first run has already, and parameters that only later
        runs have.
        """
        found = measured(self.runs, measure, progress=False)
        known = {*self.index, *(name for run in self.runs[:1] for name in run.columns)}
        tables = [part for part in found if isinstance(part, pd.DataFrame)]
        if not tables:
            columns = pd.DataFrame([{**run.columns, **row} for run, row in zip(self.runs, found, strict=True)])
            return self.index.join(columns[[c for c in columns if c not in known]])
        repeated = self.index.loc[self.index.index.repeat([len(part) for part in tables])].reset_index(drop=True)
        return repeated.join(pd.concat(tables, ignore_index=True))


def grid(
    traces: Iterable[Trace],
    clusters: Iterable[Cluster],
    policies: Iterable[Policy | str],
    parameters: Mapping[str, Sequence[Any]] | None = None,
    seeds: Iterable[int] = (0,),
    settings: Settings | None = None,
    function: Callable[..., Value] = simulated,
) -> list[Run]:
    """Return every combination of traces, clusters, policies, parameter values and seeds, the last changing fastest.

    All policies run the same jobs: if one of them has static quotas, none gets a job beyond its tenant's quota.

    Parameters
    ----------
    parameters : mapping of str to values, optional
        Parameters of policies or of `Settings`. A policy without a parameter is run once, without it.
    settings : Settings, optional
        Settings that `parameters` do not replace.
    function : function, optional
        The simulator, as in `Run`.

    Raises
    ------
    InputError
        If a parameter belongs to no policy and is not a setting, or has no value.
    """
    chosen = [get_policy(p) if isinstance(p, str) else p for p in policies]
    given = dict(parameters or {})
    of_settings = [f.name for f in fields(Settings)]
    for name, values in given.items():
        if name not in of_settings and not any(name in p.parameters for p in chosen):
            raise unknown(name, {p.name: p.parameters for p in chosen}, of_settings)
        if len(values) == 0:
            raise InputError(f"parameter {name!r} has no value")
    usual = settings or Settings()
    variants = [
        (policy.with_parameters(**_only(point, policy.parameters)), replace(usual, **_only(point, of_settings)))
        for policy in chosen
        for point in points_of(policy, given)
    ]
    least = min((policy.largest(policy.parameters) for policy, _ in variants), default=1.0)
    runs = []
    for trace, cluster, (policy, chosen_settings), seed in itertools.product(traces, clusters, variants, seeds):
        if policy.largest(policy.parameters) > least:  # one under quotas sets large gangs aside
            trace = split_off_impossible(trace, cluster, least)[0]
        runs.append(Run(trace, cluster, policy, seed, chosen_settings, function=function))
    return runs


def points_of(policy: Policy, axes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of values of the axes that a policy has, or every simulation."""
    of_settings = [f.name for f in fields(Settings)]
    return points({name: values for name, values in axes.items() if name in of_settings or name in policy.parameters})


def points(axes: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Return every combination of values, the last axis changing fastest."""
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def _only(point: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {k: v for k, v in point.items() if k in names}


def run_grid(runs: Sequence[Run], *, cache: str | Path | None = None, progress: bool = True) -> list[Any]:
    """Return the results of all runs, in their order; parameters as in `measured`."""
    return measured(runs, lambda result: result, cache=cache, progress=progress)


def grid_table(runs: Sequence[Run], *, cache: str | Path | None = None, progress: bool = True) -> pd.DataFrame:
    """Return one row per run: its distinguishing columns and the summary of its result; parameters as in `measured`."""
    rows = measured(runs, summary, cache=cache, progress=progress)
    return pd.DataFrame([{**run.columns, **row} for run, row in zip(runs, rows, strict=True)])
