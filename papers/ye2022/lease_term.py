"""The recommended lease term, tried by hand and under other overheads and loads ([Ye2022] §5.1.3, §6.2, Fig 9)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.metrics import summary
from astraea.core.units import HOUR
from astraea.experiments.grid import Grid
from astraea.experiments.lease_term import FIGURES, lease_means, recommended_term
from astraea.experiments.run import Run
from astraea.plots.style import name_axis, panels, quick, style
from astraea.traces.named import named_trace
from astraea.traces.trace import Trace
from papers.ye2022.evaluation import INTERVAL, crowded_nodes, first_jobs
from papers.ye2022.readings import ASTRAEA

SWEPT_TERMS: Final = (300.0, 600.0, 900.0, 1800.0, 3600.0)  # lease terms of the sensitivity sweep [s]
OVERHEADS: Final = (0.5, 2.0, 4.0)  # factors on the checkpoint and restart overheads in it
LOADS: Final = (0.8, 1.2)  # factors on the rate of arrival in it
HANDFUL: Final = 700  # jobs of `handful`


def recommendations(frame: pd.DataFrame, by: str) -> pd.DataFrame:
    """Each case of `by` (the index): columns recommended, best [s], then `FIGURES` at the recommended lease term."""
    rows = {}
    for case, part in frame.groupby(by, sort=False):
        term, _ = recommended_term(part)
        means, best = lease_means(part)
        rows[case] = {"recommended": term, "best": best, **means.loc[term]}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(by)


def handful() -> tuple[Trace, Cluster]:
    """Few jobs on a cluster that they fill, simulated in a tenth of a second: the first of the synthetic Venus."""
    trace = named_trace("venus").head(HANDFUL).in_rounds(INTERVAL)
    return trace, Cluster(crowded_nodes(trace))


def under_lease_term(trace: Trace, cluster: Cluster, term: float) -> pd.Series[float]:
    """`lease_term` [s] and `FIGURES` of ASTRAEA under it."""
    found = summary(simulate(trace, cluster, get_policy("astraea")(lease_term=term)))
    return pd.Series({"lease_term": term, **{name: float(found[name]) for name in FIGURES}})


def three_panels(curve: pd.DataFrame, chosen: pd.Series[float]) -> Figure:
    """Draw `under_lease_term` over several terms, a row each, as lines, and one term as a large dot with its values."""
    in_percent = ("{:.1f} %", 100)
    texts = {"average_jct": ("{:.2f} h", 1 / HOUR), "overhead_share": in_percent, "sharing_loss": in_percent}
    fig, axes = panels(columns=3, width=2.33, height=2.2)
    with style():
        for ax, (column, (text, factor)) in zip(axes, texts.items(), strict=True):
            ax.plot(curve["lease_term"], curve[column], "-", color="#777777", linewidth=1.2)
            ax.plot(chosen["lease_term"], chosen[column], "o", color="#D55E00", markersize=8)
            ax.set_title(text.format(factor * chosen[column]), color="#A84300")
            ax.set_xscale("log")
            ax.set_ylim(0, 1.15 * curve[column].max())
            name_axis(ax.xaxis, "lease_term", log=True)
            name_axis(ax.yaxis, column)
    quick(fig)
    return fig


def sensitivity_grid(trace: Trace, cluster: Cluster) -> Grid:
    """ASTRAEA from the papers with a few lease terms, when overheads or the load are smaller or larger.

    The scheduler is that of Fig 9. One thing is changed at a time; the unchanged case comes first. The jobs are
    `evaluation.first_jobs`. Columns of the index: what, overheads, load (factors), lease_term [s].
    """
    jobs, usual = first_jobs(trace), Settings()
    cases = [("as it is", 1.0, 1.0)]
    cases += [(f"overheads × {f:g}", f, 1.0) for f in OVERHEADS] + [(f"load × {f:g}", 1.0, f) for f in LOADS]
    rows = []
    for what, overheads, load in cases:
        paid = {name: overheads * getattr(usual, name) for name in ("checkpoint_overhead", "restart_overhead")}
        settings, loaded = replace(usual, **paid), jobs if load == 1 else jobs.scale_load(load)
        for term in SWEPT_TERMS:
            run = Run(loaded, cluster, ASTRAEA.made(lease_term=term), settings=settings, kept="summary")
            rows.append((run, {"what": what, "overheads": overheads, "load": load, "seed": 0, "lease_term": term}))
    return Grid.of(rows)
