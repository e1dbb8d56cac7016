"""Which lease term suits a cluster: simulate its past under several and choose ([Ye2022] §5.1.3, §6.2, Fig 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.core.metrics import HOUR, summary
from astraea.experiments.grid import Grid, grid_table
from astraea.experiments.run import Run
from astraea.plots.style import name_axis, panels, quick, style
from astraea.studies.ye2022.evaluation import INTERVAL, LARGE, crowded_nodes, run_of
from astraea.traces.named import named_trace
from astraea.traces.trace import Trace

TERMS: Final = (60, 120, 300, 600, 900, 1200, 1800, 2700, 3600)
"""Lease terms that are tried [s]."""

TOLERANCE: Final = 0.02
"""How far the average JCT of a recommended lease term may be above the best ([Ye2022] §5.1.3, our reading)."""

FIGURES: Final = ["average_jct", "overhead_share", "sharing_loss"]
"""Panels of Fig 9, as `metrics.summary` names them: in s, and shares in [0, 1]."""

SWEPT_TERMS: Final = (300.0, 600.0, 900.0, 1800.0, 3600.0)
"""Lease terms of the sensitivity sweep [s]."""

OVERHEADS: Final = (0.5, 2.0, 4.0)
LOADS: Final = (0.8, 1.2)
"""Factors on the checkpoint and restart overheads, and on the rate of arrival, in the sensitivity sweep."""

SWEPT_JOBS: Final = 10_000
"""Jobs of the sensitivity sweep where a trace has more than `LARGE`."""


HANDFUL: Final = 700
"""Jobs of `handful`."""


class LeaseTermChoice(NamedTuple):
    """A recommended lease term and what it rests on."""

    lease_term: float  # the recommended one [s]
    reason: str  # why, in a sentence
    table: pd.DataFrame  # a row per term that was tried, the shortest first; columns lease_term, and `FIGURES`


def select_lease_term(run: Run, terms: Sequence[float] = TERMS, **options: Any) -> LeaseTermChoice:
    """Recommend the shortest lease term whose average JCT is hardly above the best.

    A shorter term lets the scheduler correct shares more often, so of terms that are as good as the best for job
    completion, the shortest is the fairest ([Ye2022] §6.2).

    Parameters
    ----------
    run : Run
        Jobs of the past on the cluster, under a scheduler with leases; its other parameters stay as they are.
    terms : sequence of float
        Lease terms to try [s].
    **options
        `cache` and `progress`, as in `grid_table`.

    Raises
    ------
    InputError
        If the policy has no leases, or a term is out of range.
    """
    if "lease_term" not in run.policy.parameters:
        raise InputError(f"policy {run.policy.name} does not preempt, so it has no lease term to select")
    if len(terms) == 0:
        raise InputError("terms must name at least one lease term")
    runs = [replace(run, policy=run.policy(lease_term=term)) for term in sorted(set(terms))]
    table = grid_table(runs, **options)[["lease_term", *FIGURES]]
    return LeaseTermChoice(*recommended_term(table), table)


def recommended_term(frame: pd.DataFrame, tolerance: float = TOLERANCE) -> tuple[float, str]:
    """Shortest lease term whose average JCT, as a mean over seeds, is within `tolerance` of the best, and why.

    `frame` has the columns lease_term and `FIGURES`, and one row or several (seeds) per term.
    """
    means, best = lease_means(frame)
    lowest = means["average_jct"].min()
    term = float(means.index.to_numpy(dtype=float)[(means["average_jct"] <= (1 + tolerance) * lowest).to_numpy()][0])
    jct, overhead, loss = means.loc[term].to_numpy(dtype=float)
    return term, (
        f"{term:g} s is the shortest lease term whose average JCT, {jct:.0f} s, is within {100 * tolerance:g} % of the "
        f"best, {lowest:.0f} s at {best:g} s; checkpoints and restarts are {100 * overhead:.2f} % of it, and "
        f"{100 * loss:.1f} % of the jobs have sharing loss."
    )


def lease_means(frame: pd.DataFrame) -> tuple[pd.DataFrame, float]:
    """Means over seeds for each lease term, the shortest first, and the term with the lowest average JCT [s]."""
    means = frame.groupby("lease_term")[FIGURES].mean()
    return means, float(means.index.to_numpy(dtype=float)[means["average_jct"].to_numpy().argmin()])


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
    """ASTRAEA with a few lease terms when overheads are smaller or larger, or jobs come slower or faster.

    One thing is changed at a time; the unchanged case comes first. Of a trace with more than `LARGE` jobs, the first
    `SWEPT_JOBS` are taken. Columns of the index: what, overheads, load (factors), lease_term [s].
    """
    jobs, usual = trace.head(SWEPT_JOBS) if len(trace) > LARGE else trace, Settings()
    cases = [("as it is", 1.0, 1.0)]
    cases += [(f"overheads × {f:g}", f, 1.0) for f in OVERHEADS] + [(f"load × {f:g}", 1.0, f) for f in LOADS]
    rows = []
    for what, overheads, load in cases:
        paid = {name: overheads * getattr(usual, name) for name in ("checkpoint_overhead", "restart_overhead")}
        settings, loaded = replace(usual, **paid), jobs if load == 1 else jobs.scale_load(load)
        for term in SWEPT_TERMS:
            run = run_of(loaded, cluster, "astraea", settings=settings, kept="summary", lease_term=term)
            rows.append((run, {"what": what, "overheads": overheads, "load": load, "seed": 0, "lease_term": term}))
    return Grid.of(rows)
