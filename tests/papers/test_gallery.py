"""The pages of a folder of figures, and the numbers of README's first table."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from places import ROOT

from astraea.plots import LOOKS
from papers.gallery import headline, made_by, write_gallery

FIGURES = ROOT / "figures"
LABELS = {"ASTRAEA": "astraea", "Themis": "themis", "Tiresias-L": "tiresias-l", "YARN-CS": "yarn-cs",
          "Gandiva_fair": "gandiva-fair"}  # fmt: skip
READINGS = ("the authors' program", "from the papers")


@pytest.mark.parametrize("page", ["README.md", "figures/README.md"])
def test_the_first_table_has_the_numbers_of_table10(page: str) -> None:
    """After new tables: `python -m papers.gallery figures`, and copy the table into README.md."""
    table = pd.read_csv(FIGURES / "table10_venus.csv").set_index(["reading", "scheduler"])["sharing_loss"] * 100
    text = (ROOT / page).read_text(encoding="utf-8").partition("| jobs short of their share, Venus |")[2]
    rows = [row.split(" | ") for row in text.partition("\n\n")[0].splitlines()[2:]]
    assert len(rows) >= 4 and rows[0][0] == "| ASTRAEA"
    for label, _, *cells in rows:
        for reading, cell in zip(READINGS, cells, strict=True):
            key = reading, LABELS[label.removeprefix("| ")]
            numbers = [float(x) for x in re.findall(r"\d+\.\d", cell)]
            seeds = table[[key]] if key in table.index else None
            wanted = [] if seeds is None else [seeds.mean(), seeds.min(), seeds.max()]
            assert numbers == pytest.approx(wanted, abs=0.051)


def test_the_pages_of_the_committed_figures(tmp_path: Path) -> None:
    for path in FIGURES.glob("*.csv"):
        shutil.copy(path, tmp_path)
    for name in ("fig10_venus.png", "fig10_philly.png", "themis09_apps.png", "unheard-of_apps.png"):
        (tmp_path / name).write_bytes(b"")
    readme, statements = (path.read_text(encoding="utf-8") for path in write_gallery(tmp_path))
    assert headline(tmp_path, "venus")[0] in readme and "## What is fragile" in readme
    assert re.search(r"Of \d+ verdicts that can fail", readme)
    order = [readme.index(words) for words in ("## ASTRAEA", "fig10_venus", "fig10_philly", "## Themis", "## More")]
    assert order == sorted(order) and "notebooks/09_themis.ipynb" in readme
    rows = [row for row in statements.splitlines() if row.startswith("| ")]
    counts = 1 + next(k for k, row in enumerate(rows) if row.startswith("| **all**"))
    assert {row.count(" | ") for row in rows[:counts]} == {8} and {row.count(" | ") for row in rows[counts:]} == {6}
    assert sum("ASTRAEA leaves 7.1 % of the jobs short of their share." in row for row in rows) == 1
    sums = [int(x) for x in next(row for row in rows if "**all**" in row).split(" | ")[2:-1]]
    assert sum(sums) == int(re.findall(r"Of (\d+) verdicts", readme)[0])


def test_the_pages_of_your_own_log_have_no_finding_of_ours(tmp_path: Path) -> None:
    table = pd.read_csv(FIGURES / "table10_venus.csv").query("seed == 0")
    table.to_csv(tmp_path / "table10_mine.csv", index=False)
    (tmp_path / "fig10_mine.png").write_bytes(b"")
    [page] = write_gallery(tmp_path)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Figures of mine\n") and "one run of each" in text and "fig10_mine.png" in text
    assert not re.search("Venus|fragile|statements|paper \\|", text)


def test_every_picture_of_the_list_that_a_notebook_makes_is_found() -> None:
    known = pd.read_csv(ROOT / "data" / "pictures.csv")
    assert known["id"].is_unique and known["line"].str.endswith(".").all()
    stems = ("fig10_venus", "gavel09_venus", "themis09_apps", "wang04_venus", "leaderboard_venus", "nothing_venus")
    made = {stem: made_by(stem) for stem in stems}
    assert [path.name[:2] if path else "" for path in made.values()] == ["04", "10", "09", "12", "13", ""]
    assert set(LABELS.values()) <= set(LOOKS)
