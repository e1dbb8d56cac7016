"""The first page of the gallery: the main result, what came out, how many statements hold, and a map of the figures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from papers.gallery import headline, published
from papers.gallery.captions import PAPERS
from papers.gallery.sections import Made, Shown, alt, files, folded, thumbnail
from papers.gallery.tables import markdown
from papers.gallery.verdicts import explained, how_sure, steady, summary, tally
from papers.scales import seeds

_FINDING = re.compile(r"(\d+)\. \*\*(.+?)\*\* (.+)")


def first_page(
    made: Made,
    about: Mapping[str, tuple[str, str]],
    figures: Mapping[str, list[Shown]],
    more: Mapping[str, Sequence[str]],
) -> list[str]:
    """Return the page line by line.

    `about` gives each page's title and what is there, `figures` what it shows, and `more` the sections that fold:
    how readings differ, where the rules are, and what made the pages.
    """
    lines = ["# Figures", "", *_headline(made), *_findings(made.findings)]
    lines += _counts(made, figures, more["rules"])
    lines += _map(about, figures)
    return [*lines, "## How it was made", "", *more["made"], *folded("Provenance", more["provenance"])]


def _headline(made: Made) -> list[str]:
    """The main result as a table and a picture; nothing where its tables are not there."""
    picture = headline.draw(made.folder)
    if picture is None:
        return []
    text = alt(headline.ALT, "")
    note = (
        "Venus is a cluster. **Our log of its jobs is synthetic**, because the two weeks that the authors used are not "
        f"published. Values are means of {len(seeds('venus', made.scale))} seeds, with the lowest and the highest in "
        "brackets. The lowest value of each column is bold. The picture shows these percentages on six traces."
    )
    short = (
        "A job is *short of its share*, or has a *sharing loss*, if it received less than 95 % of the GPU-time that it "
        "was entitled to. *The authors' program* is the simulator that ASTRAEA's authors released. *Built from the "
        "papers* means that each scheduler works as its own authors describe it."
    )
    papers = ", ".join(f"[{paper.title}]({paper.key}.md)" for paper in PAPERS)
    about = [
        f"We reproduced four papers on fair GPU scheduling: {papers}. Each paper has a page with "
        "its figures and our verdicts on its statements. Most statements are checked on logs of jobs, called "
        "*traces*.", "",
        f"{summary(made.claims)} {explained(made.claims)}", "",
        f"See [all verdicts](#verdicts), [all figures](#map), or [a replay]"
        f"({made.path_to('docs/site/replay/index.html')}) of a day of Venus under two schedulers. Download the "
        "repository to open the replay.",
    ]  # fmt: skip
    lines = [*about, "", short, "", *headline.table(made.folder), "", note, "", thumbnail(picture, text, 800), ""]
    return [*lines, files([picture], []), ""]


def _findings(text: str) -> list[str]:
    """Each finding as a sentence that opens to its evidence."""
    lines = []
    for line in text.splitlines():
        found = _FINDING.fullmatch(line)
        lines += folded(f"<b>{found[1]}.</b> {found[2]}", [found[3]], mark=f"finding-{found[1]}") if found else [line]
    return [*lines, *([""] if lines else [])]


def _counts(made: Made, figures: Mapping[str, list[Shown]], rules: Sequence[str]) -> list[str]:
    counts = tally(made.claims, {key: f"{key}.md" for key in figures})
    if counts.empty:
        return []
    many = (
        f"We check {made.claims['id'].nunique()} statements. ASTRAEA and the market are built in two ways, called "
        "*readings*. A check is one statement on one trace in one reading."
    )
    lines = ['## <a id="verdicts"></a>How many statements hold', "", many, "", *markdown(counts), ""]
    sure = [text for each in (steady, how_sure) if (text := each(made.claims))]
    lines += folded("What is counted, what the readings are, and how sure the verdicts are", [*rules, " ".join(sure)])
    tables = {paper: made.folder / f"{published.NAME}_{paper.key}.csv" for paper in PAPERS}
    there = {paper: path for paper, path in tables.items() if path.exists()}
    if there:
        pictures = ", ".join(f"[{paper.title}]({paper.key}.md)" for paper in there)
        said = published.in_words([*there.values()])
        lines += [f"{said} Pictures: {pictures}.", ""]
    return lines


def _map(about: Mapping[str, tuple[str, str]], figures: Mapping[str, list[Shown]]) -> list[str]:
    """Every page, and folded every figure on it."""
    lines, links = ['<a id="map"></a>', "", "## Map of the figures", ""], []
    for key, (title, text) in about.items():
        some = [figure.entry for figure in figures.get(key, []) if figure.is_there]
        if some or key == "statements":
            many = f" {len(some)} figure{'s' if len(some) > 1 else ''}." if some else ""
            lines.append(f"- **[{title}]({key}.md)**: {text}{many}")
        if some:
            links += [f"**{title}**", "", *(f"- [{entry.title}]({key}.md#{entry.id})" for entry in some), ""]
    return [*lines, "", *(folded("Every figure", links) if links else [])]
