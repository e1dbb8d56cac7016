"""Titles of pictures name what their tables have, and ask nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from places import ROOT

from papers import charts
from papers.gavel.study.pictures import averages
from papers.market.study.pictures import fairness
from papers.themis.study.pictures import lies
from papers.ye2022 import pictures, tenant_pictures
from papers.ye2022.lease_term import term_range
from papers.ye2022.messages import leaders, times_ahead
from papers.ye2022.readings import PAPERS, PROGRAM


def table(**values: tuple[float, ...]) -> pd.DataFrame:
    """Two seeds of some schedulers in both readings: the values of the program's, then of the papers'."""
    rows = [
        {"reading": (PROGRAM, PAPERS)[k // 2], "scheduler": name, "seed": k % 2, "y": y}
        for name, four in values.items() for k, y in enumerate(four)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_the_lowest_mean_leads_in_each_reading() -> None:
    apart = table(astraea=(1, 2, 5, 6), themis=(0, 4, 1, 9), fifo=(3, 3, 9, 9))
    assert leaders(apart, "y") == "ASTRAEA in the authors' program, Themis from the papers"
    both = table(astraea=(1, 1, 1, 1), fifo=(3, 3, 9, 9))
    assert leaders(both, "y") == "ASTRAEA in the authors' program and from the papers"


def test_equal_schedulers_lead_together_and_a_missing_reading_is_not_named() -> None:
    even = table(astraea=(1, 3, 0, 0), themis=(2, 2, 1, 1), fifo=(9, 9, 9, 9))
    assert leaders(even, "y") == "ASTRAEA and Themis in the authors' program, ASTRAEA from the papers"
    assert leaders(even[even["reading"] == PAPERS], "y") == "ASTRAEA from the papers"


def test_a_tie_is_not_ahead_and_each_rival_counts() -> None:
    losses = {"astraea": (1, 1, 0), "themis": (2, 1, 0), "fifo": (0, 5, 5)}
    readings = (PROGRAM, PAPERS)
    rows = [(reading, name, at, y) for reading in readings for name, ys in losses.items() for at, y in enumerate(ys)]
    frame = pd.DataFrame(rows, columns=["reading", "scheduler", "load", "y"])
    assert times_ahead(frame, "load", "y", ["themis"]).startswith("at 1 of 3 in the authors' program, at 1 of 3 from")
    assert times_ahead(frame, "load", "y", ["themis", "fifo"]).startswith("at 0 of 3")
    assert times_ahead(frame, "load", "y", ["fifo", "astraea"]).startswith("at 2 of 3")  # never against itself
    of_program = frame[frame["reading"] == PROGRAM]
    assert times_ahead(of_program, "load", "y", ["fifo"]).endswith("at none from the papers")


@pytest.mark.parametrize(("terms", "text"), [([15, 15], "15 min in each case"), ([30, 10], "10 to 30 min, depending")])
def test_a_range_of_terms_is_no_single_term(terms: list[float], text: str) -> None:
    assert term_range(pd.Series(terms, dtype=float)).startswith(text)


def title_of(fig: Figure) -> str:
    """The title in one line."""
    text = fig.legends[0].get_title().get_text() if fig.legends else fig.get_suptitle()
    plt.close(fig)
    return re.sub(r"\s+", " ", text)


def read(name: str) -> pd.DataFrame:
    return pd.read_csv(ROOT / "figures" / f"{name}.csv")


@pytest.mark.parametrize(
    ("name", "draw", "expected"),
    [
        ("fig13_venus", pictures.completion_times, "JCT: ASTRAEA in the authors' program, Themis from the papers"),
        ("over-claiming_w2", tenant_pictures.over_claiming, "changes a tenant's JCT by +17 % under ASTRAEA"),
        ("memory_itp", tenant_pictures.memories, "4 of 4 other memories of a tenant's past have less sharing loss"),
        ("waits_itp", pictures.longest_waits, "to 2,469 h (YARN-CS)"),
        ("wang07_philly", fairness, "Astraea shares revenue most evenly in 4 of 5 trials, in the reading “as here”"),
        ("themis-lies_apps", lies, "by up to 13 % under Themis, 15 % under the strawman"),
        ("gavel14_continuous-single", averages, "at most 7 %, and by 1 % if job types are known"),
    ],
)  # fmt: skip
def test_titles_of_the_committed_pictures(name: str, draw: Callable[[pd.DataFrame], Figure], expected: str) -> None:
    """Values were read from the tables by hand; a rival who is ahead is named."""
    assert expected in title_of(draw(read(name)))


def test_no_title_asks() -> None:
    for path in sorted((ROOT / "papers").rglob("*.py")):
        assert not re.findall(r'headline=f?"[^"]*\?"', path.read_text(encoding="utf-8")), path


def test_a_long_title_fits_and_keeps_numbers_with_their_units() -> None:
    text = "A tenant's days below 0.99 of what it is owed: ASTRAEA 99 %, gradient-boosting 12 %, YARN-CS 88 % or 253 h"
    fig, axes = charts.panels(columns=2, width=3.5, height=2.0)
    axes[0].plot([0, 1], [0, 1], label="ASTRAEA")
    charts.legend(fig, headline=text)
    title = fig.legends[0].get_title()
    lines = title.get_text().split("\n")
    fig.canvas.draw()
    assert len(lines) == 2 and " ".join(lines).replace("\N{NO-BREAK SPACE}", " ") == text
    assert not any(line.startswith(("%", "h", "CS", "boosting")) for line in lines)
    extent = title.get_window_extent()
    assert extent.x0 >= 0 and extent.x1 <= fig.bbox.x1
    plt.close(fig)
