"""The committed pages: every link leads to a file, every picture is shown once and in words, its notebook made it."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest
from PIL import Image
from places import ROOT

from astraea.plots.files import DPI
from papers.gallery.captions import ENTRIES

FIGURES = ROOT / "figures"
PAGES = sorted(FIGURES.glob("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:href|src)=\"([^\"]+)\"")
PICTURE = re.compile(r"<img [^>]*>|!\[[^\]]*\]\([^)]*\)")


def anchors(path: Path) -> list[str]:
    return re.findall(r'<a id="([^"]+)">', path.read_text(encoding="utf-8"))


def test_the_first_page_is_short() -> None:
    assert len((FIGURES / "README.md").read_text(encoding="utf-8").splitlines()) <= 300


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = [a or b for a, b in LINK.findall(page.read_text(encoding="utf-8"))]
    assert links
    for link in links:
        name, _, anchor = unquote(link).partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists() and target.is_relative_to(ROOT), link
        assert not anchor or anchors(target).count(anchor) == 1, link


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_picture_has_words(page: Path) -> None:
    for picture in PICTURE.findall(page.read_text(encoding="utf-8")):
        found = re.search(r' src="([^"]+)".* alt="([^"]*)"', picture)
        assert found, picture
        name, words = Path(found[1]), found[2]
        assert len(words) >= 20 and words not in (name.name, name.stem) and "](" not in words, picture


def test_every_picture_is_shown_once() -> None:
    pictures = [picture for page in PAGES for picture in PICTURE.findall(page.read_text(encoding="utf-8"))]
    shown = Counter(unquote(name) for picture in pictures for name in re.findall(r'src="([^"]+)"', picture))
    assert shown == Counter(path.name for path in FIGURES.glob("*.png"))


def test_every_page_is_named_on_the_first() -> None:
    first = (FIGURES / "README.md").read_text(encoding="utf-8")
    assert all(f"]({page.name})" in first for page in PAGES if page.stem != "README")


def test_the_notebook_of_a_figure_saves_it() -> None:
    sources = {}
    for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources[path.stem] = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    files = {path.stem.partition("_")[0] for path in FIGURES.glob("*_*.csv")}
    for entry in (entry for entries in ENTRIES.values() for entry in entries):
        assert (ROOT / entry.code).is_file(), entry.id
        mine = [name for name in files if entry.has(name)]
        assert mine, entry.id
        for name in mine if entry.notebook else ():
            assert f'"{name}"' in sources[entry.notebook], name


@pytest.mark.parametrize("path", sorted(FIGURES.glob("*.png")), ids=lambda path: path.stem)
def test_pictures_fit_a_printed_page(path: Path) -> None:
    with Image.open(path) as picture:
        dpi = float(picture.info["dpi"][0])
        assert dpi == pytest.approx(DPI, abs=0.05)
        assert picture.width / dpi <= 7.01
