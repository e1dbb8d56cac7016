"""What is built of the package: complete, typed, and of use in an environment that has nothing else."""

from __future__ import annotations

import email
import json
import os
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from places import ROOT
from processes import run
from pythons import python
from tiny_trace import TINY, command

import astraea

BUILD = """
import sys
from hatchling import build
print(build.build_wheel(sys.argv[1]))
print(build.build_sdist(sys.argv[1]))
"""

SMALL = """
import importlib.resources, json, sys
import astraea
assert importlib.resources.files(astraea).joinpath("py.typed").is_file()
result = astraea.simulate(astraea.synthesize("venus").head(200), astraea.Cluster(nodes=10), "astraea")
print(json.dumps([astraea.__file__, len(result.jobs), *map(float, result.jobs["end_time"][:3])]))
"""

NO_NETWORK = ("dns error", "error sending request", "Connection refused", "Network is unreachable", "Could not connect")


class Built(NamedTuple):
    """A wheel and a source distribution."""

    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """What is built of the checkout."""
    folder = tmp_path_factory.mktemp("built")
    wheel, sdist = run(sys.executable, "-c", BUILD, folder, cwd=ROOT).stdout.split()
    return Built(folder / wheel, folder / sdist)


def test_a_wheel_has_every_file_and_is_typed(built: Built) -> None:
    files = {p.relative_to(ROOT).as_posix() for p in (ROOT / "astraea").rglob("*") if p.is_file()}
    files = {name for name in files if "__pycache__" not in name}
    with zipfile.ZipFile(built.wheel) as wheel:
        names = wheel.namelist()
        (about,) = (email.message_from_bytes(wheel.read(name)) for name in names if name.endswith("/METADATA"))
    assert {name for name in names if ".dist-info/" not in name} == files
    assert "astraea/py.typed" in files
    assert "Typing :: Typed" in about.get_all("Classifier", [])
    assert about["Version"] == astraea.__version__


def test_a_source_distribution_has_every_file_of_the_wheel(built: Built) -> None:
    with tarfile.open(built.sdist) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    with zipfile.ZipFile(built.wheel) as wheel:
        assert {name for name in wheel.namelist() if ".dist-info/" not in name} <= names
    assert {"pyproject.toml", "README.md", "LICENSE", "LICENSE-text"} <= names


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", Built._fields)
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_it_works_where_nothing_else_is(version: str, kind: str, built: Built, tmp_path: Path) -> None:
    """The newest versions that its bounds allow, from an empty folder."""
    uv = Path(sys.executable).with_name("uv")
    if not uv.is_file():
        pytest.skip("no uv, which makes the environments, beside this Python")
    bin = tmp_path / "venv" / "bin"
    run(uv, "venv", "--no-config", "--python", python(version), tmp_path / "venv")
    place = {"PYTHONPATH": "", "VIRTUAL_ENV": "", "XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": ""}
    install = (uv, "pip", "install", "--quiet", "--python", bin / "python", getattr(built, kind))
    done = run(*install, cwd=tmp_path, check=False)
    if any(words in done.stderr for words in NO_NETWORK):
        pytest.skip(f"nothing can be downloaded here: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "empty"
    folder.mkdir()
    assert "Usage: astraea" in run(bin / "astraea", "--help", cwd=folder, env=place).stdout
    policies = run(bin / "astraea", "policies", cwd=folder, env=place).stdout
    assert all(name in policies for name in ("astraea", "tiresias-l", "yarn-cs"))
    where, *numbers = json.loads(run(bin / "python", "-W", "error", "-c", SMALL, cwd=folder, env=place).stdout)
    assert Path(where).is_relative_to(tmp_path / "venv")
    result = astraea.simulate(astraea.synthesize("venus").head(200), astraea.Cluster(nodes=10), "astraea")
    assert numbers == [len(result.jobs), *result.jobs["end_time"][:3]]
    assert os.listdir(folder) == []
    (tmp_path / "jobs.csv").write_text(TINY)
    summary = run(bin / "astraea", *command(tmp_path / "jobs.csv", "--json"), cwd=folder, env=place).stdout
    assert json.loads(summary)["jobs"] == 2  # that fit the cluster
