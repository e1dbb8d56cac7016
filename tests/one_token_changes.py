"""Random changes of one token in the code, and the tests that notice them.

``python tests/one_token_changes.py --number 20 --seed 1 astraea/cluster papers/themis`` draws changes in these files
and folders, makes each in a copy of the checkout, and runs the tests of the changed folder until one fails. A change
that no test notices is printed with its line. The exit code is 1 if more than one in ten was not noticed.

A change replaces a comparison, an arithmetic operator, ``and``, ``or``, ``True``, ``False``, or adds one to a number.
Lines that only raise an error or import something are left alone.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tokenize
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

OTHER = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "/", "/": "*",
    "//": "*", "%": "*", "+=": "-=", "-=": "+=", "and": "or", "or": "and", "True": "False", "False": "True",
    "min": "max", "max": "min", "break": "continue",
}  # fmt: skip

TESTS = {"astraea": "tests/astraea", "ops": "ops/tests", "papers": "tests/papers", "verification": "tests/verification"}
"""Tests of each folder at the top."""

LONGEST = 1800
"""Time after which a change counts as noticed, because the tests do not end [s]."""


class Change(NamedTuple):
    """One token replaced by another one."""

    file: Path  #: below the checkout
    line: int
    column: int
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Make the change in a checkout."""
        lines = (root / self.file).read_text(encoding="utf-8").splitlines(keepends=True)
        text = lines[self.line - 1]
        lines[self.line - 1] = text[: self.column] + self.new + text[self.column + len(self.old) :]
        (root / self.file).write_text("".join(lines), encoding="utf-8")


def changes(file: Path, root: Path = ROOT) -> list[Change]:
    """Return all changes of a file, a path below the checkout."""
    text = (root / file).read_text(encoding="utf-8")
    plain = set()  # lines of errors, imports and annotations, which do not compute
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.Assert):
            plain |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if part is not None:
                plain |= set(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    found = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        new = OTHER.get(token.string)
        if token.type == tokenize.NUMBER and token.string.isdecimal():
            new = str(int(token.string) + 1)
        if token.type in (tokenize.OP, tokenize.NAME, tokenize.NUMBER) and new and token.start[0] not in plain:
            found.append(Change(file, *token.start, token.string, new))
    return found


def is_valid(change: Change) -> bool:
    """Return whether the changed file is still Python; a starred argument is no product."""
    lines = (ROOT / change.file).read_text(encoding="utf-8").splitlines()
    text = lines[change.line - 1]
    lines[change.line - 1] = text[: change.column] + change.new + text[change.column + len(change.old) :]
    try:
        ast.parse("\n".join(lines))
    except SyntaxError:
        return False
    return True


def tests_of(file: Path) -> str:
    """Return the folder of tests to run for a file: that of its own folder if there is one."""
    top, *inner = (part for part in file.parts[:-1] if part != "astraea_ops")
    own = Path(TESTS[top], *inner[:1])
    return own.as_posix() if (ROOT / own).is_dir() else TESTS[top]


def is_noticed(change: Change) -> bool:
    """Run the tests in a copy of the checkout with the change, and return whether one fails."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "checkout")
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
        for name in listed.stdout.splitlines():
            if not name.startswith(("figures/", "notebooks/")) and (ROOT / name).is_file():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, root / name)
        change.apply(root)
        places = {"PYTHONPATH": f"{root}{os.pathsep}{root / 'ops'}", "XDG_CACHE_HOME": str(Path(folder, "cache"))}
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", tests_of(change.file)]
        try:
            done = subprocess.run(command, cwd=root, env={**os.environ, **places}, capture_output=True, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0


def main() -> int:
    """Draw changes, try each, and say which were not noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="+", type=Path, help="files or folders")
    parser.add_argument("--number", type=int, default=20, help="number of changes (default 20)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample (default 0)")
    given = parser.parse_args()
    places = [place.resolve() for place in given.places]
    files = [path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*.py")))]
    every = [change for path in files for change in changes(path.relative_to(ROOT))]
    random.Random(given.seed).shuffle(every)
    sample = [change for change in every if is_valid(change)][: given.number]
    missed = 0
    for change in sample:
        noticed = is_noticed(change)
        missed += not noticed
        verdict = "noticed" if noticed else "NOT NOTICED"
        print(f"{verdict}: {change.file}:{change.line}:{change.column} {change.old} -> {change.new}", flush=True)
    print(f"{len(sample) - missed} of {len(sample)} noticed")
    return int(10 * missed > len(sample))


if __name__ == "__main__":
    sys.exit(main())
