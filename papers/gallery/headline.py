"""The result that a reader sees first: jobs short of their share, by the paper, the authors' program, and rebuilt."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pandas as pd

from astraea.core.errors import InputError
from astraea.plots import look, style
from astraea.plots.files import further_forms
from papers import charts
from papers.charts.axes import HEADLINE
from papers.claims.evaluate import read_claims
from papers.claims.filled import ALL
from papers.ye2022.readings import PAPERS, PROGRAM
from papers.ye2022.rules import SEVEN

NAME: Final = "headline"
ROWS: Final = ("astraea", "themis", "tiresias-l", "yarn-cs")
"""Schedulers of the table: ASTRAEA, two rivals that are ahead of it in one reading, and the worst."""

NAMES: Final = {
    "venus": "Venus (synthetic)", "philly": "Philly (synthetic)", "w2": "w2 (recorded)",
    "chrslo": "chrSLO (recorded)", "philly-vcs": "philly-vcs (recorded)", "itp": "ITP (recorded)",
}  # fmt: skip
"""Traces as a reader knows them."""

ALT: Final = (
    "Share of jobs short of their share on six traces. In the authors' program ASTRAEA leaves the fewest jobs short on "
    "each trace; built from the papers, a rival leaves fewer"
)


def table(folder: Path) -> list[str]:
    """Return the table on Venus, line by line: the paper, the authors' program, and from the papers; lowest in bold.

    Values are means over the seeds of ``table10_venus.csv``; the range of the seeds is behind them.
    """
    losses = pd.read_csv(folder / "table10_venus.csv").set_index(["reading", "scheduler"])["sharing_loss"] * 100
    printed = read_claims().set_index("id")["value"]
    columns = [{name: float(printed[id]) for name in ROWS if (id := f"ye.f10.{name}") in printed.index}]
    columns += [losses[reading].groupby("scheduler").mean().loc[[*ROWS]].to_dict() for reading in (PROGRAM, PAPERS)]
    lines = ["| jobs short of their share, Venus | paper | authors' program | built from the papers |"]
    lines.append("| --- | --- | --- | --- |")
    for name in ROWS:
        cells = []
        for reading, column in zip(("", PROGRAM, PAPERS), columns, strict=True):
            text = f"{column[name]:.1f} %" if name in column else "not printed"
            text = f"**{text}**" if column.get(name) == min(column.values()) else text
            seeds = losses.get((reading, name)) if reading else None
            cells.append(text if seeds is None else f"{text} ({seeds.min():.1f} to {seeds.max():.1f})")
        lines.append(f"| {look(name).label} | {' | '.join(cells)} |")
    return lines


def draw(folder: Path) -> Path | None:
    """Draw sharing losses on every trace in both readings; None where a table is not there.

    A picture whose table would be the same stays.
    """
    try:
        frame = pd.concat([_means(folder, trace) for trace in ALL], ignore_index=True)
    except FileNotFoundError:
        return None
    if set(frame["reading"]) != {PROGRAM, PAPERS}:
        raise InputError(f"table10 has the readings {sorted(set(frame['reading']))}")
    picture = folder / f"{NAME}_all.png"
    files = [picture.with_suffix(f".{form}") for form in ("csv", "png", *further_forms())]
    if all(path.exists() for path in files) and frame.equals(pd.read_csv(files[0])):
        return picture
    fig, axes = charts.panels(columns=2, width=3.5, height=2.9)
    with style():
        for ax, reading in zip(axes, (PROGRAM, PAPERS), strict=True):
            for k, name in enumerate(SEVEN):
                mine = frame[(frame["reading"] == reading) & (frame["scheduler"] == name)]
                here, shift = look(name), 0.09 * (k - 3.5) if k else 0.0  # so that no mark hides another
                ax.plot(mine["sharing_loss"], [ALL.index(t) + shift for t in mine["trace"]], here.marker,
                        color=here.color, markersize=6 if k else 9, label=here.label)  # fmt: skip
            ax.set_xscale("log")
            ax.set_xlim(0.02, 1)
            ax.set_xticks([0.02, 0.05, 0.1, 0.2, 0.5, 1], ["2", "5", "10", "20", "50", "100"])
            ax.minorticks_off()
            ax.set_yticks(range(len(ALL)), [NAMES[t] for t in ALL] if reading == PROGRAM else [""] * len(ALL))
            ax.set_ylim(len(ALL) - 0.5, -0.5)
            ax.set_xlabel("Jobs short of their share [%] (log scale)")
            ax.set_title(f"({'ab'[reading == PAPERS]}) {reading}")
        handles = {handle.get_label(): handle for handle in axes[1].lines}
        said = f"ASTRAEA leaves the fewest jobs short {_won(frame)}"
        drawn = fig.legend(handles.values(), handles, loc="outside upper center", ncols=7, handlelength=1,
                           handletextpad=0.3, columnspacing=1.2, title=said, title_fontproperties=HEADLINE)  # fmt: skip
        drawn.get_title().set_multialignment("center")
    charts.save(fig, NAME, "all", folder, frame)
    return picture


def _won(frame: pd.DataFrame) -> str:
    """Count the traces on which ASTRAEA has the lowest sharing loss in each reading."""
    lowest = frame.loc[frame.groupby(["reading", "trace"])["sharing_loss"].idxmin()]
    first = lowest[lowest["scheduler"] == "astraea"].groupby("reading").size().reindex([PROGRAM, PAPERS], fill_value=0)
    words = {len(ALL): f"all {len(ALL)} traces", 0: "none"}
    many = [words.get(n, f"{n} of {len(ALL)} traces") for n in first]
    return f"on {many[0]} in {PROGRAM},\nand on {many[1]} if all schedulers are built from their papers"


def _means(folder: Path, trace: str) -> pd.DataFrame:
    """Mean over seeds of one trace, six significant digits as in the file."""
    means = pd.read_csv(folder / f"table10_{trace}.csv").groupby(["reading", "scheduler"], sort=False)["sharing_loss"]
    found = means.mean().reset_index()
    found = found[found["scheduler"].isin(SEVEN)].assign(trace=trace)
    found["sharing_loss"] = found["sharing_loss"].map(lambda x: float(f"{x:.6g}"))
    return found[["trace", "reading", "scheduler", "sharing_loss"]]
