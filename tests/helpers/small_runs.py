"""A small workload, and comparisons of results."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from listed_jobs import listed

from astraea.cluster.cluster import Cluster
from astraea.core.result import Result
from astraea.traces.trace import Trace

FOUR = Cluster(2, 2)


def tiny(name: str = "tiny", last: float = 100.0) -> Trace:
    """Twelve jobs of two tenants that compete for four GPUs, and one that fits nowhere."""
    demand = [1, 2, 1, 2, 1, 1, 2, 1, 2, 1, 1, 1]
    jobs = [(f"j{i:02}", "ab"[i % 2], demand[i], 30.0 * i, 400.0 + 70 * i) for i in range(12)]
    return listed(*jobs, ("j12", "a", 9, 360.0, last), name=name)


def same(a: Result, b: Result) -> None:
    """Equal to the last bit, types included; `seconds` apart."""
    for name in ("jobs", "excluded_jobs", "timeline", "grants", "placements"):
        x, y = getattr(a, name), getattr(b, name)
        if x is None or y is None:
            assert x is y
        else:
            pd.testing.assert_frame_equal(x, y, check_exact=True, check_index_type=True, check_column_type=True)
    origins = [[(name, type(value), value) for name, value in run.provenance.items()] for run in (a, b)]
    assert origins[0] == origins[1]


def content(folder: Path) -> dict[str, dict[str, bytes]]:
    """Members of all cached files but the measured seconds."""
    files: dict[str, dict[str, bytes]] = {}
    for path in sorted(folder.iterdir()):
        with zipfile.ZipFile(path) as archive:
            files[path.name] = {n: archive.read(n) for n in archive.namelist() if n != "seconds.json"}
    return files


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail on any further simulation in this process."""

    def never(*_: Any, **__: Any) -> Result:
        raise AssertionError("simulated")

    monkeypatch.setattr("astraea.cluster.simulate.new_state", never)
