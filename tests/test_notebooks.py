"""Notebooks as a student meets them: short, with goals, links that lead somewhere, hints, solutions, stored outputs."""

from __future__ import annotations

import ast
import base64
import importlib
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest
from places import ROOT

from papers import notebooks

FOLDER = ROOT / "notebooks"
NOTEBOOKS = list(notebooks().values())
BOTH = [*NOTEBOOKS, *sorted(ROOT.glob("**/notebooks/solutions/*.ipynb"))]

WORDS, CELLS, LINES, FRAMES = 1400, 18, 26, 1_000_000
"""At most so many words of prose, cells of code, lines in one of them, and characters of stored frames."""

NOT_PROSE = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$|!\[[^\]]*\]\([^)]*\)|```.*?```|`[^`]*`|<[^>]*>", re.DOTALL)
"""Formulas, alternative texts of pictures, code, and tags."""
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
"""A link, or with `!` a picture."""
GOALS = re.compile(
    r"^> \*\*You will learn\*\* .+<br>\n"
    r"(?:> .+\n)*?"
    r"> \*\*Time\*\* .*\d+ minutes? to read, .*\d+ (?:second|minute)s? to run\b.*<br>\n"
    r"(?:> \*\*Paper\*\* .+<br>\n)?"
    r"> \*\*Know first\*\* .+<br>\n"
    r"> \*\*Next\*\* (?P<after>.+)$",
    re.MULTILINE,
)

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
each_of_both = pytest.mark.parametrize("path", BOTH, ids=lambda path: path.relative_to(ROOT).as_posix())


@cache
def notebook(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def cells(path: Path, kind: str) -> list[Any]:
    return [cell for cell in notebook(path).cells if cell.cell_type == kind]


def prose(path: Path) -> str:
    return "\n\n".join(cell.source for cell in cells(path, "markdown"))


def exercises(path: Path) -> list[str]:
    """The text of each numbered exercise."""
    _, _, text = prose(path).partition("\n## Exercises\n")
    return re.split(r"^(?:#+ |\*\*)?\d+\. ", text, flags=re.MULTILINE)[1:]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("[0-9]*.ipynb")), ids=lambda path: path.stem)
def test_its_pictures_are_the_figures(path: Path) -> None:
    figures = {figure.read_bytes() for figure in (ROOT / "figures").glob("*.png")}
    saving = [cell for cell in cells(path, "code") if "plots.save(" in cell.source]
    stored = [output.data["image/png"] for cell in saving for output in cell.outputs
              if "image/png" in output.get("data", {})]  # fmt: skip
    assert all(base64.b64decode(picture) in figures for picture in stored)


@each_of_both
def test_it_is_short(path: Path) -> None:
    sources = [cell.source for cell in cells(path, "code")]
    assert len(re.findall(r"\w[\w'.,%-]*", NOT_PROSE.sub(" ", prose(path)))) <= WORDS
    assert len(sources) <= CELLS
    assert [source.splitlines()[0] for source in sources if len(source.splitlines()) > LINES] == []


@each
def test_it_begins_with_its_goals(path: Path) -> None:
    first = notebook(path).cells[0]
    assert first.cell_type == "markdown" and first.source.startswith(f"# {path.stem.split('_')[0]} · ")
    found = GOALS.search(first.source)
    assert found, "the block of goals is missing or has another form"
    assert ".ipynb)" in found["after"]


@each_of_both
def test_every_link_leads_somewhere_and_every_picture_is_told_in_words(path: Path) -> None:
    text = re.sub(r"`[^`]*`", "", prose(path))
    assert not re.search(r"<img|\b(TODO|FIXME|TBD|XXX+)\b|\?\?\?", text)
    for picture, words, link in LINK.findall(text):
        assert "://" in link or link.startswith("#") or (path.parent / link.partition("#")[0]).exists(), link
        assert not picture or (len(words) >= 20 and words not in (Path(link).name, Path(link).stem)), link


@each_of_both
def test_a_link_to_a_notebook_is_called_like_it(path: Path) -> None:
    for _, words, link in LINK.findall(prose(path)):
        if link.endswith(".ipynb") and " · " in words:
            assert notebook((path.parent / link).resolve()).cells[0].source.startswith(f"# {words}\n"), link


@each
def test_exercises_have_hints_and_solutions(path: Path) -> None:
    for text in exercises(path):
        assert re.search(r"<details>\s*<summary>Hint</summary>\s*\S.*?</details>", text, re.DOTALL), text
    many, solution = len(exercises(path)), path.parent / "solutions" / path.name
    assert solution.exists() == (many > 0)
    assert many > 0 or "## Exercises" not in prose(path)
    if many:
        assert f"(solutions/{path.name})" in prose(path)
        title = notebook(path).cells[0].source.splitlines()[0].removeprefix("# ")
        assert prose(solution).startswith(f"# Solutions to [{title}](../{path.name})")
        assert len(re.findall(r"^## ", prose(solution), re.MULTILINE)) >= many
        assert len(cells(solution, "code")) >= many


@each_of_both
def test_it_was_run_from_top_to_bottom(path: Path) -> None:
    run = [cell for cell in cells(path, "code") if cell.source.strip()]
    assert [cell.execution_count for cell in run] == list(range(1, len(run) + 1))
    assert any(cell.outputs for cell in run)
    assert [o.evalue for cell in run for o in cell.outputs if o.output_type == "error"] == []
    # the names of widgets are drawn at random, and without a kernel they show nothing
    assert "widgets" not in notebook(path).metadata
    shown = [o.data["text/html"] for cell in run for o in cell.outputs if "text/html" in o.get("data", {})]
    assert sum(len(html) for html in shown if html.startswith('<div class="frames"')) <= FRAMES
    kinds = {kind for cell in run for o in cell.outputs for kind in o.get("data", {})}
    assert not {kind for kind in kinds if "widget" in kind}


@each_of_both
def test_what_it_takes_from_modules_is_there(path: Path) -> None:
    """Solutions are run at night only: a name that has moved is found here."""
    code = "\n".join(re.sub(r"(?m)^[%!].*$", "", cell.source) for cell in cells(path, "code"))
    nodes = [*ast.walk(ast.parse(code))]
    modules: dict[str, ModuleType] = {}
    wrong = []
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {one.asname or one.name.split(".")[0]: importlib.import_module(one.name) for one in node.names
                        if one.asname or "." not in one.name}  # fmt: skip
        if isinstance(node, ast.ImportFrom) and node.module:
            source = importlib.import_module(node.module)
            for one in node.names:
                found = getattr(source, one.name, None)
                if found is None:
                    found = importlib.import_module(f"{node.module}.{one.name}")
                if isinstance(found, ModuleType):
                    modules[one.asname or one.name] = found
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            if not hasattr(modules[node.value.id], node.attr):
                wrong.append(f"{node.value.id}.{node.attr}")
    assert wrong == []
