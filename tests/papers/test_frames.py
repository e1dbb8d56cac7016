"""Stored frames: every value has its picture and its words, one is open, and nothing is loaded from elsewhere."""

from __future__ import annotations

from html.parser import HTMLParser

import matplotlib
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from astraea.core.errors import InputError
from papers.charts.axes import panels
from papers.frames import frames

matplotlib.use("Agg")

TERMS = {"1 min": 1, "5 min": 5, "<1 h": 60}


class Elements(HTMLParser):
    """Elements with their attributes, and whether all were closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.found if name == tag]


def line(minutes: int) -> tuple[Figure | pd.DataFrame, ...]:
    fig, ax = panels()
    ax.plot([0, minutes])
    return fig, pd.DataFrame({"minutes": [minutes]})


def test_each_value_has_a_fold_with_picture_table_and_words() -> None:
    plt.close("all")
    shown = frames("lease", TERMS, line, lambda minutes: f'JCT at "{minutes}" min', start="5 min")
    page = Elements(shown.html)
    folds, pictures = page.of("details"), page.of("img")
    assert page.open == [] and plt.get_fignums() == []
    assert [("open" in fold) for fold in folds] == [False, True, False]
    assert len({fold["name"] for fold in folds}) == 1
    assert [picture["alt"] for picture in pictures] == [f'JCT at "{minutes}" min' for minutes in TERMS.values()]
    assert all((picture["src"] or "").startswith("data:image/webp;base64,") for picture in pictures)
    assert [len(page.of(tag)) for tag in ("table", "summary", "script")] == [3, 3, 1]
    assert len(shown.html) < 40_000 * len(TERMS)
    assert repr(shown) == "Frames: 1 min, 5 min, <1 h"


@pytest.mark.parametrize("start", ["2 min", "5"])
def test_an_unknown_start_is_refused(start: str) -> None:
    with pytest.raises(InputError, match="frames: start must be one of"):
        frames("lease", TERMS, line, str, start=start)
