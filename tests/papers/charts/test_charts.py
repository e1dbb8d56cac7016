"""Charts: drawn statistics in their places, labels with units, one palette."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from astraea.core.units import DAY, HOUR
from astraea.plots import LOOKS
from astraea.plots.files import VARIABLE
from papers import charts
from papers.areas import gantt, gpu_rows
from papers.charts.dots import SINGLE
from papers.charts.lettering import lettered
from papers.ye2022.readings import FROM_PAPERS

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
    values = {"rho_job": rng.lognormal(0, 0.5, 400), "pending_time": rng.lognormal(6, 3, 400)}
    tenants = rng.choice(["a", "b"], 400)
    return pd.concat(pd.DataFrame({"scheduler": s, "tenant": tenants, **values}) for s in SIX)


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    return pd.DataFrame(
        {"scheduler": s, "seed": k, "lease_term": t, "average_jct": 9000.0 + 100 * k + t, "sharing_loss": 0.1 + k / 100}
        for s in SIX for k in range(3) for t in (60.0, 900.0, 3600.0)
    )  # fmt: skip


@pytest.fixture(scope="module")
def figure(jobs: pd.DataFrame, runs: pd.DataFrame) -> Figure:
    """One panel of each kind."""
    fig, axes = charts.panels(4, 3)
    pending = charts.ecdf(jobs, "pending_time", "scheduler")
    charts.cdf(charts.ecdf(jobs, "rho_job", "scheduler"), "rho_job", "scheduler", axes[0], reference=(0.95, "0.95"))
    charts.cdf(pending, "pending_time", "scheduler", axes[1], log=True)
    charts.cdf(pending, "pending_time", "scheduler", axes[2], log=True, tail=True)
    charts.lines(runs, "lease_term", "sharing_loss", "scheduler", axes[3], even=True)
    series = pd.DataFrame({"scheduler": "fifo", "time": np.arange(200) * 3600.0, "utilization": 0.5})
    charts.timeseries(series, "utilization", "scheduler", axes[6])
    gantt(GRANTS, axes[7], gpus=6)
    gantt(GRANTS, axes[8], gpus=6, rows="job")
    charts.by_scheduler(runs[runs["lease_term"] == 900.0], "average_jct", axes[10])
    charts.dodged(runs, "lease_term", "average_jct", "scheduler", axes[11])
    charts.legend(fig)
    return fig


def test_labels_have_units(figure: Figure) -> None:
    axes = figure.axes
    assert [ax.get_ylabel() for ax in axes] == [
        "Jobs [%]", "Jobs [%]", "Jobs [%]\n(log scale)", "Jobs with sharing loss [%]", "", "",
        "Utilization [%]", "GPU", "Job", "", "", "Average JCT [h]\n(axis cut)",
    ]  # fmt: skip
    assert [axes[k].get_xlabel() for k in (0, 1, 3, 6, 7, 11)] == [
        "Job fairness $\\rho$", "Pending time (log scale)", "Lease term [min]", "Time [d]", "Time [min]",
        "Lease term [min]",
    ]  # fmt: skip
    ticks = [tick.get_text() for tick in axes[1].get_xticklabels()]
    assert {"1\u2009s", "1\u2009min", "1\u2009h"} <= set(ticks)  # the unit stands at the tick
    assert [tick.get_text() for tick in axes[3].get_xticklabels()] == ["1", "15", "60"]
    assert [tick.get_text() for tick in axes[8].get_yticklabels()] == ["Job1", "Job2", "Job3", "Job4"]


def test_order_and_palette(figure: Figure) -> None:
    expected = ["ASTRAEA", "HiveD", "Tiresias-L", "Gandiva$_{\\mathrm{fair}}$", "YARN-CS", "FIFO"]
    assert [t.get_text() for t in figure.legends[0].get_texts()] == [*expected, SINGLE]
    assert [t.get_text() for t in figure.axes[10].get_yticklabels()] == expected
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    assert all(lines[LOOKS[s].label].get_color() == LOOKS[s].color for s in SIX)
    assert max(lines.values(), key=lambda line: line.get_linewidth()).get_label() == "ASTRAEA"
    bold, *others = (charts.look(name, bold="themis") for name in ("themis", "astraea", "tiresias-l", "not known"))
    assert bold.line == "-" and all(bold.width > 1.5 * look.width for look in others)


def test_every_value_is_in_its_place(figure: Figure) -> None:
    clouds = [list(line.get_xdata()) for line in figure.axes[10].get_lines() if len(line.get_ydata()) == 3]
    assert clouds == [[9900.0, 10000.0, 10100.0]] * len(SIX)  # every seed is a dot
    means = [line for line in figure.axes[11].get_lines() if not line.get_label().startswith("_")]
    means = [line for line in means if line.get_label() != SINGLE]
    assert [line.get_ydata().tolist() for line in means] == [[9160.0, 10000.0, 12700.0]] * len(SIX)
    places = np.concatenate([line.get_xdata() for line in means])
    assert len(set(places)) == len(places) and places.min() > -0.5 and places.max() < 2.5  # none hides another


def test_gpus_of_leases() -> None:
    rows = gpu_rows(GRANTS, 6)[["job_id", "start", "first_gpu", "gpus"]].to_numpy().tolist()
    assert rows == [
        ["Job1", 0, 0, 6], ["Job2", 600, 0, 3], ["Job3", 600, 3, 3], ["Job3", 1200, 3, 3], ["Job4", 1200, 0, 2],
    ]  # fmt: skip
    # a gang for which no block is free is split
    late = pd.DataFrame(
        [("a", 1, 0, 9, "start"), ("b", 1, 0, 99, "start"), ("c", 1, 0, 9, "start"), ("d", 2, 9, 20, "start")],
        columns=GRANTS.columns,
    )
    assert gpu_rows(late, 3)[["first_gpu", "gpus"]].to_numpy().tolist()[-2:] == [[0, 1], [2, 1]]


def test_a_tail_is_what_the_curve_leaves(jobs: pd.DataFrame) -> None:
    points = charts.ecdf(jobs[jobs["scheduler"] == "fifo"], "rho_job", "scheduler")
    _, ax = charts.panels()
    charts.cdf(points, "rho_job", "scheduler", ax, tail=True)
    x, y = ax.get_lines()[0].get_data()
    assert list(x) == points["rho_job"].iloc[:-1].tolist()  # the last has nothing above it
    assert list(y) == pytest.approx(1 - points["share"].iloc[:-1])
    assert ax.get_ylim()[0] < min(y) and ax.get_yscale() == "log"


def test_few_seeds_are_dots_and_many_a_band_inside_what_can_be(runs: pd.DataFrame) -> None:
    _, axes = charts.panels(2)
    charts.lines(runs[runs["scheduler"] == "fifo"], "lease_term", "sharing_loss", "scheduler", axes[0])
    assert not axes[0].collections
    assert sorted(axes[0].get_lines()[1].get_ydata()) == pytest.approx([0.1] * 3 + [0.11] * 3 + [0.12] * 3)
    wild = pd.DataFrame({"scheduler": "fifo", "lease_term": 60.0, "sharing_loss": [0.0, 0.0, 0.0, 0.0, 1.0]})
    charts.lines(wild, "lease_term", "sharing_loss", "scheduler", axes[1])
    assert len(axes[1].get_lines()) == 1
    assert axes[1].collections[0].get_paths()[0].vertices[:, 1].min() == 0


def test_rows_are_in_the_order_of_all_figures_beside_published_values() -> None:
    values = {"fifo": 0.3, "astraea": 0.1, "yarn-cs": 0.8}
    frame = pd.DataFrame([{"scheduler": s, "sharing_loss": x + d} for s, x in values.items() for d in (-0.01, 0.01)])
    _, ax = charts.panels()
    assert charts.by_scheduler(frame, "sharing_loss", ax, published={"astraea": 0.07, "hived": 0.5}, end=0.5) == [
        "astraea", "yarn-cs", "fifo",
    ]  # fmt: skip
    assert [text.get_text() for text in ax.get_yticklabels()] == ["ASTRAEA", "YARN-CS", "FIFO"]
    diamond = next(line for line in ax.get_lines() if line.get_label() == "published value")
    assert (list(diamond.get_xdata()), list(diamond.get_ydata())) == ([0.07], [0])  # HiveD is not shown
    assert [text.get_text() for text in ax.texts] == ["80 %"]  # beyond the end of the axis
    assert ax.get_xlim()[1] == 0.5


def test_a_seed_beyond_the_axis_is_written_there_and_a_row_without_values_says_why() -> None:
    frame = pd.DataFrame({"scheduler": ["astraea", "hived", "hived", "fifo"], "own_jct": [0.8, 0.9, 2.0, float("nan")]})
    _, ax = charts.panels()
    charts.by_scheduler(frame, "own_jct", ax, end=1.5, names=["astraea", "hived", "allox", "fifo"])
    assert [(text.get_text(), text.xy[1]) for text in ax.texts] == [
        ("not run", 2), ("not defined", 3), ("2.00", pytest.approx(1.24)),
    ]  # fmt: skip
    assert SINGLE in ax.get_legend_handles_labels()[1]


def test_letters_fit_their_panels_and_have_one_minus_sign() -> None:
    fig, axes = charts.panels(columns=2, width=2.2, height=1.8)
    axes[0].set(ylabel="Jobs", xlabel="Jobs that wait for an hour [%] (log scale)", title="-3.5 % of vc-2, -1 to 2")
    axes[1].set_ylabel(r"Tenant fairness $\rho$ in one day")
    lettered(fig)
    assert axes[0].get_title() == "\u22123.5 % of vc-2, \u22121 to 2"
    assert axes[0].get_ylabel() == "Jobs"
    first, *_, last = axes[0].get_xlabel().replace("\N{NO-BREAK SPACE}", " ").split("\n")
    assert first.startswith("Jobs") and last.endswith("(log scale)")
    assert r"$\rho$" in axes[1].get_ylabel() and "\n" in axes[1].get_ylabel()
    fig.draw_without_rendering()
    assert axes[0].xaxis.label.get_window_extent().width <= axes[0].bbox.width


@pytest.mark.parametrize(
    ("column", "values", "end", "text"),
    [
        ("preemptions_per_job", [1e4, 3e6], 1e6, "3,000,000"), ("pending_time", [60.0, 3 * DAY], DAY, "3 d"),
        ("average_jct", [HOUR, 90 * HOUR], 2 * HOUR, "90 h"), ("sharing_loss", [0.01, 0.5], 0.1, "50 %"),
    ],
)  # fmt: skip
def test_a_value_beyond_a_logarithmic_axis_is_written_out(
    column: str, values: list[float], end: float, text: str
) -> None:
    _, ax = charts.panels()
    charts.by_scheduler(pd.DataFrame({"scheduler": ["astraea", "fifo"], column: values}), column, ax, log=True, end=end)
    assert [found.get_text() for found in ax.texts] == [text]


@pytest.mark.parametrize(("end", "beyond", "text"), [(9e3, 36_000.0, "10 h"), (5e6, 8_942_680.0, "2,484 h")])
def test_a_value_beyond_the_axis_has_its_unit(end: float, beyond: float, text: str) -> None:
    _, ax = charts.panels()
    frame = pd.DataFrame({"scheduler": ["astraea", "yarn-cs"], "average_jct": [end / 2, beyond]})
    charts.by_scheduler(frame, "average_jct", ax, end=end)
    assert [found.get_text() for found in ax.texts] == [text]
    assert f"[{text.split()[1]}]" in ax.get_xlabel()


def test_labels_say_which_axes_are_logarithmic_or_cut() -> None:
    fig, axes = charts.panels(columns=2)
    axes[0].set(xscale="log", xlabel="Jobs", ylabel="JCT [h]", ylim=(1, 2))
    axes[1].set(yscale="log", ylabel="Time of one solve", xlabel="Jobs (log scale)", xscale="log")
    for _ in range(2):  # said once
        charts.legend(fig)
    assert [ax.get_xlabel() for ax in axes] == ["Jobs (log scale)"] * 2
    assert [ax.get_ylabel() for ax in axes] == ["JCT [h]\n(axis cut)", "Time of one solve\n(log scale)"]
    fig, ax = charts.panels(width=1.5)
    ax.set(xscale="log", xlabel="Average slowdown", ylabel="Change [%]", ylim=(0.9, 1.1))
    ax.yaxis.set_major_formatter(lambda ratio, _: f"{100 * ratio - 100:+.0f}")
    charts.legend(fig)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Average slowdown\n(log scale)", "Change [%]")


def test_one_seed_is_drawn_once() -> None:
    _, ax = charts.panels()
    charts.by_scheduler(pd.DataFrame({"scheduler": ["astraea", "fifo", "fifo"], "x": [1.0, 2.0, 4.0]}), "x", ax)
    assert [list(line.get_xdata()) for line in ax.get_lines() if len(line.get_xdata())] == [[1], [2, 4], [3]]


def test_the_picture_has_the_exact_colours_of_the_drawing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "svg")
    fig, ax = charts.panels()
    names = [*FROM_PAPERS]
    frame = pd.DataFrame({"scheduler": names, "average_jct": np.linspace(1e4, 2e4, len(names))})
    charts.by_scheduler(frame, "average_jct", ax)
    charts.save(fig, "fig99", "venus", tmp_path, frame)
    drawn = (tmp_path / "fig99_venus.svg").read_text().lower()
    pixels = np.unique(plt.imread(tmp_path / "fig99_venus.png").reshape(-1, 4)[:, :3], axis=0)
    for name in names:
        color = LOOKS[name].color
        assert color.lower() in drawn
        wanted = np.array(matplotlib.colors.to_rgb(color))
        assert abs(pixels - wanted).max(axis=1).min() <= 3 / 255, name


def test_ecdf_points_are_exact() -> None:
    values = np.random.default_rng(1).lognormal(0, 0.5, 400)
    points = charts.ecdf(pd.DataFrame({"s": "a", "x": values}), "x", "s", at=[0.95])
    assert list(points) == ["s", "x", "share"] and len(points) <= 201
    assert points["share"].to_numpy() == pytest.approx([(values <= x).mean() for x in points["x"]])
    assert 0.95 in points["x"].to_numpy() and points["share"].iloc[-1] == 1
    frame = pd.DataFrame({"scheduler": ["a", "a", "a", "b"], "x": [2.0, 1.0, np.nan, np.nan]})
    assert charts.ecdf(frame, "x", "scheduler").to_numpy().tolist() == [["a", 1.0, 0.5], ["a", 2.0, 1.0]]
    assert list(charts.ecdf(frame.iloc[3:], "x", "scheduler")) == ["scheduler", "x", "share"]
