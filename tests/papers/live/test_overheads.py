"""Overheads that were measured, and the choice of a lease term with each."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from places import ROOT

from papers.live import overheads

FOLDER = ROOT / "data" / "live" / "overheads"


def test_what_was_measured_is_what_is_simulated() -> None:
    measured = overheads.measurements(FOLDER)
    assert list(measured.index) == ["resnet", "transformer"]
    assumed, *own = overheads.cases(measured).items()
    assert assumed == ("assumed, 5 and 20 s", {})
    for (name, paid), file in zip(own, measured.index, strict=True):
        found = json.loads((FOLDER / f"{file}.json").read_text())
        assert paid == {key: found[key] for key in ("checkpoint_overhead", "restart_overhead")}
        assert name.startswith(f"{file}, ")


def test_a_term_is_recommended_for_each_case() -> None:
    rows = [(case, term, jct, 0.1, 0.2) for case, jcts in {"a": (100, 101, 90), "b": (80, 100, 100)}.items()
            for term, jct in zip((60, 300, 900), jcts, strict=True)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["case", "lease_term", "average_jct", "overhead_share", "sharing_loss"])
    found = overheads.recommendations(frame, "case")
    assert found[["recommended", "best"]].to_numpy().tolist() == [[900, 900], [60, 60]]
    assert found["average_jct"].tolist() == pytest.approx([90, 80])
