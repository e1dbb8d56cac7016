"""Fixtures that every test may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from judging import Judge
from places import ROOT

from astraea.experiments.parallel import computing
from astraea.reports.claims import evaluate


@pytest.fixture(scope="session", autouse=True)
def one_process() -> Iterator[None]:
    """Compute in this process, unless a test says otherwise."""
    with computing(jobs=1):
        yield


@pytest.fixture(autouse=True)
def same_place() -> Iterator[None]:
    """What a test says of where it computes ends with it."""
    with computing(*computing.place):
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with real workloads and reference results, where the machine has them."""
    path = ROOT.parent / "shared"
    if not (path / "data").is_dir():
        pytest.skip("no real workloads beside the project (../shared/data)")
    return path




@pytest.fixture
def judge_all(tmp_path: Path) -> Judge:
    """Write tables, evaluate, and give (verdict, measured, note) of the statements that begin with `prefix`."""

    def judged(prefix: str, **tables: pd.DataFrame) -> dict[str, tuple[str, str, str]]:
        for name, table in tables.items():
            stem, _, trace = name.partition("__")
            table.to_csv(tmp_path / f"{stem.replace('_', '-')}_{trace.replace('_', '-')}.csv", index=False)
        found = evaluate.evaluate(tmp_path)
        found = found[found["id"].str.startswith(prefix)]
        assert found["id"].is_unique
        return {id: tuple(row) for id, *row in found[["id", "verdict", "measured", "note"]].to_numpy().tolist()}

    return judged
