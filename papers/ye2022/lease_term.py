"""The recommended lease term, tried by hand and under other overheads and loads ([Ye2022] §5.1.3, §6.2, Fig 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.metrics import summary
from astraea.core.units import HOUR
from astraea.experiments.grid import Grid
from astraea.experiments.lease_term import FIGURES, TOLERANCE, lease_means, recommended_term
from astraea.experiments.run import Run
from astraea.plots import style
from astraea.traces.named import named_trace
from astraea.traces.trace import Trace
from papers import charts
from papers.charts.axes import log_ticks, name_axis, panels
from papers.layout import quick
from papers.ye2022.evaluation import INTERVAL, crowded_nodes, few_seeds, first_jobs, workloads
from papers.ye2022.messages import IN
from papers.ye2022.readings import ASTRAEA

SWEPT_TERMS: Final = (300.0, 600.0, 900.0, 1800.0, 3600.0)  # lease terms of the sensitivity sweep [s]
OVERHEADS: Final = (0.5, 2.0, 4.0)  # factors on the checkpoint and restart overheads in it
LOADS: Final = (0.8, 1.2)  # factors on the rate of arrival in it
PAPERS_TERM: Final = 900.0  # of the paper's other experiments, §6.2 [s]
UNCHANGED: Final = "as it is"  # the case of the sweep without a factor
_RING: Final[dict[str, Any]] = {
    "marker": "o", "markersize": 11, "linestyle": "none", "markerfacecolor": "none", "markeredgecolor": "#BB5566",
    "markeredgewidth": 1.4,
}  # fmt: skip
HANDFUL: Final = 700  # jobs of `handful`


def recommendations(frame: pd.DataFrame, by: str) -> pd.DataFrame:
    """Each case of `by` (the index): columns recommended, best [s], then `FIGURES` at the recommended lease term."""
    rows = {}
    for case, part in frame.groupby(by, sort=False):
        term, _ = recommended_term(part)
        means, best = lease_means(part)
        rows[case] = {"recommended": term, "best": best, **means.loc[term]}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(by)


def term_range(best: pd.Series[float]) -> str:
    """Write the lease terms of several cases [min]: one for all, or from the least to the largest."""
    if best.min() == best.max():
        return f"{best.min():g} min in each case"
    return f"{best.min():g} to {best.max():g} min, depending on the case"


def over_terms(table: pd.DataFrame, by: str, axes: Sequence[Axes]) -> None:
    """Draw `FIGURES` over the lease term, a panel for each, and a line for each value of `by`."""
    terms = [at for at in sorted(table["lease_term"].unique()) if at not in (900, 1200)]
    for ax, column in zip(axes, FIGURES, strict=True):
        charts.lines(table, "lease_term", column, by=by, ax=ax, log=True)
        ax.set_xticks(terms)
        ax.minorticks_off()
        ax.set_ylim(top=1.08 * table[column].max())
    charts.titles(axes, "(a) efficiency", "(b) cost", "(c) fairness of jobs")
    axes[1].set_yscale("log")
    axes[1].set_ylim(0.8 * table["overhead_share"].min(), 1.4 * table["overhead_share"].max())


def curves(table: pd.DataFrame, published: Mapping[str, float], of_cost: Mapping[str, float]) -> Figure:
    """Draw Fig 9: efficiency, cost and fairness over the lease term, both readings; a ring is the recommended term.

    `published` has the paper's term with the lowest JCT as ``jct`` [s], `of_cost` its ``overhead`` at 15 min [0, 1].
    """
    fig, axes = charts.panels(columns=3, width=2.33, height=3.0)
    over_terms(table, "reading", axes)
    terms, recommended = sorted(table["lease_term"].unique()), {}
    for reading, part in table.groupby("reading", sort=False):
        term, _ = recommended_term(part)
        recommended[str(reading)] = term
        means = part[part["lease_term"] == term][FIGURES].mean()
        for ax, column in zip(axes, FIGURES, strict=True):
            ax.plot(term, means[column], label="recommended here", **_RING)
    if "jct" in published:
        charts.named_line(axes[0], published["jct"], f"the paper's lowest JCT, {published['jct'] / 60:g} min")
    if "overhead" in of_cost:
        axes[1].plot(PAPERS_TERM, of_cost["overhead"], **charts.PUBLISHED)
    axes[0].set_ylim(0.95 * table["average_jct"].min())
    name_axis(axes[0].yaxis, "average_jct")
    log_ticks(axes[1].yaxis, 100)
    labels = ("Average JCT [h]\n(axis cut)", "Overhead [% of JCT]\n(log scale)", "Jobs with\nsharing loss [%]")
    for ax, label in zip(axes, labels, strict=True):
        ax.set_ylabel(label)
    rule = f"Recommended: the shortest term whose average JCT is within {100 * TOLERANCE:g} % of the lowest."
    for end, side in ((terms[0], "below"), (terms[-1], "above")):
        if end in recommended.values():
            rule += f" No term {side} {end / 60:g} min was tried, so the best may lie there."
    charts.footnote(fig, rule)
    said = {where: f"{recommended[name] / 60:g} min" for name, where in IN.items() if name in recommended}
    alike = len(said) == len(IN) and len(set(said.values())) == 1
    text = f"{next(iter(said.values()))} in both readings" if alike else ", ".join(f"{v} {k}" for k, v in said.items())
    return charts.legend(fig, columns=3, headline=f"Recommended lease term: {text}")


def sensitivity(excess: pd.DataFrame, note: str) -> Figure:
    """Draw the JCT above the best over the lease term in each case, a table of `above_best`; `note` is of the jobs."""
    fig, axes = charts.panels(columns=2, width=3.5, height=3.1)
    cases = list(dict.fromkeys(excess["what"]))
    for ax, kind, letter in zip(axes, ("overheads", "load"), "ab", strict=True):
        mine = (excess["what"] == UNCHANGED) | excess["what"].str.startswith(kind)
        charts.lines(excess[mine], "lease_term", "excess", by="what", ax=ax, log=True, among=cases)
        top = max(1.05 * excess["excess"].max(), 1.5 * TOLERANCE)
        ax.set_ylim(-0.04 * top, top)
        ax.set_ylabel("Average JCT above the best [%]" if letter == "a" else "")
        ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g}")
        charts.named_line(ax, TOLERANCE, f"tolerance, {100 * TOLERANCE:g} %", vertical=False)
        charts.title(ax, f"({letter}) other {'overheads' if letter == 'a' else 'loads'}")
    charts.footnote(fig, f"ASTRAEA from the papers, as in Fig 9. {note}")
    best = excess.pivot_table("excess", "lease_term", "what").idxmin() / 60
    return charts.legend(fig, columns=4, headline=f"JCT is lowest with leases of {term_range(best)}")


def handful() -> tuple[Trace, Cluster]:
    """Few jobs on a cluster that they fill, simulated in a tenth of a second: the first of the synthetic Venus."""
    trace = named_trace("venus").head(HANDFUL).in_rounds(INTERVAL)
    return trace, Cluster(crowded_nodes(trace))


def under_lease_term(trace: Trace, cluster: Cluster, term: float) -> pd.Series[float]:
    """`lease_term` [s] and `FIGURES` of ASTRAEA under it."""
    found = summary(simulate(trace, cluster, get_policy("astraea").with_parameters(lease_term=term)))
    return pd.Series({"lease_term": term, **{name: float(found[name]) for name in FIGURES}})


def three_panels(curve: pd.DataFrame, chosen: pd.Series[float]) -> Figure:
    """Draw `under_lease_term` over several terms, a row each, as lines, and one term as a large dot with its values."""
    in_percent = ("{:.1f} %", 100)
    texts = {"average_jct": ("{:.2f} h", 1 / HOUR), "overhead_share": in_percent, "sharing_loss": in_percent}
    labels = ("Average JCT [h]", "Overhead [% of JCT]", "Sharing loss [% of jobs]")
    fig, axes = panels(columns=3, width=2.33, height=2.2)
    with style():
        for ax, label, (column, (text, factor)) in zip(axes, labels, texts.items(), strict=True):
            ax.plot(curve["lease_term"], curve[column], "-", color="#777777", linewidth=1.2)
            ax.plot(chosen["lease_term"], chosen[column], "o", color="#D55E00", markersize=8)
            ax.set_title(text.format(factor * chosen[column]), color="#A84300")
            ax.set_xscale("log")
            ax.set_ylim(0, 1.15 * curve[column].max())
            name_axis(ax.xaxis, "lease_term", log=True)
            name_axis(ax.yaxis, column)
            ax.set_ylabel(label)
    return quick(fig)


def sensitivity_grid(trace: str, scale: str = "paper") -> Grid:
    """ASTRAEA from the papers with a few lease terms, when overheads or the load are smaller or larger.

    The scheduler is that of Fig 9. One thing is changed at a time; the unchanged case comes first. The jobs are
    `evaluation.first_jobs`, of three seeds of a synthetic trace that is not `evaluation.LARGE`. Columns of the index:
    what, overheads, load (factors), seed, lease_term [s].
    """
    usual = Settings()
    cases = [(UNCHANGED, 1.0, 1.0)]
    cases += [(f"overheads × {f:g}", f, 1.0) for f in OVERHEADS] + [(f"load × {f:g}", 1.0, f) for f in LOADS]
    rows = []
    for seed, recorded, cluster in workloads(trace, scale, few_seeds(trace, scale, usual=3)):
        jobs = first_jobs(recorded)
        for what, overheads, load in cases:
            paid = {name: overheads * getattr(usual, name) for name in ("checkpoint_overhead", "restart_overhead")}
            settings, loaded = replace(usual, **paid), jobs if load == 1 else jobs.scale_load(load)
            for term in SWEPT_TERMS:
                policy = ASTRAEA.made.with_parameters(lease_term=term)
                run = Run(loaded, cluster, policy, settings=settings, keep="summary")
                named = {"what": what, "overheads": overheads, "load": load, "seed": seed, "lease_term": term}
                rows.append((run, named))
    return Grid.of(rows)


def above_best(swept: pd.DataFrame) -> pd.DataFrame:
    """Return a table of `sensitivity_grid` with ``excess``, the average JCT above the best of its case and seed."""
    best = swept.groupby(["what", "seed"])["average_jct"].transform("min")
    return swept.assign(excess=swept["average_jct"] / best - 1)
