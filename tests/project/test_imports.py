"""What the contract on imports does not see: imports for annotations alone."""

from __future__ import annotations

import re

from places import ROOT

ANNOTATIONS_ONLY = {
    "astraea/__init__.py": "the public face: everything, when it is used",
    "astraea/cli/arguments.py": "commands import what they need themselves",
    "astraea/cluster/engine/state.py": "policies import it, and need no table; a trace is below it",
}


def test_no_other_module_hides_an_import_from_the_contract() -> None:
    hiding = {
        path.relative_to(ROOT).as_posix()
        for folder in ("astraea", "papers", "verification")
        for path in (ROOT / folder).rglob("*.py")
        if re.search("^if TYPE_CHECKING:", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert hiding == set(ANNOTATIONS_ONLY)
