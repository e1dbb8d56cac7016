"""How figures look: one palette and order, words with units, no picture wider than a page."""

from __future__ import annotations

import tomllib
from importlib import resources

from matplotlib.colors import rgb_to_hsv, to_rgb

from astraea.plots.style import LOOKS, WORDS, Look
from papers.ye2022.readings import SCHEDULERS


def test_schedulers_differ_in_print() -> None:
    schedulers = [LOOKS[s] for s in SCHEDULERS]
    for kind in ("color", "marker", "hatch"):
        assert len({getattr(look, kind) for look in schedulers}) == len(schedulers), kind
    lines = {str(look.line): look.width for look in schedulers}
    assert len(lines) == len(schedulers) - 1  # solid twice, of widths that nobody confuses
    assert LOOKS["astraea"].width > 1.5 * LOOKS["tiresias-l"].width
    saturation = {look.label: rgb_to_hsv(to_rgb(look.color))[1] for look in schedulers}
    assert saturation["ASTRAEA"] == 1


def test_algorithm_1_is_dashed_in_the_hue_of_its_relative() -> None:
    hues = {name: rgb_to_hsv(to_rgb(LOOKS[name].color))[0] for name in SCHEDULERS}
    apart = {name: abs(hue - hues["astraea"]) for name, hue in hues.items() if LOOKS[name].color != "#8C8C8C"}
    assert apart["algorithm-1"] < 0.01
    assert LOOKS["astraea"].line == "-"
    assert len(LOOKS["algorithm-1"].line[1]) == 2
    assert apart["gandiva-fair"] > 0.03  # the nearest of the others


def test_looks_and_words_are_part_of_the_package() -> None:
    files = resources.files("astraea.plots")
    assert list(tomllib.loads(files.joinpath("looks.toml").read_text())) == list(LOOKS)
    assert list(tomllib.loads(files.joinpath("words.toml").read_text())) == list(WORDS)
    assert "svg.hashsalt: astraea" in files.joinpath("astraea.mplstyle").read_text()
    assert LOOKS["allox"] == Look("AlloX", "#009E73", (0, (6, 1.5, 1, 1.5)), 1.5, "xx", "^")
    dashed = [look.line for look in LOOKS.values() if not isinstance(look.line, str)]
    assert all(start == 0 and len(lengths) % 2 == 0 for start, lengths in dashed)
    assert len({look.label for look in LOOKS.values()}) == len(LOOKS)  # a legend shows each name once


def test_every_unit_is_known() -> None:
    assert {unit for _, unit in WORDS.values()} <= {"", "s", "%", "share", "GPU", "GPU-s"}
