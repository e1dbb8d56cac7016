"""Fixtures that every test may use."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with real workloads and reference results, where the machine has them."""
    path = ROOT.parent / "shared"
    if not (path / "data").is_dir():
        pytest.skip("no real workloads beside the project (../shared/data)")
    return path
