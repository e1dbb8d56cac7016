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
from papers.gallery.captions import EVERY

FIGURES = ROOT / "figures"
PAGES = sorted(FIGURES.glob("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:href|src)=\"([^\"]+)\"")
PICTURE = re.compile(r"<img [^>]*>|!\[[^\]]*\]\([^)]*\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = [a or b for a, b in LINK.findall(page.read_text(encoding="utf-8"))]
    assert links
    for link in links:
        name, _, anchor = unquote(link).partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists() and target.is_relative_to(ROOT), link
        assert not anchor or target.read_text(encoding="utf-8").count(f'<a id="{anchor}">') == 1, link


def test_every_picture_is_shown_once_and_in_words() -> None:
    found = [re.search(r' src="([^"]+)".* alt="([^"]*)"', picture)
             for page in PAGES for picture in PICTURE.findall(page.read_text(encoding="utf-8"))]  # fmt: skip
    pictures = [(Path(unquote(match[1])), match[2]) for match in found if match]
    assert Counter(path.name for path, _ in pictures) == Counter(path.name for path in FIGURES.glob("*.png"))
    assert [path for path, words in pictures if len(words) < 20 or path.stem == words or "](" in words] == []


def test_the_first_page_is_short_and_names_all_others() -> None:
    first = (FIGURES / "README.md").read_text(encoding="utf-8")
    assert len(first.splitlines()) <= 300
    assert all(f"]({page.name})" in first for page in PAGES if page.stem != "README")


def test_the_notebook_of_a_figure_saves_it() -> None:
    sources = {}
    for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources[path.stem] = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    files = {path.stem.partition("_")[0] for path in FIGURES.glob("*_*.csv")}
    for entry in EVERY:
        assert (ROOT / entry.code).is_file(), entry.id
        mine = [name for name in files if entry.has(name)]
        assert mine, entry.id
        for name in mine if entry.notebook else ():
            assert f'"{name}"' in sources[entry.notebook], name


def test_pictures_fit_a_printed_page() -> None:
    for path in FIGURES.glob("*.png"):
        with Image.open(path) as picture:
            dpi = float(picture.info["dpi"][0])
            assert dpi == pytest.approx(DPI, abs=0.05), path
            assert picture.width / dpi <= 7.01, path
