"""Figures: one order and palette, one style, the same bytes every time."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import pandas as pd
import pytest
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from astraea import plots
from astraea.core.errors import InputError
from astraea.plots.files import FOLDER, VARIABLE

matplotlib.use("Agg")

ROWS = pd.DataFrame({"scheduler": ["fifo", "astraea", "mine"], "jct": [3.0, 1.0, 2.0]})


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


def drawn() -> Figure:
    fig, ax = plt.subplots(figsize=(2, 2))
    ax.plot(ROWS["jct"])
    return fig


def test_seaborn_draws_in_our_order_and_colours() -> None:
    order = plots.order(ROWS["scheduler"])
    assert order == ["astraea", "fifo", "mine"]
    palette, markers = plots.palette(order), plots.markers(order)
    assert palette == {"astraea": "#D55E00", "fifo": "#8C8C8C", "mine": plots.OTHERS[2]}
    assert plots.palette(["fifo"]) == {"fifo": "#8C8C8C"}  # the same in every figure
    assert markers == {name: plots.look(name, k).marker for k, name in enumerate(order)}
    g = sns.relplot(ROWS, x="jct", y="jct", hue="scheduler", style="scheduler", hue_order=order, palette=palette,
                    markers=markers)  # fmt: skip
    assert [text.get_text() for text in g.legend.get_texts()] == order
    assert {matplotlib.colors.to_hex(c).upper() for c in g.ax.collections[0].get_facecolors()} == set(palette.values())


def test_numbers_have_six_digits_and_a_file_may_be_in_the_way(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1 / 3, 1234567.8], "b": ["x", "y"], "n": [1, 2000000]})
    path = plots.save_table(frame, "t", tmp_path)
    assert path == tmp_path / "t.csv"
    assert path.read_bytes() == b"a,b,n\n0.333333,x,1\n1.23457e+06,y,2000000\n"
    with pytest.raises(InputError, match="cannot be written"):
        plots.save_table(frame, "t", path)


def test_saved_bytes_are_the_same_in_every_form_that_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "svg, pdf")
    plots.save(drawn(), "fig99_venus", ROWS, tmp_path / "a")
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setenv(FOLDER, str(tmp_path / "b" / "c"))
    plots.save(drawn(), "fig99_venus", ROWS, forms=["pdf", "svg"])
    first, second = ({p.name: p.read_bytes() for p in (tmp_path / folder).iterdir()} for folder in ("a", "b/c"))
    assert first == second and first.keys() == {f"fig99_venus.{form}" for form in ("csv", "png", "svg", "pdf")}
    png, svg, pdf = (first[f"fig99_venus.{form}"] for form in ("png", "svg", "pdf"))
    assert b"matplotlib" not in png.lower()
    assert pdf.startswith(b"%PDF") and b"/FontFile2" in pdf  # its fonts are in it
    assert b"/CreationDate" not in pdf and b"Matplotlib" not in pdf
    assert b"<svg" in svg and b"<dc:date>" not in svg
    with pytest.raises(InputError, match="form must be one of pdf, svg, got 'gif'"):
        plots.save(drawn(), "fig99", ROWS, tmp_path / "d", ["gif"])
    assert not (tmp_path / "d").exists()


def test_a_notebook_shows_what_was_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, str]] = []
    monkeypatch.setattr("matplotlib.pyplot.get_backend", lambda: "inline")
    monkeypatch.setattr("IPython.display.display", lambda data, **_: shown.append(data))
    plots.save(drawn(), "fig99", ROWS, tmp_path)
    assert b64decode(shown[0]["image/png"]) == (tmp_path / "fig99.png").read_bytes()
    assert shown[0]["text/plain"].startswith("<Figure size ")
    assert plt.get_fignums() == []  # so that it is not shown twice
    plots.save(drawn(), "fig99", ROWS, tmp_path, is_shown=False)
    assert len(shown) == 1


def test_schedulers_are_named_as_in_their_papers_and_other_words_stay(tmp_path: Path) -> None:
    table = pd.DataFrame({"scheduler": ["astraea", "yarn-cs"], "estimator": ["oracle", "none"], "x": [1.0, 2.0]})
    g = sns.catplot(table, y="scheduler", x="x", hue="estimator", col="scheduler", kind="strip")
    g.set_titles("{col_name}")
    plots.save(g.figure, "picture", table, tmp_path, is_shown=False)
    assert [text.get_text() for text in g.axes.flat[0].get_yticklabels()] == ["ASTRAEA", "YARN-CS"]
    assert [ax.get_title() for ax in g.axes.flat] == ["ASTRAEA", "YARN-CS"]
    assert [text.get_text() for text in g.legend.get_texts()] == ["oracle", "none"]
    assert pd.read_csv(tmp_path / "picture.csv")["scheduler"].tolist() == ["astraea", "yarn-cs"]



def test_style_leaves_settings_alone_and_has_a_name() -> None:
    with matplotlib.rc_context({"font.size": 23.0}):
        before = dict(matplotlib.rcParams)
        with plots.style():
            inside = dict(matplotlib.rcParams)
        assert dict(matplotlib.rcParams) == before and inside["font.size"] == 9
        plt.style.use(["default", "astraea.plots.astraea"])
        assert dict(matplotlib.rcParams) | {"figure.constrained_layout.use": True} == inside
