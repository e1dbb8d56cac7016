"""What `import astraea` gives: names that exist, each documented, and one bibliography for all keys."""

from __future__ import annotations

import ast
import re
import sys
from importlib import import_module

import pytest
from places import ROOT
from processes import run

import astraea

SOURCE = (ROOT / "astraea" / "__init__.py").read_text(encoding="utf-8")
KEY = r"\[[A-Z][a-z]+[0-9]{4}\]"


@pytest.mark.parametrize("name", astraea.__all__)
def test_every_name_is_there_and_documented(name: str) -> None:
    value = getattr(astraea, name)
    assert value.__doc__
    assert f"- `{name}`: " in (astraea.__doc__ or "")
    assert name in dir(astraea)


def test_types_are_of_the_same_places() -> None:
    """What mypy reads is what is imported."""
    imported = {
        alias.name: node.module
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("astraea.")
        for alias in node.names
    }
    assert sorted(imported) == astraea.__all__
    for name, place in imported.items():
        assert place is not None
        assert getattr(import_module(place), name) is getattr(astraea, name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'astraea' has no attribute 'simulator'"):
        astraea.simulator  # noqa: B018


def test_importing_it_imports_nothing_else() -> None:
    code = "import sys, astraea; print(*sys.modules, sep='\\n')"
    loaded = run(sys.executable, "-c", code, cwd=ROOT).stdout.split("\n")
    assert "astraea" in loaded
    assert [name for name in loaded if name.startswith("astraea.") or name in ("numpy", "pandas", "numba")] == []


def test_every_key_has_one_reference() -> None:
    listed = re.findall(rf"^({KEY}) ", astraea.__doc__ or "", re.M)
    assert listed == sorted(set(listed))
    cited = {
        key
        for folder in ("astraea", "papers", "verification", "bench", "tests")
        for path in (ROOT / folder).rglob("*.py")
        for key in re.findall(KEY, path.read_text(encoding="utf-8"))
    }
    assert cited == set(listed)


def test_no_other_docstring_repeats_a_reference() -> None:
    text = " ".join((astraea.__doc__ or "").split())
    titles = re.findall(rf"{KEY} .*?[A-Za-z]{{3,}}\. ([A-Z][^.]+)\. ", text)
    assert len(titles) > 10
    for path in (*(ROOT / "astraea").rglob("*.py"), *(ROOT / "papers").rglob("*.py")):
        if path != ROOT / "astraea" / "__init__.py":
            docstring = " ".join((ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split())
            assert [title for title in titles if title in docstring] == [], path


def test_the_readme_has_the_references_of_the_papers_that_are_reproduced() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    text = " ".join((astraea.__doc__ or "").split())
    found = re.findall(rf"^({KEY} (?:.+\n?)+)", readme, re.M)
    assert len(found) == 4
    for reference in found:
        assert " ".join(reference.replace("*", "").split()) in text
