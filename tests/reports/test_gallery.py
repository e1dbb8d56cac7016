"""The gallery: everything that is there is shown, and the same files give the same page."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from astraea.reports.claims.evaluate import read_claims
from astraea.reports.gallery import PAPERS, write_gallery


def make(folder: Path) -> None:
    folder.mkdir()
    limits = {"limit": [600, 3600, 21_600, 86_400, 518_400], "share": [0.67, 0.83, 0.91, 0.96, 0.996]}
    pd.DataFrame(limits).assign(seed=0).to_csv(folder / "table1_venus.csv", index=False)
    made = {"statistic": "jobs", "published": 11304, "within": "± 0", "source": "§6.1.2", "mean": 11_300.0,
            "smallest": 5.0, "largest": 11_304.0, "seeds": 5, "holds": False, "why": ""}  # fmt: skip
    pd.DataFrame([made]).to_csv(folder / "generator_venus.csv", index=False)
    jct = pd.DataFrame({"scheduler": ["astraea", "tiresias-l", "yarn-cs"], "seed": 0, "average_jct": [1e4, 2e4, 9e3]})
    for trace in ("venus", "philly", "my|log"):
        jct.to_csv(folder / f"fig13_{trace}.csv", index=False)
        (folder / f"fig13_{trace}.png").write_bytes(b"")
    (folder / "over-claiming_venus.png").write_bytes(b"")


def test_page(tmp_path: Path) -> None:
    make(tmp_path / "a")
    page = write_gallery(tmp_path / "a", "make figures SCALE=paper", "paper").read_text()
    for trace in ("venus", "philly", "my|log"):
        assert f"](fig13_{trace}.png)" in page
    assert page.index("fig13_venus.png") < page.index("fig13_philly.png") < page.index("fig13_my|log.png")
    assert "| running time | < 10 min | < 1 h | < 6 h | < 1 d | < 6 d |" in page
    assert "| share of jobs | 67.0 % | 83.0 % | 91.0 % | 96.0 % | 99.6 % |" in page
    assert "| jobs | 11,304, §6.1.2 | ± 0 | 11,300 (5 .. 11,304) | 5 | no |  |" in page
    assert "✓ holds" in page and "✗ does not hold" in page and "– not yet" in page
    assert "2.78 h" in page  # what was measured
    assert page.index("## Further figures") < page.index("over-claiming_venus.png") < page.index("## All statements")
    assert "my\\|log" in page  # a table cell
    assert "`make figures SCALE=paper`" in page
    missing = set(read_claims()["where"]) - {w for w in read_claims()["where"] if w in page}
    assert missing == set()


def test_every_statement_stands_at_a_figure() -> None:
    ids = [i for i in read_claims()["id"] if i.startswith(("ye.", "gavel.", "wang.", "themis."))]
    for id in ids:
        every = [entry for entries in PAPERS.values() for entry in entries]
        entries = [entry for entry in every if entry.claims and id.startswith(entry.claims)]
        assert len(entries) == 1, id


def test_same_files_give_the_same_page(tmp_path: Path) -> None:
    pages = []
    for name in ("a", "b"):
        make(tmp_path / name)
        pages.append(write_gallery(tmp_path / name, "make figures", "paper").read_bytes())
    assert pages[0] == pages[1] == write_gallery(tmp_path / "a", "make figures", "paper").read_bytes()


def test_a_real_trace_among_the_synthetic_ones_is_named(tmp_path: Path) -> None:
    make(tmp_path / "a")
    said = "are made by `make real`"
    page = write_gallery(tmp_path / "a", "make figures", "paper").read_text()
    assert "The figures of my|log, a real workload" in page and said in page
    for path in (tmp_path / "a").glob("fig13_my*"):
        path.unlink()
    assert said not in write_gallery(tmp_path / "a", "make figures", "paper").read_text()
