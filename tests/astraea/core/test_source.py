"""Digests of source code change with the code that a module can reach, and with nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from processes import python, run

from astraea.core import origins, source
from astraea.core.errors import InputError

FILES = {
    "pyproject.toml": "",
    "astraea/__init__.py": """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from astraea.b import double
def __getattr__(name): ...
""",
    "astraea/a.py": """
from astraea.b import double
from astraea import far
TABLE = 'table.toml'
top = double(far.x)
""",
    "astraea/b.py": '"""B."""\nimport numpy as np\n\ndef double(x):\n    """Twice."""\n    return 2 * x  # twice\n',
    "astraea/far.py": "def x():\n    from astraea.inside import deep\n    return deep\n",
    "astraea/inside/__init__.py": "from scipy import linalg\n",
    "astraea/inside/deep.py": "y = 1\n",
    "astraea/table.toml": "z = 1\n",
    "astraea/other.toml": "z = 1\n",
    "astraea/apart.py": "from astraea.a import top\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small project in place of this one."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(source, "ROOT", tmp_path)
    monkeypatch.setattr(source, "_PROJECT", {"astraea"})
    yield tmp_path
    forget()


def forget() -> None:
    source.of_module.cache_clear()
    source._lazy_names.cache_clear()


def digest(module: str = "astraea.a") -> str:
    forget()
    return source.of_module(module).digest


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


EDITS: dict[str, tuple[bool, str, str, str]] = {
    "the module": (True, "a.py", "double(far.x)", "double(3)"),
    "what it imports": (True, "b.py", "2 * x", "3 * x"),
    "what a function imports": (True, "inside/deep.py", "y = 1", "y = 2"),
    "data that it names": (True, "table.toml", "z = 1", "z = 2"),
    "a default": (True, "b.py", "(x)", "(x=1)"),
    "an annotation": (True, "b.py", "(x)", "(x: int)"),
    "a library": (True, "b.py", "import numpy", "import math"),
    "where a name comes from": (True, "a.py", "astraea.b import double", "astraea.far import x as double"),
    "a comment": (False, "b.py", "# twice", "# double"),
    "a docstring": (False, "b.py", '"""Twice."""', '"""The double."""'),
    "space": (False, "b.py", "import numpy as np\n\n", "import numpy as np\n\n\n\n"),
    "a module that it does not reach": (False, "apart.py", "top", "TABLE"),
    "data that it does not name": (False, "other.toml", "z = 1", "z = 2"),
    "the package of a module that it reaches": (False, "inside/__init__.py", "linalg", "special"),
    "the face of the package": (False, "__init__.py", "...", "return name"),
}


@pytest.mark.parametrize("change", EDITS)
def test_what_moves_a_digest(project: Path, change: str) -> None:
    moves, name, before, after = EDITS[change]
    old = digest()
    edit(project / "astraea" / name, before, after)
    assert (digest() != old) == moves
    edit(project / "astraea" / name, after, before)
    assert digest() == old


def test_moved_files_move_no_digest(project: Path) -> None:
    old = digest()
    (project / "astraea" / "room").mkdir()
    (project / "astraea" / "b.py").rename(project / "astraea" / "room" / "b.py")
    edit(project / "astraea" / "a.py", "astraea.b", "astraea.room.b")
    assert digest() == old


def test_what_is_found(project: Path) -> None:
    found = source.of_module("astraea.a")
    names = {path.relative_to(project / "astraea").as_posix() for path in found.files}
    assert names == {"a.py", "b.py", "far.py", "inside/deep.py", "table.toml"}
    assert found.libraries == {"numpy"}


def test_text_may_take_names_from_the_face(project: Path) -> None:
    whole, one, other = (
        source.of_text(text)
        for text in ("import astraea\nastraea.double", "from astraea import double", "from astraea import far")
    )
    assert {path.name for path in whole.files} == {path.name for path in one.files} == {"b.py"}
    assert {path.name for path in other.files} == {"far.py", "deep.py"}


def test_imports_in_a_circle_are_refused(project: Path) -> None:
    edit(project / "astraea" / "b.py", "import numpy as np", "from astraea.apart import top")
    with pytest.raises(RuntimeError, match=r"a -> astraea\.b -> astraea\.apart -> astraea\.a"):
        digest()


def test_every_module_of_the_project_has_a_digest() -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for top in ("astraea", "papers", "verification") for path in sorted((ROOT / top).rglob("*.py"))
    ]  # fmt: skip
    found = {name: source.of_module(name.removesuffix(".__init__")) for name in modules}
    assert len(found) > 200
    for name, one in found.items():
        assert source._file(name.removesuffix(".__init__")) in one.files


def test_only_a_change_of_a_file_since_the_start_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = source.of_module("astraea.a").files
    newest = max(path.stat().st_ctime for path in files)
    monkeypatch.setattr(source, "STARTED", newest)
    source.refuse_changes(files)
    monkeypatch.setattr(source, "STARTED", newest - 1)
    with pytest.raises(InputError, match=r"^astraea/.* changed while this process ran, .* start it again"):
        source.refuse_changes(files)
    (project / "astraea" / "b.py").unlink()
    monkeypatch.setattr(source, "STARTED", newest)
    with pytest.raises(InputError, match=r"^astraea/b\.py changed"):
        source.refuse_changes(files)


def test_files_below_a_link_are_those_of_the_project(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path_factory.mktemp("elsewhere") / "link"
    link.symlink_to(project, target_is_directory=True)
    digest()
    assert source.of_file(link / "astraea" / "a.py") == source.of_module("astraea.a")
    assert source.of_file(link / "pyproject.toml") is source.of_file(link.parent / "a.py") is None
    monkeypatch.chdir(project / "astraea")  # a cell is no file of the folder that it runs in
    assert source.of_file(Path("<cell>")) is source.of_file(Path()) is None


def test_an_installed_project_is_no_package_with_a_version(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = project / "site-packages"
    installed.mkdir()
    (project / "astraea").rename(installed / "astraea")
    monkeypatch.setattr(source, "ROOT", installed)
    scope: dict[str, Any] = {}
    exec(compile("def double(): pass", str(installed / "astraea" / "b.py"), "exec"), scope)
    assert origins.owner(scope["double"]) is None
    assert origins.of_project(scope["double"]) == source.of_module("astraea.b")


OTHERS = [f"3.{minor}" for minor in range(11, 15) if minor != sys.version_info.minor]


@pytest.mark.parametrize("version", OTHERS)
@pytest.mark.exhaustive
def test_digests_are_the_same_under_every_python(version: str) -> None:
    """The committed record of figures is compared under all of them."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from astraea.core import source\n"
        "print(source.of_module('papers.running.figures').digest)"
    )
    done = run(python(version), "-I", "-B", "-c", code, ROOT)
    assert done.stdout.strip() == digest("papers.running.figures")
