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


def test_every_name_is_there_documented_and_typed() -> None:
    """What mypy reads is what is imported."""
    imported = {
        alias.name: node.module or ""
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("astraea.")
        for alias in node.names
    }
    assert sorted(imported) == astraea.__all__
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)", page, re.MULTILINE)) == set(imported)
    for name, place in imported.items():
        value = getattr(astraea, name)
        assert value is getattr(import_module(place), name)
        assert value.__doc__ and f"- `{name}`: " in (astraea.__doc__ or "") and name in dir(astraea)
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


def test_the_readme_has_the_references_of_the_papers_that_are_reproduced() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    text = " ".join((astraea.__doc__ or "").split())
    found = re.findall(rf"^({KEY} (?:.+\n?)+)", readme, re.M)
    assert len(found) == 4
    for reference in found:
        assert " ".join(reference.replace("*", "").split()) in text
