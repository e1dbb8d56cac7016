"""Figures: the numbers that are drawn, labels with units, one order and palette, and the same bytes every time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import rgb_to_hsv, to_rgb
from matplotlib.figure import Figure

from astraea import plots
from astraea.errors import InputError
from astraea.looks import LOOKS, WORDS
from astraea.summaries import gpu_rows

matplotlib.use("Agg")

SIX = ["fifo", "tiresias-l", "astraea", "yarn-cs", "gandiva-fair", "hived"]
GRANTS = pd.DataFrame(
    [("Job1", 6, 0, 600, "start"), ("Job2", 3, 600, 1200, "start"), ("Job3", 3, 600, 1200, "start"),
     ("Job3", 3, 1200, 1800, "renewal"), ("Job4", 2, 1200, 1800, "start")],
    columns=["job_id", "demand", "start", "end", "kind"],
)  # fmt: skip


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def jobs() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.concat(
        pd.DataFrame(
            {"scheduler": s, "tenant": rng.choice(["a", "b"], 400), "rho_job": rng.lognormal(0, 0.5, 400),
             "pending_time": rng.lognormal(6, 3, 400)}
        )
        for s in SIX
    )  # fmt: skip


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    rows = [
        {"scheduler": s, "seed": k, "lease_term": t, "average_jct": 9000.0 + 100 * k + t, "sharing_loss": 0.1 + k / 100}
        for s in SIX for k in range(3) for t in (60.0, 900.0, 3600.0)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_ecdf_points_are_exact(jobs: pd.DataFrame) -> None:
    points = plots.ecdf(jobs, "rho_job", "scheduler", at=[0.95], points=50)
    assert list(points) == ["scheduler", "rho_job", "share"]
    for name, part in points.groupby("scheduler"):
        values = jobs.loc[jobs["scheduler"] == name, "rho_job"].to_numpy()
        assert len(part) <= 51
        assert part["share"].to_numpy() == pytest.approx([(values <= x).mean() for x in part["rho_job"]])
        assert 0.95 in part["rho_job"].to_numpy()
        assert part["share"].iloc[-1] == 1


def test_ecdf_of_few_and_undefined_values() -> None:
    frame = pd.DataFrame({"scheduler": ["a", "a", "a", "b"], "x": [2.0, 1.0, np.nan, np.nan]})
    assert plots.ecdf(frame, "x", "scheduler").to_numpy().tolist() == [["a", 1.0, 0.5], ["a", 2.0, 1.0]]
    assert list(plots.ecdf(frame.iloc[3:], "x", "scheduler")) == ["scheduler", "x", "share"]


def test_mean_interval_is_student_t() -> None:
    frame = pd.DataFrame({"s": ["a"] * 5 + ["b"], "y": [1.0, 2.0, 3.0, 4.0, 5.0, 7.0]})
    a, b = plots.mean_interval(frame, "s", "y").itertuples()
    assert (a.mean, a.n) == (3.0, 5)
    assert a.high - a.mean == pytest.approx(2.7764 * np.sqrt(2.5 / 5), rel=1e-4)  # t table: 4 degrees of freedom
    assert b.mean == 7.0 and np.isnan(b.low) and np.isnan(b.high)


def test_box_stats() -> None:
    frame = pd.DataFrame({"t": "x", "v": [*range(101), np.nan]})
    assert plots.box_stats(frame, "v", "t").to_numpy().tolist() == [["x", 5.0, 25.0, 50.0, 75.0, 95.0, 101]]


def test_gpus_of_leases() -> None:
    rows = gpu_rows(GRANTS, 6)[["job_id", "start", "first_gpu", "gpus"]].to_numpy().tolist()
    assert rows == [
        ["Job1", 0, 0, 6],
        ["Job2", 600, 0, 3],
        ["Job3", 600, 3, 3],
        ["Job3", 1200, 3, 3],
        ["Job4", 1200, 0, 2],
    ]
    # a gang for which no block is free is split
    late = pd.DataFrame(
        [("a", 1, 0, 9, "start"), ("b", 1, 0, 99, "start"), ("c", 1, 0, 9, "start"), ("d", 2, 9, 20, "start")],
        columns=GRANTS.columns,
    )
    assert gpu_rows(late, 3)[["first_gpu", "gpus"]].to_numpy().tolist()[-2:] == [[0, 1], [2, 1]]


def drawn(jobs: pd.DataFrame, runs: pd.DataFrame) -> Figure:
    """One panel of each kind."""
    fig, axes = plots.panels(5, 2)
    plots.cdf(plots.ecdf(jobs, "rho_job", "scheduler"), "rho_job", "scheduler", axes[0], reference=(0.95, "0.95"))
    plots.cdf(plots.ecdf(jobs, "pending_time", "scheduler"), "pending_time", "scheduler", axes[1], log=True)
    plots.lines(runs, "lease_term", "sharing_loss", "scheduler", axes[2], even=True)
    plots.bars(runs, "scheduler", "average_jct", axes[3])
    plots.bars(runs[runs["scheduler"] == "astraea"], "lease_term", "average_jct", axes[4])
    boxes = plots.box_stats(jobs, "rho_job", "tenant").rename(columns={"rho_job": "rho_tenant"})
    plots.boxes(boxes, "rho_tenant", "tenant", axes[5], scheduler="astraea")
    series = pd.DataFrame({"scheduler": "fifo", "time": np.arange(200) * 3600.0, "utilization": 0.5})
    plots.timeseries(series, "utilization", "scheduler", axes[6])
    plots.gantt(GRANTS, axes[7], gpus=6)
    plots.gantt(GRANTS, axes[8], gpus=6, rows="job", labels={"Job1": "the large one"})
    shares = pd.DataFrame(
        {"demand": ["1", "1", "8"], "state": ["failed", "completed", "failed"], "share": [0.2, 0.3, 0.5]}
    )
    plots.stacked(shares, "demand", "share", "state", axes[9])
    plots.title(axes[9], "States")
    plots.legend(fig)
    return fig


@pytest.fixture(scope="module")
def figure(jobs: pd.DataFrame, runs: pd.DataFrame) -> Figure:
    return drawn(jobs, runs)


def test_labels_have_units(figure: Figure) -> None:
    axes = figure.axes
    assert [ax.get_ylabel() for ax in axes] == [
        "Jobs [%]", "Jobs [%]", "Jobs with sharing loss [%]", "Average JCT [h]", "Average JCT [h]",
        "Tenant fairness $\\rho$", "Utilization [%]", "GPU", "Job", "Jobs [%]",
    ]  # fmt: skip
    assert [axes[k].get_xlabel() for k in (0, 1, 2, 4, 6, 7)] == [
        "Job fairness $\\rho$", "Pending time", "Lease term [min]", "Lease term [min]", "Time [d]", "Time [min]",
    ]  # fmt: skip
    ticks = [tick.get_text() for tick in axes[1].get_xticklabels()]
    assert {"1\u2009s", "1\u2009min", "1\u2009h"} <= set(ticks)  # the unit stands at the tick
    assert [tick.get_text() for tick in axes[2].get_xticklabels()] == ["1", "15", "60"]
    assert [tick.get_text() for tick in axes[8].get_yticklabels()] == ["the large one", "Job2", "Job3", "Job4"]


def test_order_and_palette(figure: Figure) -> None:
    fig = figure
    expected = ["ASTRAEA", "HiveD", "Tiresias-L", "Gandiva$_{\\mathrm{fair}}$", "YARN-CS", "FIFO"]
    assert [t.get_text() for t in fig.legends[0].get_texts()] == [*expected, "completed", "failed"]
    assert [t.get_text() for t in fig.axes[3].get_xticklabels()] == expected
    lines = {line.get_label(): line for line in fig.axes[0].get_lines()}
    assert all(lines[LOOKS[s].label].get_color() == LOOKS[s].color for s in SIX)
    assert max(lines.values(), key=lambda line: line.get_linewidth()).get_label() == "ASTRAEA"
    assert plots.ordered(["new", "fifo", "astraea"]) == ["astraea", "fifo", "new"]


def test_schedulers_differ_in_print() -> None:
    schedulers = [LOOKS[s] for s in list(LOOKS)[:9]]
    assert len({look.color for look in schedulers}) == 9
    assert len({(str(look.line), look.marker) for look in schedulers}) == 9
    saturation = {look.label: rgb_to_hsv(to_rgb(look.color))[1] for look in schedulers}
    assert saturation["ASTRAEA"] == 1


def test_every_unit_is_known() -> None:
    assert {unit for _, unit in WORDS.values()} <= {"", "s", "%", "share", "GPU", "GPU-s"}


def test_saved_bytes_are_the_same(figure: Figure, jobs: pd.DataFrame, runs: pd.DataFrame, tmp_path: Path) -> None:
    names = ["fig99_venus.csv", "fig99_venus.png", "fig99_venus.svg"]
    for folder, fig in (("a", figure), ("b/c", drawn(jobs, runs))):
        plots.save(fig, "fig99", "venus", tmp_path / folder, runs)
        assert sorted(p.name for p in (tmp_path / folder).iterdir()) == names
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b/c" / name).read_bytes()
    assert b"matplotlib" not in (tmp_path / "a" / names[1]).read_bytes().lower()
    assert b"<dc:date>" not in (tmp_path / "a" / names[2]).read_bytes()


def test_numbers_have_six_digits(tmp_path: Path) -> None:
    path = plots.save_table(
        pd.DataFrame({"a": [1 / 3, 1234567.8], "b": ["x", "y"], "n": [1, 2000000]}), "t", "x", tmp_path
    )
    assert path.read_bytes() == b"a,b,n\n0.333333,x,1\n1.23457e+06,y,2000000\n"


def test_style_leaves_settings_alone(runs: pd.DataFrame) -> None:
    with matplotlib.rc_context({"font.size": 23.0}):
        before = dict(matplotlib.rcParams)
        _, ax = plots.panels()
        plots.bars(runs, "scheduler", "average_jct", ax)
        assert ax.yaxis.label.get_fontsize() == 9
        assert dict(matplotlib.rcParams) == before


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        plots.save_table(pd.DataFrame({"a": [1]}), "t", "x", tmp_path / "f")
