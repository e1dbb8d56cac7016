"""From ASTRAEA as printed to the authors' program, rung by rung: the ablation that [Ye2022] does not have.

A rung of the main line differs in one thing from the rung above it, and only ``rest of the program`` in several. The
first is the reading `PAPERS`, the last is `PROGRAM`. Side rungs leave the line at its end: early leases are on there
for ASTRAEA and Themis, and off for Tiresias-L and FIFO.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import pandas as pd

from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulation import simulated
from astraea.core.intervals import mean_interval
from astraea.core.metrics import SLACK
from astraea.core.result import Result
from astraea.core.units import DAY, HOUR
from astraea.experiments.sweep import Runs
from papers.ye2022.readings import FLAWED, IN_PROGRAM, NO_COST
from papers.ye2022.whole_rounds import simulate_in_whole_rounds
from papers.ye2022.with_rules import astraea_with_rules

RULES: Final[Mapping[str, float]] = {
    "tenant_window": DAY, "idle_guard": 0.2, "starvation": 6 * HOUR, "early_lease": 300.0,
}  # fmt: skip
"""Rules of the authors' program beyond [Ye2022], with its values: parameters of `with_rules` (times in s)."""

MEASURES: Final = ("sharing_loss", "tenant_sharing_loss", "tenant_below_99", "average_slowdown", "average_jct")
UNITS: Final[Mapping[str, tuple[str, float]]] = {
    "sharing_loss": ("jobs short of their share [%]", 100.0),
    "tenant_sharing_loss": ("tenant cases below 1 [%]", 100.0),
    "average_slowdown": ("average slowdown", 1.0),
    "average_jct": ("average JCT [h]", 1 / HOUR),
}
"""Measures as figures show them: name with unit, and the factor to it."""

BEFORE: Final = "the rung before"


class Rung(NamedTuple):
    """One more difference than the rung before; a side rung differs from the rung `beside` instead."""

    name: str
    schedulers: Mapping[str, Policy]
    settings: Settings = Settings()
    learned: bool = True  # running times, where a scheduler needs them
    in_rounds: bool = True  # submissions are brought to rounds first; the program counts its rounds itself
    beside: str = ""

    @property
    def simulate(self) -> Callable[..., Result]:
        """The simulator, as in `astraea.sweep`."""
        return simulated if self.in_rounds else simulate_in_whole_rounds

    @property
    def estimator(self) -> str:
        """The source of running times, as in `Settings`."""
        return "gradient-boosting" if self.learned else "oracle"


_RIVALS: Final = {
    name: get_policy(name)
    for name in ("hived", "allox", "tiresias-l", "themis", "gandiva-fair", "yarn-cs", "fifo")
}  # fmt: skip


def _printed(*rules: str) -> dict[str, Policy]:
    """Return ASTRAEA as printed with some rules of the program, beside rivals that ask for no tenant."""
    return {"astraea": astraea_with_rules.with_parameters(**{name: RULES[name] for name in rules}), **_RIVALS}


def _early_leases(threshold: float) -> dict[str, Policy]:
    """Return the program's schedulers with one threshold of early leases [s]; 0 is off."""
    return {
        name: one.with_parameters(delay_threshold=threshold) if "delay_threshold" in one.parameters else one
        for name, one in IN_PROGRAM.items()
    }


_LAST: Final = "counted in whole rounds"

RUNGS: Final = (
    Rung("as printed", {"astraea": get_policy("astraea"), **_RIVALS}),
    Rung("window of 24 h", _printed(*[*RULES][:1])),
    Rung("idle guard", _printed(*[*RULES][:2])),
    Rung("queue after 6 h", _printed(*[*RULES][:3])),
    Rung("early leases", _printed(*RULES)),
    Rung("rest of the program", {"astraea": IN_PROGRAM["astraea"], **_RIVALS}),
    Rung("rivals inside", IN_PROGRAM),
    Rung("true running times", IN_PROGRAM, learned=False),
    Rung("free preemption", IN_PROGRAM, NO_COST, learned=False),
    Rung("list flaw", IN_PROGRAM, FLAWED, learned=False),
    Rung(_LAST, IN_PROGRAM, FLAWED, learned=False, in_rounds=False),
    Rung("early leases for all", _early_leases(RULES["early_lease"]), FLAWED, False, False, beside=_LAST),
    Rung("early leases for none", _early_leases(0.0), FLAWED, False, False, beside=_LAST),
)
"""In the order of tables and pictures: the main line, then the side rungs."""

_BEFORE: Final = {here.name: here.beside or before.name for before, here in itertools.pairwise(RUNGS)}


def measures(runs: Runs) -> pd.DataFrame:
    """Return scheduler, seed, other columns that vary, and `MEASURES` of each run; shares in [0, 1], the JCT in s.

    Tenant cases are those in which the tenant is owed something (Fig 11): `tenant_sharing_loss` is the share below 1,
    `tenant_below_99` that below 0.99.
    """
    columns = [name for name in runs.index if name not in ("trace", "nodes")]
    rho = runs.tenants.dropna(subset=["rho_tenant"]).set_index(columns)["rho_tenant"]
    cases = (rho < 0.99 - SLACK).groupby(columns).mean().rename("tenant_below_99").reset_index()
    of_summary = {
        "sharing_loss": runs.summary["jobs with sharing loss [%]"] / 100,
        "tenant_sharing_loss": runs.summary["tenant-days with sharing loss [%]"] / 100,
        "average_slowdown": runs.summary["average slowdown"],
        "average_jct": runs.summary["average JCT [s]"],
    }
    table = runs.index[columns].assign(**of_summary).merge(cases, how="left", on=columns)
    return table[[*columns, *MEASURES]]


def in_units(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of `measures` with one row per run and measure of `UNITS`: its other columns, panel, value."""
    parts = [table.assign(panel=text, value=factor * table[name]) for name, (text, factor) in UNITS.items()]
    return pd.concat(parts, ignore_index=True).drop(columns=[*MEASURES])


def differences(table: pd.DataFrame) -> pd.DataFrame:
    """Return the change of each rung for ASTRAEA, and ASTRAEA minus each rival there, paired within a seed.

    Parameters
    ----------
    table : DataFrame, columns rung, scheduler, seed, and `MEASURES`

    Returns
    -------
    DataFrame, columns rung, minus, measure, mean, low, high, n
        `minus` is `BEFORE` or the rival. The mean difference over `n` seeds, with its 95 % interval (Student's t; NaN
        for one seed).
    """
    wide = table.melt(["rung", "scheduler", "seed"], MEASURES, "measure").pivot_table(
        index=["rung", "measure", "seed"], columns="scheduler", values="value", sort=False
    )
    mine, parts = wide["astraea"], []
    for rung in (rung.name for rung in RUNGS):
        here = wide.loc[rung].rsub(mine[rung], axis=0).drop(columns="astraea")
        if rung in _BEFORE:
            here.insert(0, BEFORE, mine[rung] - mine[_BEFORE[rung]])
        long = here.reset_index().melt(["measure", "seed"], var_name="minus", value_name="difference").dropna()
        parts.append(mean_interval(long, ["minus", "measure"], "difference").assign(rung=rung))
    columns = ["rung", "minus", "measure", "mean", "low", "high", "n"]
    return pd.concat(parts, ignore_index=True)[columns]
