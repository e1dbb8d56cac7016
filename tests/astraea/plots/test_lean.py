"""Lean pictures look the same: coordinates, circles, colours; and a thinned curve is the same curve."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from PIL import Image

from astraea.plots import charts
from astraea.plots.lean import corners, lean_png, lean_svg

matplotlib.use("Agg")

SVG = "{http://www.w3.org/2000/svg}"


def drawn() -> Figure:
    fig, ax = charts.panels()
    rng = np.random.default_rng(0)
    points = pd.DataFrame({"scheduler": np.repeat(["fifo", "themis", "astraea"], 100), "jct": rng.lognormal(3, 1, 300)})
    charts.bars(points, "scheduler", "jct", ax=ax)
    ax.plot(np.linspace(0, 2, 50), rng.random(50) * 20)
    return fig


def saved(fig: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    with charts.style():
        fig.savefig(buffer, format=kind, dpi=150)
    plt.close(fig)
    return buffer.getvalue()


def corners_of(outline: str, unit: float) -> np.ndarray:
    """Ends of all parts of a path, whether its numbers are places or steps."""
    ends, here, begin = [], np.zeros(2), np.zeros(2)
    for command, text in re.findall(r"([MLQCzmlqchv])([^MLQCzmlqchv]*)", outline):
        numbers = [float(number) * unit for number in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", text)]
        if command == "z":
            here = begin
            continue
        step = {"h": [*numbers[-1:], 0.0], "v": [0.0, *numbers[-1:]]}.get(command, numbers[-2:])
        here = np.array(step) + (0 if command.isupper() else here)
        begin = here if command in "Mm" else begin
        ends.append(here)
    return np.array(ends)


def outlines(content: bytes) -> list[tuple[np.ndarray, bool]]:
    """Points of every path, of a letter in hundredths of its size, and whether it is one."""
    root = ElementTree.fromstring(content)
    hatches = {path for pattern in root.iter(f"{SVG}pattern") for path in pattern.iter(f"{SVG}path")}
    paths = [path for path in root.iter(f"{SVG}path") if path not in hatches and "d" in path.attrib]
    letters = ["transform" in path.attrib for path in paths]
    return [
        (corners_of(path.attrib["d"], 1 / 64 if letter else 1.0), letter)
        for path, letter in zip(paths, letters, strict=True)
    ]


def test_an_svg_has_the_same_places() -> None:
    whole = saved(drawn(), "svg")
    lean = lean_svg(whole)
    assert len(lean) < 0.35 * len(whole) and lean == lean_svg(whole)
    before, after = outlines(whole), outlines(lean)
    assert len(before) == len(after) > 50
    for (a, is_letter), (b, _) in zip(before, after, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=(0.05 if is_letter else 0.005) + 1e-9)


def test_an_svg_refers_to_what_it_has() -> None:
    whole = saved(drawn(), "svg").decode()
    lean = lean_svg(whole.encode()).decode()
    names = set(re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', lean))
    assert names and all(f'id="{one or other}"' in lean for one, other in names)
    assert set(re.findall(r'class="([^"]*)"', lean)) == set(re.findall(r"^\.(\w+)\{", lean, re.MULTILINE))
    assert 'fill="#' in lean and lean.count("<use") == whole.count("<use")  # a colour is no name


def test_a_picture_inside_an_svg_stays() -> None:
    fig, ax = plt.subplots()
    ax.imshow(np.arange(12).reshape(3, 4))
    assert b'href="data:image/png;base64,' in lean_svg(saved(fig, "svg"))


def test_circles_of_a_hatching_stay_circles_and_rings_stay_rings() -> None:
    lean = lean_svg(saved(drawn(), "svg")).decode()
    turns = []
    for pattern in re.findall(r"<pattern.*?</pattern>", lean, re.DOTALL):
        assert "C" not in pattern
        turns.append(set(re.findall(r"a[\d.]+ [\d.]+ 0 1 ([01])", pattern)))
    assert sorted(map(len, turns)) == [1, 2]  # dots; rings, whose inside turns against the outside


def test_a_png_looks_the_same() -> None:
    whole = saved(drawn(), "png")
    pixels = np.asarray(Image.open(io.BytesIO(whole)))
    lean = lean_png(pixels, 150)
    assert len(lean) < 0.6 * len(whole) and lean == lean_png(pixels, 150)
    before, after = (Image.open(io.BytesIO(content)) for content in (whole, lean))
    assert after.info["dpi"] == pytest.approx((150, 150), abs=0.1)
    a, b = (np.asarray(picture.convert("RGB")).astype(int) for picture in (before, after))
    off = abs(a - b).max(axis=2)
    assert (off > 16).mean() < 0.005
    colors = sorted(before.convert("RGB").getcolors(1 << 24), reverse=True)[:4]
    assert all(off[(a == color).all(axis=2)].max() == 0 for _, color in colors)


def test_corners_are_the_same_curve() -> None:
    frame = pd.DataFrame({"s": [*"aaaaaabb"], "hour": [1, 2, 3, 4, 5, 6, 1, 2], "use": [0, 0, 0, 1, 2, 2, 2, 2]})
    thin = corners(frame, "use", ["s"])
    assert thin["hour"].tolist() == [1, 3, 4, 5, 6, 1, 2]
    filled = frame[["s", "hour"]].merge(thin, how="left").groupby("s")["use"].ffill()
    assert filled.tolist() == frame["use"].tolist()
