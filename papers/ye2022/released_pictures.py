"""Pictures of the paper's text beside the released program: four jobs, options, the skipped neighbour, and readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from astraea.core.result import Result
from astraea.core.units import HOUR
from astraea.plots import OTHERS, look, style
from papers import charts
from papers.areas import gantt
from papers.charts.axes import REFERENCE, announce_cut, announce_log, footnote, log_ticks
from papers.charts.dots import BELOW, seed_dots
from papers.layout import few_ticks
from papers.ye2022.beside_astraea import against_astraea
from papers.ye2022.ladder import BEFORE, RUNGS
from papers.ye2022.released import EXAMPLE, VARIANTS, WALKS, WRITTEN, changed_loss, example

_KINDS: Final = ("Algorithm 1, with rules of the program", "the program", "the program, another order of jobs")
GROUPS: Final = {
    v.name: _KINDS[0 if v.policy != "astraea-released" else 2 if "job_order" in v.parameters else 1] for v in VARIANTS
}

MEASURES: Final = {
    "average_jct": ("Average JCT [h]", 1 / HOUR),
    "average_slowdown": ("Average slowdown", 1),
    "sharing_loss": ("Jobs with\nsharing loss [%]", 100),
    "tenant_below_99": ("Tenant cases\nbelow 0.99 [%]", 100),
}
"""Column of a table -> its heading, and the factor to its unit; less is better in each."""


def dot_plot(
    frame: pd.DataFrame, columns: Mapping[str, tuple[str, float]], by: str, axes: Sequence[Axes], *,
    groups: Mapping[str, str], reference: str | None = None, log: Sequence[str] = (),
) -> None:  # fmt: skip
    """Draw each class of `by` as a row, in the order of the table, and each of `columns` in a panel of its own.

    Small dots are the rows of the table (seeds), the large one is their mean. `columns` gives each column its heading
    and the factor to its unit; `groups` gives each class its group, which has a colour and an entry in the legend,
    unless it is empty. The mean of the class `reference` is a line through the whole panel, and 5 % of it are in view
    on both sides; without it the line is at 0. The columns in `log` have a logarithmic axis, unless a value is 0.
    """
    names = list(dict.fromkeys(frame[by]))
    kinds = list(dict.fromkeys(groups.values()))
    with style():
        for k, ((column, (heading, factor)), ax) in enumerate(zip(columns.items(), axes, strict=True)):
            shown = factor * frame[column]
            means = shown.groupby(frame[by]).mean()
            ax.axvline(0.0 if reference is None else means[reference], **REFERENCE, label=reference)
            for row, name in enumerate(names):
                values = shown[frame[by] == name]
                color = OTHERS[kinds.index(groups[name])] if groups[name] else "#222222"
                mark: dict[str, Any] = {"color": color, "linestyle": "none"}
                if len(values) > 1:
                    seed_dots(ax, values, np.full(len(values), row + BELOW), color)
                ax.plot(means[name], row, marker="o", markersize=7, markeredgecolor="white", zorder=2,
                        label=groups[name] or None, **mark)  # fmt: skip
            ax.set_ylim(len(names) - 0.5, -0.5)
            ax.set_yticks(range(len(names)), names if k == 0 else [""] * len(names))
            ax.tick_params(axis="y", length=0)
            ax.margins(x=0.12)
            ax.set_xlabel(heading)
            is_log = column in log and shown.min() > 0
            if is_log:
                ax.set_xscale("log")
            if reference is not None:
                low, high = ax.get_xlim()
                ax.set_xlim(min(low, 0.95 * means[reference]), max(high, 1.05 * means[reference]))
            if is_log:
                log_ticks(ax.xaxis)
                announce_log(ax.xaxis)
            elif reference is not None:
                announce_cut(ax.xaxis)
            few_ticks(ax.xaxis, 4)


def parting(results: Mapping[str, Result]) -> Figure:
    """Draw which jobs run when: the results of `released.parting`."""
    fig, axes = charts.panels(columns=2, width=3.5, height=2.1)
    for ax, letter, (text, result) in zip(axes, "ab", results.items(), strict=True):
        gantt(result.log, ax, gpus=EXAMPLE.gpus)
        charts.title(ax, f"({letter}) {text}")
    end = max(float(result.jobs["end_time"].max()) for result in results.values())
    for ax in axes:
        ax.set_xlim(0, end)
    return fig


def options(paid: pd.DataFrame) -> Figure:
    """Each variant of `released_grid`, with overheads; the line is Algorithm 1."""
    fig, axes = charts.panels(columns=4, width=1.75, height=3.7)
    log = ["average_slowdown", "sharing_loss"]
    dot_plot(paid, MEASURES, "variant", axes, groups=GROUPS, reference=WRITTEN, log=log)
    losses = 100 * paid.groupby("variant")["sharing_loss"].mean()
    changes = losses - losses[WRITTEN]
    most = changes.abs().idxmax()
    said = f"Largest effect on sharing loss: {most}, {changes[most]:+.1f} points compared with {WRITTEN}"
    return charts.legend(fig, columns=2, headline=said)


def neighbour(alone: pd.DataFrame, together: pd.DataFrame) -> Figure:
    """The skipped neighbour in an example, and what it does: `released.walked` and, named alike, `synchrony`."""
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.1)
    for ax, letter, (skipped, text) in zip(axes, "ab", WALKS.items(), strict=False):
        gantt(example(skipped).log, ax, gpus=EXAMPLE.gpus, rows="job")
        for number in list(ax.texts):
            number.remove()  # every job has one GPU
        for box in ax.patches:
            box.set(facecolor="#8C8C8C")  # colours are those of (c)
        charts.title(ax, f"({letter}) {text}", "the lease behind an expired one stays for a round" if skipped else "")
    charts.dodged(together, "times", "together", by="walk", ax=axes[2], each=False)
    axes[2].set(ylabel="Leases, on average", xlabel="Times in the trace")
    axes[2].set_ylim(0, 1.15 * together["together"].max())
    charts.title(axes[2], "(c) leases that end in one round")
    what = {"change": ("Jobs with sharing loss:\nskipped minus mended [points]", 100)}
    dot_plot(changed_loss(alone), what, "times", axes[3:], groups={"in rounds": "", "whole minutes": ""})
    charts.named_line(axes[3], 0.0, "no change")
    charts.title(axes[3], "(d) effect on fairness")
    return charts.legend(fig, headline="A bug of the program keeps leases a round too long")


def ladder(table: pd.DataFrame, paired: pd.DataFrame) -> Figure:
    """Above, ASTRAEA and the two rivals of both readings on each rung of `ladder_grid`; below, `ladder.differences`.

    Small dots are seeds, marks their means; a bar is the 95 % interval of a paired difference, from three seeds or
    weeks on.
    """
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=3.3)
    rungs = {rung.name: k for k, rung in enumerate(RUNGS)}
    main, several = sum(not rung.beside for rung in RUNGS), table["seed"].max() > table["seed"].min()
    changes = {BEFORE: "ASTRAEA: this rung minus the one before"}
    changes |= {name: f"ASTRAEA minus {look(name).label}" for name in ("tiresias-l", "themis")}
    for above, below, column in zip(axes, axes[2:], ("sharing_loss", "tenant_below_99"), strict=False):
        for k, name in enumerate(("astraea", "tiresias-l", "themis")):
            here, mine = look(name), table[table["scheduler"] == name]
            means = 100 * mine.groupby("rung")[column].mean().reindex(list(rungs)).to_numpy()
            for part, line in ((slice(main), here.line), (slice(main, None), "none")):
                above.plot(means[part], range(len(rungs))[part], color=here.color, marker=here.marker, linestyle=line,
                           markersize=5, label=here.label)  # fmt: skip
            if several:
                seed_dots(above, 100 * mine[column], mine["rung"].map(rungs) + 0.2 + 0.13 * k, here.color)
        for place, (minus, text) in enumerate(changes.items()):
            here = look("astraea" if minus == BEFORE else minus)
            rows = paired[(paired["minus"] == minus) & (paired["measure"] == column)]
            reach = [100 * (rows["mean"] - rows["low"]), 100 * (rows["high"] - rows["mean"])]
            below.errorbar(100 * rows["mean"], rows["rung"].map(rungs) + 0.25 * (place - 1), color=here.color,
                           xerr=[far.where(rows["n"] > 2) for far in reach] if rows["n"].max() > 2 else None,
                           fmt=here.marker, markersize=4, capsize=1.5, elinewidth=1, label=text)  # fmt: skip
        word = MEASURES[column][0].replace("\n", " ")
        shown = 100 * table.loc[table["scheduler"].isin(["astraea", "tiresias-l", "themis"]), column]
        above.set_xlim(-0.02 * (shown.max() or 1), 1.1 * (shown.max() or 1))
        above.set_xlabel(word)
        if 1 < 10 * shown.median() < shown.max():  # most are so small that they would lie on one another
            above.set_xscale("symlog", linthresh=1)
            charts.name_values(above, [0, 0.5, 1, 2, 5, 10, 20, 50])
            above.set_xlim(-0.1, 1.5 * shown.max())  # after the ticks, which widen the view
            above.set_xlabel(f"{word} (log scale above 1 %)")
        below.set_xlabel(word.replace("%", "points"))
        below.axvline(0, **REFERENCE)
        for ax in (above, below):
            ax.axhline(main - 0.5, **REFERENCE)
            ax.set_yticks(range(len(RUNGS)), _numbered() if ax in (axes[0], axes[2]) else [""] * len(RUNGS), fontsize=8)
            ax.set_ylim(len(RUNGS) - 0.2, -0.6)
            ax.tick_params(axis="y", length=0)
    charts.titles(axes, "(a) jobs", "(b) tenants", "(c) jobs: differences", "(d) tenants: differences")
    bars = "Differences are within a seed; bars are 95 % intervals, from three seeds on."
    weeks = int(paired["n"].max())
    drawn = f"One run; bars are 95 % intervals, for which its {weeks} weeks are drawn with replacement."
    footnote(fig, bars if several else drawn if weeks > 1 else "One run of a short log, so there are no intervals.")
    losses = paired[(paired["minus"] == "tiresias-l") & (paired["measure"] == "sharing_loss")]
    lead = 100 * losses.set_index("rung")["mean"]
    ends = f"{lead[RUNGS[0].name]:+.1f} points as printed, {lead[RUNGS[main - 1].name]:+.1f} in the authors' program"
    return charts.legend(fig, columns=3, headline=f"Sharing loss, ASTRAEA minus Tiresias-L: {ends}")


def _numbered() -> list[str]:
    """Rungs as a picture lists them: what the main line adds, numbered, and the side rungs with letters."""
    main = [rung.name for rung in RUNGS if not rung.beside]
    side = zip("abc", (rung for rung in RUNGS if rung.beside), strict=False)
    return [
        *(f"{k} {'+ ' * (k > 1)}{name}" for k, name in enumerate(main, 1)),
        *(f"{main.index(rung.beside) + 1}{letter} {rung.name}" for letter, rung in side),
    ]


def baselines(every: pd.DataFrame) -> Figure:
    """Draw each baseline in the ways that its paper leaves open, beside ASTRAEA."""
    return against_astraea(every, "variants of the rivals")
