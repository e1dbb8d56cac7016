"""The site: it is built without a warning, works from a folder without a network, and no link in it is broken."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from places import ROOT
from processes import run

pytest.importorskip("sphinx", reason="the packages that build the site are not installed")
pytestmark = pytest.mark.exhaustive


class Page(HTMLParser):
    """What a page links, loads and names."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.names: set[str] = set()
        self.pictures_without_words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.names |= {found[name] for name in ("id", "name") if name in found}
        if "href" in found:
            (self.loaded if tag == "link" else self.links).add(found["href"])
        if "src" in found:
            self.loaded.add(found["src"])
        if tag == "img" and not found.get("alt", "").strip():
            self.pictures_without_words.append(found["src"][:80])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, with warnings as errors."""
    folder = tmp_path_factory.mktemp("site")
    command = (sys.executable, "-m", "sphinx", "-qW", "--keep-going", "-c", ROOT / "docs" / "site")
    assert run(*command, "-d", folder / "trees", ROOT, folder / "site").stderr == ""
    return folder / "site"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def test_it_has_every_page_and_notebook(site: Path) -> None:
    sources = [ROOT / "README.md"]
    for pattern in ("docs/*.md", "docs/live/*.md", "figures/*.md", "notebooks/**/[!.]*.ipynb"):
        sources += ROOT.glob(pattern)
    missing = [p for p in sources if not (site / p.relative_to(ROOT)).with_suffix(".html").is_file()]
    assert missing == []
    assert (site / "index.html").is_file()


def test_every_link_leads_somewhere(pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in sorted(page.links | page.loaded):
            if link.startswith(("https://", "http://", "mailto:", "data:")):
                continue
            place, anchor = urldefrag(link)
            target = (path.parent / unquote(place.split("?")[0])).resolve() if place else path
            if not target.is_file() or (anchor and target in pages and unquote(anchor) not in pages[target].names):
                broken.append(f"{path.name}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Page]) -> None:
    assert {x for page in pages.values() for x in page.loaded if "://" in x or x.startswith("//")} == set()


def test_every_picture_has_words(pages: dict[Path, Page]) -> None:
    assert {str(path): page.pictures_without_words for path, page in pages.items() if page.pictures_without_words} == {}
