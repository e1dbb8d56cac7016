"""The course's worksheets: right with the answers that they hold, not answered without, and hard to fool."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from places import ROOT

from astraea.core.errors import InputError
from papers import worksheets
from papers.worksheets import SOURCES, Checked, check, copy_without_answers, worksheet

COURSE = (ROOT / "docs" / "course.md").read_text(encoding="utf-8")
SHEETS = sorted(SOURCES.glob("*.ipynb"))


@pytest.mark.parametrize("source", SHEETS, ids=lambda path: path.stem)
def test_answers_are_right(source: Path) -> None:
    """Without a kernel, which takes seconds to start."""
    cells = [cell.source for cell in nbformat.read(source, as_version=4).cells if cell.cell_type == "code"]
    assert len(cells) == 1 + 2 * 2 and all("### BEGIN SOLUTION" in cell for cell in cells[1::2])
    exec(compile("\n".join(cells), str(source), "exec"), {"__name__": "worksheet"})


def test_the_course_tells_the_points_of_each_worksheet() -> None:
    points = []
    for source in SHEETS:
        graded = [cell.metadata.get("nbgrader", {}) for cell in nbformat.read(source, as_version=4).cells]
        points.append(sum(about.get("points", 0) for about in graded))
    assert f"| points | {' | '.join(map(str, points))} |" in COURSE
    assert f"seven worksheets have {sum(points)} points in total." in COURSE
    assert all(f"`NB={source.stem.partition('_')[0]}`" in COURSE for source in SHEETS)


def test_a_copy_is_checked_answer_by_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worksheets, "COPIES", tmp_path)
    source = worksheet("02")
    path = copy_without_answers(source)
    assert "SOLUTION" not in path.read_text(encoding="utf-8")
    copy = nbformat.read(path, as_version=4)
    by_id = {cell.id: cell for cell in copy.cells}
    by_id["answer-2"].source = "def fair_shares(weights, gpus):\n    return [gpus / len(weights) for _ in weights]"
    by_id["check-2"].source = "pass"  # which the command puts back
    nbformat.write(copy, path)
    assert copy_without_answers(source) == path and "gpus / len(weights)" in path.read_text(encoding="utf-8")
    assert check(path, source) == [
        Checked("check-1", 3, "not answered yet"),
        Checked("check-2", 3, "half, a quarter, a quarter"),
    ]

    copy.cells.remove(by_id["check-1"])
    nbformat.write(copy, path)
    with pytest.raises(InputError, match=r"02_fairness\.ipynb: the cell check-1 is missing"):
        check(path, source)


@pytest.mark.parametrize("name", ["", "99", "0"])
def test_an_unknown_worksheet_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"NB={name}: expected the beginning of one worksheet; there are: 00_"):
        worksheet(name)
