"""Jobs with more or less spread of service, and the leading schedulers on them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Text

from papers.live import spread
from papers.live.tables import CLUSTER


@pytest.mark.parametrize("width", [0.0, 2.4])
def test_jobs_ask_for_as_much_however_their_service_spreads(width: float) -> None:
    jobs = spread.spread_jobs(width, seed=3)
    asked = (jobs.demand * jobs.duration).sum() / CLUSTER.gpus
    assert asked == pytest.approx(spread.LOAD * spread.JOBS * spread.GAP)
    assert np.log(jobs.duration).std() == pytest.approx(width, rel=0.2, abs=1e-9)


def test_equal_jobs_are_over_sooner_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases in turns end all jobs late where all are alike; where most are short, they end most jobs early."""
    monkeypatch.setattr(spread, "SPREADS", (0.0, 1.8))
    table = spread.spread_table()
    jct = table.pivot_table(index="spread", columns="system", values="jct")
    assert jct.loc[0.0, "slurm"] < jct.loc[0.0, "astraea"] and jct.loc[1.8, "slurm"] > jct.loc[1.8, "astraea"]
    fig = spread.spread_picture(pd.DataFrame(table))
    assert [len(line.get_xdata()) for line in fig.axes[0].get_lines()] == [2, 2]
    texts = " ".join(text.get_text() for text in fig.findobj(Text)).replace("\n", " ")
    assert "ASTRAEA has the lower JCT at a spread of 1.8, the lower loss at" in texts
    plt.close(fig)
