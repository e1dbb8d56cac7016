"""The leaderboard of a public workload: every policy of the package and AlloX under leases, in rounds."""

from __future__ import annotations

from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from astraea.cluster.policies import all_policies
from astraea.cluster.policy import Policy
from astraea.experiments.grid import Grid
from astraea.experiments.leaderboard import MEASURES, contest, standings
from astraea.plots import look, style
from papers.charts.axes import footnote, legend, name_axis, named, panels, title
from papers.layout import few_ticks
from papers.scales import seeds
from papers.ye2022.evaluation import READ, workloads
from papers.ye2022.ladder import FEWEST_WEEKS
from papers.ye2022.readings import COMPARED, PAPERS, policy_named

ALL: Final[dict[str, Policy]] = {s.name: s.made for s in COMPARED[PAPERS]}
"""The schedulers of the evaluation, then the authors' program, AlloX under leases, and what else there is, by name.

Without `easy`: these workloads have no time limits, so it would be a second FIFO.
"""
ALL.update({name: policy_named(name) for name in ("astraea-released", "allox-under-leases")})
ALL.update({name: policy for name, policy in all_policies().items() if name not in ALL and name != "easy"})

SEEDS: Final = {"small": 2, "paper": 5}

ONE_LOG: Final = ("w2", "chrslo", "philly-vcs")
"""Workloads that are cut out of one log of Philly: three views, one piece of evidence."""

_LOG: Final = ("average_jct", "slowdown_99")


def leaderboard_grid(trace: str, scale: str = "paper") -> Grid:
    """Every policy that can run on a workload; columns scheduler, seed. Runs that `main_grid` has too are the same."""
    return _contest(trace, scale)[0]


def leaderboard(trace: str, scale: str = "paper") -> pd.DataFrame:
    """Rank every policy on a workload; columns as of `standings`."""
    return standings(*_contest(trace, scale))


def _contest(trace: str, scale: str) -> tuple[Grid, dict[str, str]]:
    found = list(workloads(trace, scale, seeds(trace, scale, SEEDS)))
    return contest(ALL, [jobs for _, jobs, _ in found], found[0][2], READ)


def picture(table: pd.DataFrame) -> Figure:
    """Draw a panel per measure: each policy's value with its interval, and its rank at the right edge.

    The rows of all panels are in the order of the first measure.
    """
    ranked = table[table["reason"] == ""]
    order = ranked[ranked["measure"] == MEASURES[0]].sort_values("value", kind="stable")["scheduler"].tolist()
    fig, axes = panels(columns=3, rows=2, width=2.4, height=0.7 + 0.17 * len(order))
    with style():
        for k, (ax, measure) in enumerate(zip(axes, MEASURES, strict=True)):
            rows = ranked[ranked["measure"] == measure].set_index("scheduler").loc[order]
            for at, (name, row) in enumerate(rows.iterrows()):
                here = look(name, at)
                if has_intervals(ranked):
                    ax.plot(row[["low", "high"]].astype(float), [at, at], color=here.color, linewidth=1.2)
                ax.plot(row["value"], at, here.marker, color=here.color, markersize=5, clip_on=False)
                if pd.notna(row["rank"]):
                    ax.annotate(f"{row['rank']:.0f}", (1, at), (3, 0), xycoords=("axes fraction", "data"),
                                textcoords="offset points", va="center", fontsize=7, annotation_clip=False)  # fmt: skip
            if measure in _LOG:
                ax.set_xscale("log")
            else:
                ax.set_xlim(left=0)
            ax.set_yticks(range(len(order)), [look(name).label for name in order] if k % 3 == 0 else [])
            ax.set_ylim(len(order) - 0.4, -0.6)
            ax.tick_params(axis="y", length=0)
            name_axis(ax.xaxis, measure, log=measure in _LOG)
            few_ticks(ax.xaxis, 4)
            word = named(measure)[0]
            ax.set_xlabel(ax.get_xlabel().removeprefix(word).strip())
            title(ax, word)
    footnote(fig, said(table))
    mine = ranked[ranked["scheduler"] == "astraea"].set_index("measure")["rank"]
    places = f"rank {mine[MEASURES[0]]} in sharing loss, {mine['average_jct']} in JCT"
    return legend(fig, headline=f"ASTRAEA as printed among {len(order)} policies: {places}")


def has_intervals(ranked: pd.DataFrame) -> bool:
    """Return true if there are intervals to draw: those over fewer than `FEWEST_WEEKS` weeks are not."""
    enough = int(ranked["seeds"].max()) > 1 or int(ranked["weeks"].max()) >= FEWEST_WEEKS
    return enough and bool(ranked["low"].notna().any())


def said(table: pd.DataFrame) -> str:
    """Say what the bars are, and which policies are not there and why."""
    ranked = table[table["reason"] == ""]
    seeds, weeks = int(ranked["seeds"].max()), int(ranked["weeks"].max())
    bars = f"Bars: 95 % intervals over {f'{seeds} seeds' if seeds > 1 else f'{weeks} weeks of submissions'}."
    if not has_intervals(ranked):
        bars = f"No intervals: {f'{seeds} seeds' if seeds > 1 else f'fewer than {FEWEST_WEEKS} weeks of submissions'}."
    missing = table[table["reason"] != ""].groupby("reason", sort=False)["scheduler"].agg(list)
    absent = [f"Not run: {', '.join(map(_in_list, names))}\n({reason})." for reason, names in missing.items()]
    return "\n".join([f"Right of each panel: rank, 1 is best. {bars}", *absent])


def _in_list(name: str) -> str:
    """Write a policy's name for a list with commas: "AlloX (under leases)"."""
    first, comma, rest = look(name).label.partition(", ")
    return f"{first} ({rest})" if comma else first
