"""Pictures of the evaluation: axes reach what lies near, and what lies beyond is written."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from matplotlib import pyplot as plt

from astraea.cluster.cluster import Cluster
from astraea.plots import look
from astraea.traces.trace import Trace
from papers.charts.wrapping import even_lines
from papers.ye2022 import pictures, tenant_pictures
from papers.ye2022.lease_term import UNCHANGED, sensitivity
from papers.ye2022.readings import READINGS


def loads(slowdown: float, gpus: int = 1, duration: float = 50.0) -> tuple[list[int], str]:
    """Lines of YARN-CS by panel, if it has this slowdown and others 1 to 10, and the footnote; jobs fill one GPU."""
    columns = ["reading", "scheduler", "load", "seed", "average_jct", "average_slowdown", "sharing_loss"]
    rows = [
        (reading, name, load, 0, 3600.0 * (1 + k) * load, (1.0, 10.0, slowdown)[k] * load, 0.1 * k)
        for reading in READINGS
        for k, name in enumerate(("astraea", "themis", "yarn-cs"))
        for load in (0.8, 1.0)
    ]
    jobs = {"job_id": ["a", "b"], "tenant": "t", "demand": 1, "submit_time": [0.0, 100.0], "duration": duration}
    trace = Trace.from_frame(pd.DataFrame(jobs))
    fig: Any = pictures.loads(pd.DataFrame(rows, columns=columns), trace, Cluster(1, gpus))
    drawn = [[line.get_label() for line in ax.lines].count(look("yarn-cs").label) for ax in fig.axes]
    said = fig._supxlabel.get_text() if fig._supxlabel is not None else ""
    plt.close(fig)
    return drawn, said


@pytest.mark.parametrize(("slowdown", "slowdowns"), [(20.0, 1), (500.0, 0)])
def test_yarn_is_a_line_where_it_lies_inside_the_axis(slowdown: float, slowdowns: int) -> None:
    drawn, _ = loads(slowdown)
    assert drawn == [1, 1, slowdowns, slowdowns, 1, 1]


def test_a_load_of_its_own_outside_the_picture_is_said() -> None:
    assert "Their own load is 1.00. " in loads(20.0)[1]
    assert "Their own load is 0.25, left of the picture. " in loads(20.0, gpus=4)[1]
    assert "Their own load is 2.00, right of the picture. " in loads(20.0, duration=100.0)[1]


def test_over_claiming_is_cut_only_far_out() -> None:
    gained = pd.DataFrame({"scheduler": ["astraea", "fifo", "yarn-cs"], "own_jct": [1.62, 1.0, 2.82],
                           "others_jct": 1.0, "own_running": 0.6})  # fmt: skip
    fig = tenant_pictures.over_claiming(gained)
    assert 1.62 < fig.axes[0].get_xlim()[1] < 2.2
    assert [text.get_text() for text in fig.axes[0].texts] == ["2.82"]
    plt.close(fig)


def test_cases_of_both_panels_have_colours_of_their_own() -> None:
    cases = [(UNCHANGED, 1.0, 1.0), ("overheads × 2", 2.0, 1.0), ("load × 1.2", 1.0, 1.2)]
    rows = [(*case, term, 0.0) for case in cases for term in (300.0, 600.0)]
    fig = sensitivity(pd.DataFrame(rows, columns=["what", "overheads", "load", "lease_term", "excess"]), "All jobs.")
    colors = {line.get_label(): line.get_color() for ax in fig.axes for line in ax.lines}
    assert len({colors[name] for name, _, _ in cases}) == len(cases)
    assert len(fig.legends) == 1 and all(ax.get_ylim()[0] < 0 for ax in fig.axes)
    plt.close(fig)


def test_what_is_in_brackets_stays_in_one_line() -> None:
    lines = even_lines("Burst completed [% of its GPU-time]", 20).replace("\N{NO-BREAK SPACE}", " ")
    assert lines == "Burst completed\n[% of its GPU-time]"
