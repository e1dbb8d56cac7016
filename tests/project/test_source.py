"""The source: public names, one bibliography, no import hidden from the contract, every order stable."""

from __future__ import annotations

import ast
import re
import runpy
import sys
from collections.abc import Iterator
from importlib import import_module

import pytest
from places import ROOT
from processes import run

import astraea

TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for folder in ("astraea", "ops", "papers", "verification", "bench", "tests")
    for path in (ROOT / folder).rglob("*.py")
}
PROSE = runpy.run_path(str(ROOT / ".ci" / "prose.py"))
PACKAGES = ("astraea/", "ops/astraea_ops/")
KEY = r"\[[A-Z][a-z]+[0-9]{4}\]"


def test_every_name_is_there_documented_and_typed() -> None:
    """mypy sees the same names that are imported."""
    imported = {
        alias.name: node.module or ""
        for node in ast.walk(ast.parse(TEXTS["astraea/__init__.py"]))
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


def test_every_key_has_one_reference_and_the_readme_those_of_the_papers_that_are_reproduced() -> None:
    listed = re.findall(rf"^({KEY}) ", astraea.__doc__ or "", re.M)
    assert listed == sorted(set(listed))
    assert {key for text in TEXTS.values() for key in re.findall(KEY, text)} == set(listed)
    references = re.findall(rf"^({KEY} (?:.+\n?)+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    assert len(references) == 4
    for reference in references:
        assert " ".join(reference.replace("*", "").split()) in " ".join((astraea.__doc__ or "").split())


def unstable(text: str) -> Iterator[str]:
    """Yield the calls that order rows by values that may be equal, which other processors order otherwise."""
    for node in ast.walk(ast.parse(text)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        given = {k.arg: k.value for k in node.keywords}
        is_sort = node.func.attr == "argsort"
        if node.func.attr == "sort_values":
            by = node.args[0] if node.args else given.get("by")
            is_sort = not (isinstance(by, ast.List) and len(by.elts) > 1)  # several columns are sorted stably
        kind = given.get("kind")
        if is_sort and not (isinstance(kind, ast.Constant) and kind.value in ("stable", "mergesort")):
            yield ast.unparse(node)


def test_every_order_is_stable() -> None:
    wrong, right = ["a.argsort(kind='heapsort')", "d.sort_values(['x'])"], "d.sort_values(['x', 'y'])"
    assert list(unstable("\n".join([*wrong, right]))) == wrong  # the search finds them
    found = {name: list(unstable(text)) for name, text in TEXTS.items() if name.startswith(PACKAGES)}
    assert {name: calls for name, calls in found.items() if calls} == {}


def test_only_these_modules_hide_an_import_from_the_contract() -> None:
    """Imports for annotations alone, which the contract on imports does not see."""
    hiding = {name for name, text in TEXTS.items() if re.search("^if TYPE_CHECKING:", text, re.MULTILINE)}
    assert {name for name in hiding if not name.startswith(("tests/", "ops/tests/"))} == {
        "astraea/__init__.py",  # the public face: everything, when it is used
        # commands import what they need themselves
        "astraea/cli/arguments.py",
        "ops/astraea_ops/cli/audit.py",
        "ops/astraea_ops/cli/live.py",
        # policies import these, and need no table; a trace is below them
        "astraea/cluster/engine/state.py",
        "astraea/cluster/rules.py",
        "astraea/core/metrics.py",  # a result computes its measures there
    }


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("prose", "# Title\n\nOne " + "and one " * 16 + "`a b c` [*two*](x.md).", []),
        ("prose", "# Title\n\nOne " + "and one " * 16 + "`a b c` [*two*](x.md) [three](y.md).", [(3, "36 words")]),
        ("prose", "It depends on:\n\n> hangs on\n\n```\nhangs on\n```\n- hangs on", [(3, "hangs"), (8, "hangs")]),
        ("prose", "> One " + "and one " * 16 + "two<br>\n> three four", []),
        ("prose", "| Who | asks? |\n| Who has | a lease |\n", [(2, "Who")]),
        ("prose", "Users who wait. Who waits? `who` $who$; who waits, waits", [(1, "who")]),
        ("docstring", '"""Whether."""\ndef f():\n    """Run.\n\n    It stands."""\n', [(1, "Whether"), (5, "stands")]),
        ("message", 'raise Error(f"{x} hangs on {y:.3f}" " stands")\nprint("stands")\n', [(1, "hangs"), (1, "stands")]),
        ("message", 'f(help="it " "hangs on", told="hangs on")\n\nf(short_help=f"hangs {on}")\n', [(1, "hangs")]),
        ("docstring", 'N = 1\n"""What it is."""\nx = "What it is."\n', [(2, "What")]),
    ],
)
def test_the_linter_of_prose_finds_what_it_should(kind: str, text: str, said: list[tuple[int, str]]) -> None:
    found = list(PROSE[f"{kind}_problems"](text))
    assert [line for line, _ in found] == [line for line, _ in said]
    assert all(word in message for (_, message), (_, word) in zip(found, said, strict=True))
