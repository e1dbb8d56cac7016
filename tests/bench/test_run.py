"""Every measurement of `make bench` at its smallest size; times are not checked."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from histories import busy
from places import ROOT


@pytest.mark.exhaustive
def test_the_smallest_size_goes_through_every_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import run

    # a small trace with a history instead of the synthetic ones
    monkeypatch.setattr(run, "synthesize", lambda name: replace(busy(), name=name))
    page = "\n".join(run.measure(run.TINY))
    assert page.count("| --- |") >= 6
    for what in (
        "| astraea |", "| fifo |", "| astraea --help |", "| astraea policies |", "Time grows as n^", "las-het-ss",
        "plan of 8 jobs", "3 apps on 256 GPUs", "Peak memory",
    ):  # fmt: skip
        assert what in page, what
    for name in ("run", "gavel_programs", "market", "themis_apps"):
        sys.modules.pop(name)
