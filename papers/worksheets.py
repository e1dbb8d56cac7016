"""Worksheets of the course: a copy to write answers in, and the check of one, ``python -m papers.worksheets 03``.

The notebooks in ``notebooks/course`` hold the answers between ``### BEGIN SOLUTION`` and ``### END SOLUTION``. Their
cells carry nbgrader's metadata, so that `nbgrader generate_assignment` can make the students' version too.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import nbformat
from nbclient import NotebookClient

from astraea.core.errors import InputError
from astraea.core.files import write_atomically
from papers import ROOT

SOURCES: Final = ROOT / "notebooks" / "course"
COPIES: Final = ROOT / "notebooks" / "mine"
"""Folders of the worksheets with answers, and of the copies to write in; git ignores the second."""

TIMEOUT: Final = 300
"""Longest time of one cell [s]."""

_SOLUTION: Final = re.compile(r"^( *)### BEGIN SOLUTION\n.*?### END SOLUTION", re.DOTALL | re.MULTILINE)


class Checked(NamedTuple):
    """One exercise: its points, and what is wrong with the answer, or nothing."""

    name: str
    points: int
    wrong: str


def worksheet(name: str) -> Path:
    """Return the worksheet whose name begins so, such as ``03``; `InputError` if there is none or more than one."""
    found = sorted(SOURCES.glob(f"{name}*.ipynb"))
    if not name or len(found) != 1:
        known = ", ".join(path.stem for path in sorted(SOURCES.glob("*.ipynb")))
        raise InputError(f"NB={name}: expected the beginning of one worksheet; there are: {known}")
    return found[0]


def copy_without_answers(source: Path) -> Path:
    """Write the worksheet without its answers to `COPIES`, if it is not there yet, and return its path."""
    path = COPIES / source.name
    if not path.exists():
        notebook = _read(source)
        for cell in notebook.cells:
            cell.source = _SOLUTION.sub(r"\1raise NotImplementedError", cell.source)
        write_atomically(path, nbformat.writes(notebook) + "\n")  # type: ignore[no-untyped-call]
    return path


def check(path: Path, source: Path) -> list[Checked]:
    """Run a worksheet with the checks of its source, and say of each exercise what is wrong.

    The cells of the checks are taken from `source`, whatever `path` has there. `InputError` if a check is missing, or
    if `path` cannot be read as a notebook.
    """
    try:
        notebook = _read(path)
    except (OSError, ValueError) as err:
        raise InputError(f"{path}: not a notebook that can be read ({str(err).splitlines()[0]})") from None
    checks = {_id(cell): cell for cell in _read(source).cells if _points(cell)}
    mine = {_id(cell): cell for cell in notebook.cells if _id(cell) in checks}
    if missing := sorted(set(checks) - set(mine)):
        raise InputError(f"{path}: the cell {missing[0]} is missing; remove the file and run the command again")
    for name, cell in mine.items():
        cell.source = checks[name].source
    place = {"metadata": {"path": str(SOURCES)}}
    NotebookClient(notebook, timeout=TIMEOUT, allow_errors=True, resources=place).execute()
    answers = {_id(cell).replace("answer", "check"): _error(cell) for cell in notebook.cells if _id(cell)}
    return [Checked(name, _points(cell), answers.get(name) or _error(cell)) for name, cell in mine.items()]


def _read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def _id(cell: Any) -> str:
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def _points(cell: Any) -> int:
    """Points of a check, 0 for any other cell."""
    return int(cell.metadata.get("nbgrader", {}).get("points", 0))


def _error(cell: Any) -> str:
    """Return the error of a cell that was run in a sentence, or nothing."""
    for output in cell.get("outputs", ()):
        if output.output_type == "error":
            if output.ename == "NotImplementedError":
                return "not answered yet"
            return f"{output.evalue}" if output.ename == "AssertionError" else f"{output.ename}: {output.evalue}"
    return ""


def main(name: str) -> int:
    """Check the answers in the worksheet ``notebooks/mine/NAME...``, after making it if it is missing.

    Return 0 if every exercise is right, and 1 if one is not, or there is no such worksheet.
    """
    try:
        source = worksheet(name)
        path = copy_without_answers(source)
        found = check(path, source)
    except InputError as err:
        print(err, file=sys.stderr)
        return 1
    for one in found:
        print(f"{one.name:<10}{0 if one.wrong else one.points} of {one.points} points  {one.wrong or 'right'}")
    print(f"your answers go into {path.relative_to(ROOT)}")
    return int(any(one.wrong for one in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
