"""What is built of the package: complete, typed, and of use in an environment that has nothing else."""

from __future__ import annotations

import email
import json
import os
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from live_states import LIVE
from own_policy import OWN
from places import ROOT
from pretended_slurm import pretend, queue_entry
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
import importlib.resources, json
import astraea
assert importlib.resources.files(astraea).joinpath("py.typed").is_file()
result = astraea.simulate(astraea.synthesize("venus").head(200), astraea.Cluster(nodes=10), "astraea")
print(json.dumps([astraea.__file__, len(result.jobs), *map(float, result.jobs["end_time"][:3])]))
"""

LARGEST: Final = 450e6
"""Of an installation without extras, compiled bytecode left out [B]."""

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


def environment(tmp_path: Path, version: str, wanted: str) -> Path:
    """Install something into an empty environment; return the folder of its commands, or skip without a network."""
    uv = Path(sys.executable).with_name("uv")
    if not uv.is_file():
        pytest.skip("no uv, which makes the environments, beside this Python")
    folder = tmp_path / "venv"
    run(uv, "venv", "--no-config", "--python", python(version), folder)
    install = (uv, "pip", "install", "--quiet", "--python", folder / "bin" / "python", wanted)
    done = run(*install, cwd=tmp_path, env={"PYTHONPATH": "", "VIRTUAL_ENV": ""}, check=False)
    if any(words in done.stderr for words in NO_NETWORK):
        pytest.skip(f"nothing can be downloaded here: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    return folder / "bin"


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", Built._fields)
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_it_works_where_nothing_else_is(version: str, kind: str, built: Built, tmp_path: Path) -> None:
    """The newest versions that its bounds allow, from an empty folder."""
    bin = environment(tmp_path, version, str(getattr(built, kind)))
    works_alone(bin, tmp_path)
    sizes = (p.stat().st_size for p in bin.parent.rglob("*") if p.is_file() and p.suffix != ".pyc")
    assert sum(sizes) < LARGEST


@pytest.mark.exhaustive
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_an_audit_needs_its_extra_and_nothing_else(version: str, built: Built, tmp_path: Path) -> None:
    bin = environment(tmp_path, version, f"astraea[audit] @ {built.wheel.as_uri()}")
    run(bin / "astraea", "audit", "venus", "--nodes", "100", "--out", "page", cwd=tmp_path, env=alone(tmp_path))
    assert (tmp_path / "page" / "index.html").is_file()


def test_few_packages_are_asked_for_by_name(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
        wanted = email.message_from_bytes(wheel.read(name)).get_all("Requires-Dist", [])
    always = [line for line in wanted if "extra ==" not in line]
    assert 0 < len(always) <= 12


def alone(tmp_path: Path) -> dict[str, str]:
    """Variables of a process that is to see nothing of the checkout and of the user's caches."""
    return {"PYTHONPATH": "", "VIRTUAL_ENV": "", "XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": ""}


def works_alone(bin: Path, tmp_path: Path) -> None:
    """Try what an administrator tries first, from an empty folder."""
    folder, env = tmp_path / "empty", alone(tmp_path)
    folder.mkdir()
    assert "Usage: astraea" in run(bin / "astraea", "--help", cwd=folder, env=env).stdout
    policies = run(bin / "astraea", "policies", cwd=folder, env=env).stdout
    assert all(name in policies for name in ("astraea", "tiresias-l", "yarn-cs"))
    where, *numbers = json.loads(run(bin / "python", "-W", "error", "-c", SMALL, cwd=folder, env=env).stdout)
    assert Path(where).is_relative_to(bin.parent)
    result = astraea.simulate(astraea.synthesize("venus").head(200), astraea.Cluster(nodes=10), "astraea")
    assert numbers == [len(result.jobs), *result.jobs["end_time"][:3]]
    (tmp_path / "own.py").write_text(OWN)
    run(bin / "python", tmp_path / "own.py", cwd=folder, env=env)
    assert "average JCT" in run(bin / "astraea", "simulate", "venus", "--nodes", "100", cwd=folder, env=env).stdout
    pretend(tmp_path / "slurm", [queue_entry(7, account="vision", gpus=8)])
    (tmp_path / "live.toml").write_text(LIVE)
    path = f"{tmp_path / 'slurm'}{os.pathsep}{os.environ['PATH']}"
    dry_run = ("live", "--config", tmp_path / "live.toml", "--dry-run")
    assert "release job 7" in run(bin / "astraea", *dry_run, cwd=folder, env=env | {"PATH": path}).stdout
    (tmp_path / "jobs.csv").write_text(TINY)
    summary = run(bin / "astraea", *command(tmp_path / "jobs.csv", "--json"), cwd=folder, env=env).stdout
    assert json.loads(summary)["jobs"] == 2  # that fit the cluster
    assert os.listdir(folder) == []
