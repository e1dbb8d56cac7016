"""How every figure looks: one order and one palette of schedulers, one style.

Colours are Okabe and Ito's colour-blind safe set; line styles, markers and hatches tell the schedulers apart in grey
print. A variant of a scheduler has its hue and is dashed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure


class Look(NamedTuple):
    """Colour, line and filling of one curve or bar; `label` is its name in the papers."""

    label: str
    color: str
    line: Any = "-"
    width: float = 1.5
    hatch: str = ""
    marker: str = "o"


LOOKS: Final = {
    "astraea": Look("ASTRAEA", "#D55E00", "-", 2.8, "", "o"),
    "astraea-released": Look("ASTRAEA (released)", "#A34800", (0, (3.2, 1.3)), 2.1, "//", "D"),  # same hue, dashed
    "hived": Look("HiveD", "#CC79A7", (0, (8, 1.5)), 1.5, "\\\\", "s"),
    "allox": Look("AlloX", "#009E73", (0, (6, 1.5, 1, 1.5)), 1.5, "xx", "^"),
    "tiresias-l": Look("Tiresias-L", "#0072B2", "-", 1.5, "||", "v"),
    "themis": Look("Themis", "#56B4E9", (0, (1, 1)), 2.0, "..", "P"),
    "gandiva-fair": Look("Gandiva$_{\\mathrm{fair}}$", "#E69F00", (0, (3, 1, 1, 1, 1, 1)), 1.5, "--", "X"),
    "yarn-cs": Look("YARN-CS", "#222222", (0, (2.5, 1.5)), 1.3, "++", "p"),
    "fifo": Look("FIFO", "#8C8C8C", (0, (1, 2.2)), 2.0, "oo", "d"),
    "astraea-24h": Look("ASTRAEA, 24 h window", "#E8875B", (0, (1.2, 1.2)), 2.2, "xx", "<"),
    "finish-time-fairness": Look("Finish-time fairness", "#44AA99", "--", 1.5, "", "P"),
    "max-min": Look("Max-min", "#999933", "-.", 1.5, "", "h"),
    # Gavel's: a hue for each family; dashed if it does not tell types apart, dark if jobs share GPUs
    "fifo-het": Look("FIFO het.", "#8C8C8C", "-", 1.8, "oo", "d"),
    "fifo-het-ss": Look("FIFO het. + SS", "#4D4D4D", "-", 1.8, "OO", "D"),
    "las": Look("LAS", "#0072B2", (0, (4, 1.5)), 1.6, "//", "v"),
    "las-het": Look("LAS het.", "#0072B2", "-", 2.0, "||", "s"),
    "las-het-ss": Look("LAS het. + SS", "#00395A", "-", 1.5, "\\\\", "D"),
    "las-het-water-filling": Look("LAS het., water filling", "#56B4E9", "-", 1.5, "", "^"),
    "ftf": Look("FTF", "#44AA99", (0, (4, 1.5)), 1.6, "//", "v"),
    "ftf-het": Look("FTF het.", "#44AA99", "-", 2.0, "||", "s"),
    "ftf-het-ss": Look("FTF het. + SS", "#1F5F55", "-", 1.5, "\\\\", "D"),
    "makespan": Look("Makespan", "#CC79A7", (0, (4, 1.5)), 1.6, "//", "v"),
    "makespan-het": Look("Makespan het.", "#CC79A7", "-", 2.0, "||", "s"),
    "makespan-het-ss": Look("Makespan het. + SS", "#7A3B5E", "-", 1.5, "\\\\", "D"),
    "sjf": Look("SJF", "#999933", (0, (4, 1.5)), 1.6, "//", "v"),
    "sjf-het": Look("SJF het.", "#999933", "-", 2.0, "||", "s"),
    "gandiva": Look("LAS + Gandiva's SS", "#E69F00", (0, (3, 1, 1, 1, 1, 1)), 1.6, "--", "X"),
    "isolated": Look("Isolated", "#222222", (0, (1, 2)), 1.6, "++", "p"),
    "max-throughput": Look("Max. throughput", "#222222", (0, (4, 1.5)), 1.6, "//", "v"),
    "min-cost": Look("Min. cost", "#009E73", "-", 2.0, "||", "s"),
    "min-cost-slo": Look("Min. cost, SLOs", "#00523C", "-", 1.5, "\\\\", "D"),
    "hierarchical": Look("Hierarchical", "#AA4499", (0, (4, 1.5)), 1.6, "//", "v"),
    "hierarchical-het": Look("Hierarchical het.", "#AA4499", "-", 2.0, "||", "s"),
    "hierarchical-fifo": Look("Hierarchical, FIFO inside", "#882255", (0, (4, 1.5)), 1.6, "xx", "<"),
    "hierarchical-fifo-het": Look("Hierarchical het., FIFO inside", "#882255", "-", 2.0, "..", ">"),
    "ltgf": Look("LTGF", "#D55E00", (0, (4, 1.5)), 1.6, "//", "v"),
    "ltgf-het": Look("LTGF het.", "#D55E00", "-", 2.4, "||", "o"),
    # the other Astraea's, beside gandiva-fair and hived
    "astraea-market": Look("Astraea (market)", "#332288", "-", 2.6, "", "o"),
    "astraea-market-lemma": Look("Astraea, λ of Lemma 1", "#332288", (0, (3.2, 1.3)), 1.8, "//", "D"),
    "batch-sche": Look("BatchSche", "#117733", (0, (1, 1)), 1.8, "..", "^"),
    # Themis's baselines, beside themis and astraea
    "themis-one-bidder": Look("Themis, f = 1", "#1F78A4", (0, (4, 1.5)), 1.5, "//", "<"),
    "tiresias": Look("Tiresias", "#0072B2", "-", 1.5, "||", "v"),
    "optimus": Look("Optimus", "#009E73", (0, (6, 1.5, 1, 1.5)), 1.5, "xx", "^"),
    "gandiva-packing": Look("Gandiva", "#E69F00", (0, (3, 1, 1, 1, 1, 1)), 1.5, "--", "X"),
    "slaq": Look("SLAQ", "#CC79A7", (0, (8, 1.5)), 1.5, "\\\\", "s"),
    "strawman": Look("Strawman", "#222222", (0, (2.5, 1.5)), 1.3, "++", "p"),
    "rounds": Look("In rounds of 6 min", "#0072B2", "-", 2.4, "", "s"),
    "ideal": Look("Ideal execution", "#222222", (0, (1, 1.5)), 1.8, "", "o"),
    "oracle": Look("SS, measured pairs", "#00395A", "-", 2.4, "", "D"),
    "estimated": Look("SS, estimated pairs", "#E69F00", (0, (4, 1.5)), 1.8, "", "o"),
    "estimated-known": Look("SS, estimated, known job types", "#CC79A7", (0, (1, 1)), 1.8, "", "^"),
    "none": Look("No space sharing", "#0072B2", (0, (1, 1.5)), 1.8, "", "s"),
    "completed": Look("completed", "#56B4E9", "-", 1.5, ""),
    "cancelled": Look("cancelled", "#D9D9D9", "--", 1.5, "//"),
    "failed": Look("failed", "#D55E00", ":", 1.5, ".."),
}
"""Looks by name, in the order in which every figure and table shows them."""

OTHERS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#000000", "#F0E442", "#D55E00")
LINES: Final = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 3)), (0, (8, 2)))


def ordered(names: Iterable[Any]) -> list[Any]:
    """Distinct names: the known ones in the order of `LOOKS`, then the others as they come."""
    seen = list(dict.fromkeys(names))
    return [n for n in LOOKS if n in seen] + [n for n in seen if n not in LOOKS]


def look(name: Any, position: int = 0) -> Look:
    """Look of a scheduler or state; what is not known gets the colour of its position."""
    if name in LOOKS:
        return LOOKS[name]
    k = position % len(OTHERS)
    return Look(str(name), OTHERS[k], LINES[k], 1.6, "", "osv^DPXd"[k])


@contextmanager
def style() -> Iterator[None]:
    """Every figure's settings, for the time of a `with` block; nothing of the caller's settings is changed."""
    settings = {
        "figure.dpi": 100,
        "figure.constrained_layout.use": True,
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "axes.titlesize": 9.5,
        "axes.labelsize": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.7,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": "#E4E4E4",
        "grid.linewidth": 0.6,
        "hatch.linewidth": 0.5,
        "legend.frameon": False,
        "legend.fontsize": 8.5,
        "legend.handlelength": 2.8,
        "svg.hashsalt": "astraea",
        "svg.fonttype": "path",
    }
    with plt.style.context(["default", settings]):
        yield


def panels(columns: int = 1, rows: int = 1, width: float = 3.6, height: float = 2.6) -> tuple[Figure, Any]:
    """Make a figure in the project's style; `width` and `height` are those of one panel [inch].

    Returns
    -------
    Figure, and one Axes or an array of Axes, flat, row by row
    """
    with style():
        fig, axes = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False)
    return fig, axes.ravel() if axes.size > 1 else axes[0, 0]


def legend(fig: Figure, columns: int = 0) -> None:
    """One legend above all panels: every name once, in the order of `LOOKS`."""
    handles: dict[str, Any] = {}
    for ax in fig.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    place = {known.label: i for i, known in enumerate(LOOKS.values())}
    labels = sorted(handles, key=lambda x: place.get(x, len(place)))
    rows = math.ceil(len(labels) / max(1, int(fig.get_figwidth() / 1.4)))
    with style():
        fig.legend(
            [handles[x] for x in labels],
            labels,
            loc="outside upper center",
            ncols=columns or math.ceil(len(labels) / max(rows, 1)),
        )


def span(values: Any) -> tuple[float, float]:
    """Smallest and largest finite value."""
    finite = np.asarray(values, dtype=float)
    finite = finite[np.isfinite(finite)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)


def mark_line(ax: Axes, value: float, text: str, *, vertical: bool = True) -> None:
    """Draw a thin reference line with its meaning beside it."""
    (ax.axvline if vertical else ax.axhline)(value, color="#444444", linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
    if vertical:
        place: dict[str, Any] = {
            "xy": (value, 1.0),
            "xycoords": ("data", "axes fraction"),
            "xytext": (2, -2),
            "va": "top",
        }
    else:
        place = {"xy": (1.0, value), "xycoords": ("axes fraction", "data"), "xytext": (3, 0), "va": "center"}
    ax.annotate(text, **place, textcoords="offset points", fontsize=7.5, color="#444444", annotation_clip=False)


def title(ax: Axes, text: str) -> None:
    """Write a panel's title."""
    with style():
        ax.set_title(text)
