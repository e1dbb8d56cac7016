"""docs/artifact.md and the list of major claims say the same."""

from __future__ import annotations

from pathlib import Path

from places import ROOT

from papers.claims.evaluate import evaluate
from papers.running.reproduce import major_claims

PAGE = (ROOT / "docs" / "artifact.md").read_text(encoding="utf-8")


def test_the_committee_reads_the_same(tmp_path: Path) -> None:
    """A line per claim, with experiment, command and minutes, and one per statement."""
    claims = major_claims()
    papers = evaluate(tmp_path).drop_duplicates("id").set_index("id")["paper"]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in PAGE.splitlines() if row.startswith("| C")]
    wanted = []
    for name, claim in claims.items():
        told = [f"{name}: {claim['claim']}", f"E{name[1:]}, {claim['where']}", f"`python -m papers reproduce {name}`"]
        for check in claim["checks"]:
            paper = "as stated" if papers[check["id"]].endswith(" abs tol") else papers[check["id"]]
            wanted.append([name, check["id"], paper, check["tolerance"], check["expected"]])
        assert [*told, f"{claim['minutes']:g}"] in rows
    assert [row for row in rows if row[0] in claims] == wanted
    assert f"all eight take {sum(claim['minutes'] for claim in claims.values()):g}," in PAGE
