"""Workloads that are made once for many notebooks."""

from __future__ import annotations

import importlib
import json
import os

import pytest

from papers.running import workloads
from papers.ye2022 import evaluation


def test_what_several_notebooks_begin_with_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(workloads.VARIABLE, "")
    workloads.announce(["venus", "philly", "venus", "no such trace", "no such trace"], "small")
    assert json.loads(os.environ[workloads.VARIABLE]) == [["venus", "small"], ["no such trace", "small"]]
    evaluation._loaded.cache_clear()
    importlib.reload(workloads)
    made = evaluation._loaded.cache_info().misses
    for seed in evaluation.seeds("venus", "small"):
        evaluation.load_workload("venus", "small", seed)
    assert evaluation._loaded.cache_info().misses == made
