"""The site: it is built without a warning, works from a folder without a network, and no link in it is broken."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from browsers import browsing
from places import ROOT
from processes import run

pytest.importorskip("sphinx", reason="the packages that build the site are not installed")


class Page(HTMLParser):
    """The links, loaded files and names of a page, and its pictures without words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.names: set[str] = set()
        self.wordless: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.names |= {found[name] for name in ("id", "name") if name in found}
        if "href" in found:
            (self.loaded if tag == "link" else self.links).add(found["href"])
        if "src" in found:
            self.loaded.add(found["src"])
        if tag == "img" and not found.get("alt", "").strip():
            self.wordless.append(found["src"][:80])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built without a warning."""
    site = tmp_path_factory.mktemp("site")
    command = (sys.executable, "-m", "sphinx", "-qW", "--keep-going", "-c", ROOT / "docs" / "site")
    assert run(*command, "-d", tmp_path_factory.mktemp("trees"), ROOT, site).stderr == ""
    return site


@pytest.mark.exhaustive
def test_it_has_every_page_and_no_broken_link(site: Path) -> None:
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    sources = [ROOT / "README.md", ROOT / "index", ROOT / "docs" / "site" / "replay" / "index.html"]
    for pattern in ("docs/*.md", "ops/docs/**/*.md", "figures/*.md", "**/notebooks/**/[!.]*.ipynb"):
        sources += ROOT.glob(pattern)
    assert {(site / path.relative_to(ROOT)).with_suffix(".html") for path in sources} <= pages.keys()
    wrong = []
    for path, page in pages.items():
        wrong += [f"{path.name}: {picture} has no words" for picture in page.wordless]
        wrong += [f"{path.name}: {x} is elsewhere" for x in page.loaded if "://" in x or x.startswith("//")]
        for link in page.links | page.loaded:
            place, anchor = urldefrag(link)
            target = (path.parent / unquote(place.split("?")[0])).resolve() if place else path
            lacks_anchor = anchor and target in pages and unquote(anchor) not in pages[target].names
            is_elsewhere = link.startswith(("https://", "http://", "mailto:", "data:"))
            if not is_elsewhere and (lacks_anchor or not target.is_file()):
                wrong.append(f"{path.name}: {link} is broken")
    assert wrong == []


FOLD = "const fold = () => [...box.querySelectorAll('details')].findIndex((one) => one.open);"
MOVE = "slider.value = before ? 0 : slider.max; slider.dispatchEvent(new Event('input'));"
MOVED = f"""[...document.querySelectorAll('.frames:has(input)')].map((box) => {{
    const slider = box.querySelector('input'); {FOLD} const before = fold(); {MOVE} return fold() !== before; }})"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["chromium", "firefox"])
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("is_dark", [False, True])
def test_every_slider_moves_and_no_script_fails(
    name: str, width: int, is_dark: bool, site: Path, tmp_path: Path
) -> None:
    moved: list[bool] = []
    stored = [path.read_text(encoding="utf-8") for path in ROOT.glob("**/notebooks/**/[!.]*.ipynb")]
    with browsing(name, tmp_path, width=width, is_dark=is_dark) as browser:
        for page in (site / "index.html", *sorted(site.glob("**/notebooks/**/*.html"))):
            browser.open(page.as_uri())
            moved += browser.value(MOVED)
            assert browser.value("document.documentElement.scrollWidth <= innerWidth"), page.name
            assert browser.errors == [], page.name
    folds = [box.count(r"<details name=\"") for text in stored for box in text.split(r"<div class=\"frames\"")[1:]]
    assert moved == [True] * sum(number > 1 for number in folds) != []  # a single frame has no slider
