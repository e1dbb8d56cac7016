"""The leaderboard of a public workload: its policies, its words, and who is ruled out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
from places import ROOT

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import all_policies
from astraea.experiments.leaderboard import MEASURES
from astraea.traces.named import FETCHED
from astraea.traces.readers import read_trace
from astraea.traces.sources import SOURCES
from papers.ye2022.leaderboard import WORDS, in_words, place, ruled_out
from papers.ye2022.workloads import evaluated_cluster


def test_every_policy_is_there() -> None:
    """Without `easy`: these workloads have no time limits, so it would be a second FIFO."""
    notebook = nbformat.read(ROOT / "notebooks" / "13_leaderboard.ipynb", as_version=4)
    source = next(cell.source for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ()))
    given: dict[str, Any] = {}
    exec(source, given)
    assert sorted(given["SCHEDULERS"]) == sorted({*all_policies()} - {"easy"})
    assert set(WORDS) == set(MEASURES)


@pytest.mark.parametrize(
    ("measure", "row", "words"),
    [
        ("sharing_loss", (0.0874, 0.07, 0.104), "8.74 (7 to 10.4)"),
        ("average_jct", (14_400, np.nan, np.nan), "4"),
        ("slowdown_99", (1234.5, 999.97, 2000), "1,234 (1,000 to 2,000)"),
        ("longest_wait", (np.nan, np.nan, np.nan), "-"),
    ],
)
def test_a_value_in_words(measure: str, row: tuple[float, float, float], words: str) -> None:
    assert in_words(pd.Series({"measure": measure, **dict(zip(("value", "low", "high"), row, strict=True))})) == words


@pytest.mark.parametrize(
    ("ranks", "words"),
    [((4, 4, 7), "4 (4-7)"), ((2, 2, 2), "2"), ((3, pd.NA, pd.NA), "3"), ((pd.NA, pd.NA, pd.NA), "-")],
)
def test_a_rank_in_words(ranks: tuple[object, object, object], words: str) -> None:
    assert place(pd.Series(dict(zip(("rank", "rank_low", "rank_high"), ranks, strict=True)))) == words


def test_the_dominated_are_ruled_out() -> None:
    """`b` is worse than `a` in one measure and equal in the other; `c` is better in one; `d` is equal to `a`."""
    values = {"a": (1, 2), "b": (1, 3), "c": (0, 9), "d": (1, 2)}
    rows = [(name, measure, v) for name, both in values.items() for measure, v in zip(MEASURES[:2], both, strict=True)]
    ranked = pd.DataFrame(rows, columns=["scheduler", "measure", "value"])
    assert ruled_out(ranked) == {"b": ["a", "d"]}
    undefined = pd.DataFrame([("a", MEASURES[2], np.nan), ("b", MEASURES[2], 0.0)], columns=ranked.columns)
    assert ruled_out(pd.concat([ranked, undefined])) == {"b": ["a", "d"]}


def test_the_clusters_of_itp_are_tenants(shared: Path) -> None:
    jobs = read_trace(shared / "data" / "elasticflow", name="itp", **SOURCES[FETCHED["itp"]].reading)
    assert (len(jobs), jobs.tenants) == (26_712, ("cluster01", "cluster02", "cluster03", "cluster05", "cluster07"))
    assert jobs.history is None and jobs.excluded_jobs.empty
    assert evaluated_cluster("itp", jobs, "paper") == Cluster(61)  # an offered load of 1
