"""Compiled functions are cached by their source: no edit leaves old machine code in use."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import TypingError
from places import ROOT
from processes import run

from astraea.core import compilation
from astraea.core.compilation import borrowed, compiled, inlined, records_in, with_scalars

PROBE = """
from astraea.core.compilation import compiled
from papers.market.model import NEARLY


@compiled
def nearly():
    return NEARLY
"""
ASK = (
    "from papers.market.probe import nearly\n"
    "print(nearly(), sum(nearly.stats.cache_hits.values()), nearly.stats.cache_path)"
)


def edit(path: Path, before: str, after: str) -> None:
    text, count = re.subn(before, after, path.read_text())
    assert count == 1
    path.write_text(text)


@pytest.mark.exhaustive
def test_what_decides_whether_machine_code_is_still_good(tmp_path: Path) -> None:
    """A copy of the packages, with a compiled function beside the market's that freezes a constant of `model`."""
    for name in ("astraea", "papers"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    papers = tmp_path / "papers"
    (papers / "market" / "probe.py").write_text(PROBE)
    places = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
    where = {**places, "NUMBA_DISABLE_JIT": "0", "PYTHONDONTWRITEBYTECODE": "1"}

    def ask() -> list[str]:
        """The function's result in a process of its own, how often it was found compiled, and its folder."""
        return run(sys.executable, "-c", ASK, env=where, cwd=tmp_path).stdout.split()

    value, hits, folder = ask()
    assert (value, hits) == ("1e-09", "0")
    edit(papers / "market" / "model.py", r"NEARLY: Final = 1e-9", "NEARLY: Final = 1e-3")
    changed, _, other = ask()
    assert changed == "0.001" and other != folder
    # back again, what was compiled for it is still there; what it cannot reach does not matter, nor does a comment
    edit(papers / "market" / "model.py", r"NEARLY: Final = 1e-3", "NEARLY: Final = 1e-9  # or so")
    for place in ("gavel", "claims", "running", "market"):
        (papers / place / "added.py").write_text("NOTHING = 0\n")
    assert ask() == ["1e-09", "1", folder]


def test_machine_code_that_nobody_uses_goes(tmp_path: Path) -> None:
    digest, month = "0123456789abcdef", compilation.MONTH
    old, new = tmp_path / f"old_one-{digest}", tmp_path / f"new-{digest}"
    theirs = [tmp_path / name for name in ("my-thesis", "run-2024", f"my work-{digest}")]
    for folder, age in ((old, month + 60), (new, month - 3600), *((folder, 2 * month) for folder in theirs)):
        folder.mkdir()
        os.utime(folder, (time.time() - age,) * 2)
    assert compilation._folder(tmp_path, new.name) == new  # it is used now
    assert old.exists() and time.time() - new.stat().st_mtime < month / 2
    added = compilation._folder(tmp_path, f"added-{digest}")
    assert {*tmp_path.iterdir()} == {new, added, *theirs}


PLACES = """
import sys, numba, tempfile
numba.config.CACHE_DIR, tempfile.mkdtemp = sys.argv[1], None
from astraea.cluster.policy import grant
assert numba.config.CACHE_DIR == sys.argv[1]
print(grant.stats.cache_path)
"""


def test_numba_keeps_what_users_compile_where_they_want(tmp_path: Path) -> None:
    """Our code is kept, also below a link, unless the folder cannot be written; numba's setting stays as before."""
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(ROOT, target_is_directory=True)
    ours = str(tmp_path / "folder" / "astraea" / "compiled")
    env = {"NUMBA_DISABLE_JIT": "0", "PYTHONPATH": str(tmp_path / "link")}
    code = f"import astraea; print(astraea.__file__){PLACES}"
    for folder, kept in ((tmp_path / "folder", ours), (tmp_path / "file", "None")):
        file, found = run(sys.executable, "-c", code, folder, cwd=tmp_path, env=env).stdout.split()
        assert file == str(tmp_path / "link" / "astraea" / "__init__.py")
        assert found.startswith(kept)


class Inner(NamedTuple):
    values: np.ndarray


class Outer(NamedTuple):
    inner: Inner
    count: np.ndarray


@inlined
def counted_sum(state: Outer) -> float:
    state.count[0] += 1
    return state.inner.values.sum() + len(state.count)


@compiled
def twice(outer: Outer) -> float:
    state = borrowed(outer)
    return counted_sum(state) + counted_sum(state)


def test_a_borrowed_state_is_the_state_itself() -> None:
    state = Outer(Inner(np.arange(4.0)), np.zeros(1, np.int64))
    for calls in (2, 4):
        assert twice(state) == 14.0
        assert state.count[0] == calls
    assert counted_sum(state) == 7.0  # from Python, too
    owned = np.arange(4.0)
    users = sys.getrefcount(owned)
    twice(Outer(Inner(owned), np.zeros(1, np.int64)))
    assert sys.getrefcount(owned) == users


@with_scalars
class Scene(NamedTuple):
    scalars: Any
    inner: Inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.scalars[0], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.scalars[0], name, value)


def scene() -> Scene:
    scalars = np.zeros(1, np.dtype([("good", bool), ("now", float), ("n", int)], align=True)).view(np.recarray)
    return Scene(scalars, Inner(np.arange(4.0)))


@inlined
def step(s: Scene) -> float:
    s.n += 1
    s.now = s.n  # a whole number
    s.good = s.now > 1
    return s.inner.values[s.n] + s.now


@compiled
def two_steps(handed: Scene) -> float:
    s = borrowed(handed)
    return step(s) + step(s)


def test_scalars_of_a_state_are_its_attributes() -> None:
    s = scene()
    assert two_steps(s) == 1 + 1 + 2 + 2
    assert (s.n, s.now, s.good) == (2, 2.0, True)
    s.n = 0
    assert step(s) == step.py_func(scene()) == 2.0
    assert s.scalars.tolist() == [(False, 1.0, 1)]
    with pytest.raises(AttributeError, match="nwo"):
        s.nwo = 1.0
    owned = s.scalars
    users = sys.getrefcount(owned)
    two_steps(s)
    assert sys.getrefcount(owned) == users


def test_a_scalar_that_is_not_there_is_named_with_its_line() -> None:
    @compiled
    def mistaken(s: Scene) -> None:
        s.nwo = 1.0

    with pytest.raises(TypingError, match=r"'nwo'"):
        mistaken(scene())


def test_a_field_that_is_not_there_is_named_with_its_line() -> None:
    @compiled
    def mistaken(outer: Outer) -> float:
        return borrowed(outer).inner.vaules.sum()

    with pytest.raises(TypingError, match=r"Unknown attribute 'vaules'"):
        mistaken(Outer(Inner(np.arange(4.0)), np.zeros(1, np.int64)))


KEPT = np.dtype([("n", int), ("hours", (float, 2)), ("seen", bool)], align=True)


@compiled
def note(memory: Any, j: int) -> float:
    kept = records_in(memory, KEPT)
    kept[j].n += 1
    kept[j].seen = True
    kept[j].hours[1] += 0.5
    return kept.n.sum() + len(kept)


def test_bytes_are_records() -> None:
    for function in (note, note.py_func):
        memory = np.zeros(3 * KEPT.itemsize, np.uint8).view(np.recarray)
        assert [function(memory, 1), function(memory, -1)] == [4, 5]
        assert records_in(memory, KEPT).n.tolist() == [0, 1, 1]
        assert records_in(memory, KEPT)[2].hours.tolist() == [0, 0.5]
        assert records_in(memory, KEPT).seen.tolist() == [False, True, True]
