"""Fig 9 with measured overheads: the committed measurements, simulations with them, and the picture."""

from __future__ import annotations

import json

from matplotlib import pyplot as plt
from places import ROOT

from papers.ye2022 import overheads
from papers.ye2022.evaluation import LEASE_TERMS

FOLDER = ROOT / "data" / "live" / "overheads"


def test_what_was_measured_is_what_is_simulated() -> None:
    measured = overheads.measurements(FOLDER)
    assert list(measured.index) == ["resnet", "transformer"]
    grid = overheads.overheads_grid(measured, "small")
    paid = [(run.settings.checkpoint_overhead, run.settings.restart_overhead) for run in grid.runs]
    files = [json.loads((FOLDER / f"{name}.json").read_text()) for name in measured.index]
    own = [(found["checkpoint_overhead"], found["restart_overhead"]) for found in files]
    assert list(dict.fromkeys(paid)) == [(5.0, 20.0), *own]
    assert list(dict.fromkeys(grid.index["lease_term"])) == list(LEASE_TERMS)
    table = grid.table()
    # who pays less has less overhead, whatever the term
    cost = table.pivot_table(index="lease_term", columns="overheads", values="overhead_share")
    cheapest = min(zip(own, cost.columns[1:], strict=True))[1]
    assert (cost[cheapest] < cost[cost.columns[0]]).all()
    fig = overheads.overheads_picture(table)
    # of each case a line, and dots for its seeds
    assert [{len(line.get_xdata()) for line in ax.get_lines()} >= {len(LEASE_TERMS)} for ax in fig.axes] == [True] * 3
    plt.close(fig)
