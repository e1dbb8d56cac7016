"""What is not done in the source: imports hidden from the contract, and orders of equal values left to numpy."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from places import ROOT

STABLE = ("stable", "mergesort")
"""Other kinds sort equal values otherwise on other processors."""


def unstable(text: str) -> Iterator[str]:
    """Yield the calls that order rows by values that may be equal, and do not say how."""
    for node in ast.walk(ast.parse(text)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        given = {k.arg: k.value for k in node.keywords}
        is_sort = node.func.attr == "argsort"
        if node.func.attr == "sort_values":
            by = node.args[0] if node.args else given.get("by")
            is_sort = not (isinstance(by, ast.List) and len(by.elts) > 1)  # several columns are sorted stably
        kind = given.get("kind")
        if is_sort and not (isinstance(kind, ast.Constant) and kind.value in STABLE):
            yield ast.unparse(node)


def test_every_order_is_stable() -> None:
    wrong, right = ["a.argsort(kind='heapsort')", "d.sort_values(['x'])"], "d.sort_values(['x', 'y'])"
    assert list(unstable("\n".join([*wrong, right]))) == wrong  # the search finds them
    found = {path.name: list(unstable(path.read_text("utf-8"))) for path in ROOT.glob("astraea/**/*.py")}
    assert {name: calls for name, calls in found.items() if calls} == {}


ANNOTATIONS_ONLY = {
    "astraea/__init__.py": "the public face: everything, when it is used",
    "astraea/cli/arguments.py": "commands import what they need themselves",
    "astraea/cluster/engine/state.py": "policies import it, and need no table; a trace is below it",
}
"""Imports for annotations alone, which the contract on imports does not see."""


def test_no_other_module_hides_an_import_from_the_contract() -> None:
    hiding = {
        path.relative_to(ROOT).as_posix()
        for folder in ("astraea", "papers", "verification")
        for path in (ROOT / folder).rglob("*.py")
        if re.search("^if TYPE_CHECKING:", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert hiding == set(ANNOTATIONS_ONLY)
