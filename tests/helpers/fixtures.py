"""Fixtures that every test may use, of either package."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import joblib
import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from places import ROOT
from workloads import audit

from astraea.cluster.policies import all_policies

if sys.__stdin__ is None:  # closed, where a service starts the tests; IPython asks it for its encoding
    sys.stdin = sys.__stdin__ = open(os.devnull, encoding="utf-8")

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
# the same few examples in every run, and nothing kept between runs; `make test-all` searches at random
settings.register_profile("quick", derandomize=True, max_examples=20, deadline=None, database=None)
settings.register_profile("search", max_examples=500, deadline=None, print_blob=True)
settings.load_profile(PROFILE)
if PROFILE == "quick":  # hypothesis also draws constants of loaded modules, and each worker has loaded others
    assert callable(providers._get_local_constants)
    providers._get_local_constants = Constants


def pytest_configure(config: pytest.Config) -> None:
    """Compile the simulator before several workers begin; otherwise each would compile it at the same time."""
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        for name in all_policies():
            audit("few", name)


@pytest.fixture(scope="session", autouse=True)
def one_process() -> Iterator[None]:
    """Compute in this process, unless a test says otherwise."""
    with joblib.parallel_config("loky", n_jobs=1):
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with real workloads and reference results, where the machine has them."""
    path = ROOT.parent / "shared"
    if not (path / "data").is_dir():
        pytest.skip("no real workloads beside the project (../shared/data)")
    return path
