"""The table of the theorems' counter-examples, and the searches behind it."""

from __future__ import annotations

import pandas as pd

from astraea.experiments.grid import Grid
from papers.market.study.properties import PROPERTIES, counter_examples
from papers.market.study.tables import MARKET_SCALES
from papers.scales import at_scale, searches
from papers.ye2022.characterize import production_grid


def property_searches(scale: str) -> Grid:
    """The search for counter-examples among random markets; columns first, last."""
    return searches(counter_examples, at_scale(MARKET_SCALES, scale).instances)


def properties_grid(trace: str = "philly", scale: str = "paper") -> Grid:
    """Two tenants whose days are unlike, of the synthetic Philly if no trace is named, and random small markets."""
    return production_grid(trace or "philly", scale) + property_searches(scale)


def properties_table(scale: str = "paper") -> pd.DataFrame:
    """Try every property of §4.5 on the same random markets.

    Returns
    -------
    DataFrame, columns property, instances, violations, repaired, counter_example
        Markets tried, those in which the property fails, those in which it fails without prices in the own share, and
        the first of the former with fewest jobs and tenants, in words.
    """
    instances = at_scale(MARKET_SCALES, scale).instances
    found = property_searches(scale).table(lambda table: table).sort_values(["jobs", "tenants", "seed"])
    rows = []
    for name in PROPERTIES:
        mine = found[found["property"] == name]
        words = [*mine.loc[mine["is_own_priced"], "counter_example"]]
        rows.append((name, instances, len(words), len(mine) - len(words), words[0] if words else ""))
    return pd.DataFrame(rows, columns=["property", "instances", "violations", "repaired", "counter_example"])
