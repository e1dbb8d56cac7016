"""Lean pictures look the same: coordinates, circles, colours; and a thinned curve is the same curve."""

from __future__ import annotations

import io
import re

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


def coordinates(text: str) -> list[np.ndarray]:
    outside = re.sub(r"<pattern.*?</pattern>", "", text, flags=re.DOTALL)
    return [np.array(re.findall(r"-?[\d.]+", path), float) for path in re.findall(r' d="([^"]*)"', outside)]


def test_an_svg_has_the_same_places() -> None:
    whole = saved(drawn(), "svg")
    lean = lean_svg(whole)
    assert len(lean) < 0.5 * len(whole)
    before, after = coordinates(whole.decode()), coordinates(lean.decode())
    assert len(before) == len(after)
    for a, b in zip(before, after, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=0.005 + 1e-9)
    names = re.findall(r'href="#([^"]*)"', lean.decode())
    assert names and all(f'id="{name}"' in lean.decode() for name in names)


def test_circles_of_a_hatching_stay_circles_and_rings_stay_rings() -> None:
    lean = lean_svg(saved(drawn(), "svg")).decode()
    turns = []
    for pattern in re.findall(r"<pattern.*?</pattern>", lean, re.DOTALL):
        assert "C" not in pattern
        turns.append(set(re.findall(r"a[\d.]+ [\d.]+ 0 1 ([01])", pattern)))
    assert sorted(map(len, turns)) == [1, 2]  # dots; rings, whose inside turns against the outside


def test_a_png_looks_the_same() -> None:
    whole = saved(drawn(), "png")
    lean = lean_png(whole, 150)
    assert len(lean) < 0.6 * len(whole) and lean == lean_png(whole, 150)
    before, after = (Image.open(io.BytesIO(content)) for content in (whole, lean))
    assert after.info["dpi"] == pytest.approx((150, 150), abs=0.1)
    a, b = (np.asarray(picture.convert("RGB")).astype(int) for picture in (before, after))
    off = abs(a - b).max(axis=2)
    assert (off > 16).mean() < 0.002
    colors = sorted(before.convert("RGB").getcolors(1 << 24), reverse=True)[:4]
    assert all(off[(a == color).all(axis=2)].max() == 0 for _, color in colors)


def test_corners_are_the_same_curve() -> None:
    frame = pd.DataFrame({"s": [*"aaaaaabb"], "hour": [1, 2, 3, 4, 5, 6, 1, 2], "use": [0, 0, 0, 1, 2, 2, 2, 2]})
    thin = corners(frame, "use", ["s"])
    assert thin["hour"].tolist() == [1, 3, 4, 5, 6, 1, 2]
    filled = frame[["s", "hour"]].merge(thin, how="left").groupby("s")["use"].ffill()
    assert filled.tolist() == frame["use"].tolist()
