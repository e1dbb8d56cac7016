"""Every measurement of `make bench` at its smallest size; how long anything takes is nobody's business here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from histories import busy
from places import ROOT


@pytest.mark.exhaustive
def test_the_smallest_size_goes_through_every_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import run

    # a small trace with a history instead of the synthetic ones; the processes that it starts compile nothing
    monkeypatch.setattr(run, "synthesize", lambda name: replace(busy(), name=name))
    # by environment of theirs alone: numba reads this process's whenever it compiles something
    start = subprocess.run

    def interpreted(*args: Any, env: Mapping[str, str] | None = None, **options: Any) -> Any:
        return start(*args, env={**(env or os.environ), "NUMBA_DISABLE_JIT": "1"}, **options)

    monkeypatch.setattr(run.subprocess, "run", interpreted)
    page = run.measure(run.TINY)
    tables = "\n".join(page).split("| --- |")
    assert len(tables) > 6
    for what in (
        "| astraea |", "| fifo |", "| astraea --help |", "| astraea policies |", "Time grows as n^", "las-het-ss",
        "plan of 8 jobs", "3 apps on 256 GPUs", "Peak memory",
    ):  # fmt: skip
        assert any(what in line for line in page), what
    for name in ("run", "gavel_programs", "market", "themis_apps"):
        sys.modules.pop(name)
