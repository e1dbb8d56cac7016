"""Pictures of the evaluation: what stands in them, by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

from papers.ye2022 import pictures
from papers.ye2022.readings import MEASURED, PAPERS, READINGS


def sizes(aside: int = 3) -> pd.DataFrame:
    """Two seeds at two sizes: JCTs of ASTRAEA are half of Tiresias-L's, its losses three times, where there are any."""
    columns = ["reading", "scheduler", "nodes_percent", "seed", "average_jct", "sharing_loss", "set_aside_jobs"]
    rows = [
        (reading, name, percent, seed, jct * (1 + seed), loss * (percent < 100), aside)
        for reading in READINGS
        for name, jct, loss in (("astraea", 3600.0, 0.3), ("tiresias-l", 7200.0, 0.1))
        for percent in (60, 100)
        for seed in (0, 1)
    ]
    return pd.DataFrame(rows, columns=columns)


def texts(fig: Figure) -> list[str]:
    """All that is written at edges and as annotations."""
    return [text.get_text() for ax in fig.axes for text in ax.texts]


def test_ratios_over_tiresias_are_of_one_seed_and_size() -> None:
    part = sizes()[lambda d: d["reading"] == PAPERS]
    jct, loss = (pictures.over_tiresias(part, c) for c in ("average_jct", "sharing_loss"))
    assert set(jct["scheduler"]) == {"astraea"} and len(jct) == 4
    assert jct["relative"].tolist() == [0.5] * 4
    assert loss["nodes_percent"].tolist() == [60, 60]  # nobody has a loss at 100 %
    assert loss["relative"].tolist() == pytest.approx([3, 3])


def test_a_ratio_beyond_the_axis_is_written_at_its_edge() -> None:
    fig = pictures.cluster_sizes(sizes())
    assert texts(fig).count("3") == 2  # in both readings
    assert all(ax.get_ylim() == (0, pictures.HIGHEST_RATIO) for ax in fig.axes[4:])
    assert fig._supxlabel is not None and "Without 3 jobs" in fig._supxlabel.get_text()
    none = pictures.cluster_sizes(sizes(aside=0))
    assert none._supxlabel is not None and "Without" not in none._supxlabel.get_text()


def test_a_whisker_beyond_the_panel_has_a_sign() -> None:
    box: dict[str, Any] = {"q1": 0.9, "median": 1.0, "q3": 1.1}
    ends = {"a": (0.4, 1.6), "b": (0.8, 1.2), "c": (0.2, 1.3)}
    rows = [
        {"reading": reading, "scheduler": "fifo", "tenant": tenant, **box, "low": low, "high": high}
        for reading in READINGS
        for tenant, (low, high) in ends.items()
    ]
    levels = {"tenant_sharing_loss": 0.31, "tenant_below_99": 0.2, "tenant_below_95": 0.1}
    shares = pd.DataFrame([{"reading": reading, "scheduler": "fifo", "seed": 0, **levels} for reading in READINGS])
    fig = pictures.tenant_fairness(pd.DataFrame(rows), shares, {"fifo": 0.446})
    first = fig.axes[0]
    signs = {line.get_marker(): list(line.get_xdata()) for line in first.lines if line.get_marker() in ("v", "^")}
    assert signs == {"v": [0, 2], "^": [0]}
    assert "31 % < 1 (paper 44.6 %)" in texts(fig)
    assert [ax.get_title().strip() for ax in fig.axes[:2]] == [f"FIFO, {MEASURED.split()[1]}", "FIFO"]
    below = fig.axes[-1]
    drawn = {line.get_marker(): float(line.get_xdata()[0]) for line in below.lines}
    assert drawn == pytest.approx({"o": 20, "|": 10, "D": 44.6})
    assert sorted(float(line.get_xdata()[0]) for line in below.lines) == pytest.approx([10, 20, 31, 44.6])
