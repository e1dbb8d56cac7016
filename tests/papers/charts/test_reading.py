"""Pictures can be read: in grey print, and by their hatches."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from astraea.plots import LOOKS
from papers import charts
from papers.areas import heatmap
from papers.charts.axes import WORDS
from papers.ye2022.readings import FROM_PAPERS

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


def test_schedulers_differ_in_print_and_units_are_clear() -> None:
    schedulers = [LOOKS[name] for name in FROM_PAPERS]
    for kind in ("color", "marker", "hatch"):
        assert len({getattr(look, kind) for look in schedulers}) == len(schedulers), kind
    # two are solid, of widths that nobody confuses
    assert len({str(look.line) for look in schedulers}) == len(schedulers) - 1
    assert LOOKS["astraea"].line == "-" and LOOKS["astraea"].width > 1.5 * LOOKS["tiresias-l"].width
    assert len({look.label for look in LOOKS.values()}) == len(LOOKS)  # a legend shows each name once
    assert {unit for _, unit in WORDS.values()} <= {"", "s", "h", "%", "share", "points", "GPU", "GPU-s"}


@pytest.mark.parametrize(
    "together",
    [
        ("las", "ltgf", "gandiva", "las-het", "ltgf-het", "las-het-ss"),
        ("las", "ftf", "makespan", "max-throughput"),
        ("las-het", "hierarchical-het", "las-het-ss", "hierarchical-het-ss"),
        ("astraea", "tiresias", "strawman", "slaq", "optimus", "gandiva-packing"),
    ],
)
def test_lines_of_a_picture_differ_in_grey(together: tuple[str, ...]) -> None:
    assert len({(str(LOOKS[name].line), LOOKS[name].marker) for name in together}) == len(together)


def test_what_is_far_below_1_is_hatched() -> None:
    days = pd.DataFrame({"day": [1, 2, 3], "tenant": "a", "rho_tenant": [0.5, 1.0, 1.5]})
    _, ax = charts.panels()
    heatmap(days, "day", "tenant", "rho_tenant", ax)
    assert [patch.get_xy() for patch in ax.patches] == [(0, 0)]
