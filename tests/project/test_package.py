"""What is built of the package: complete, typed, and of use in an environment that has nothing else."""

from __future__ import annotations

import email
import importlib.util
import json
import os
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

import pytest
from live_cluster import LIVE
from places import ROOT
from pretended_slurm import pretend, queue_entry
from processes import python, run
from tiny_trace import OWN, TINY, command

import astraea

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
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", ROOT / ".ci" / "release.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def built(release: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """What a release builds of the checkout."""
    return Built(*release.build(ROOT, tmp_path_factory.mktemp("built")))


def test_what_is_built_passes_its_checks_and_is_typed(release: ModuleType, built: Built) -> None:
    assert release.check(*built, astraea.__version__, ROOT) == []
    (said,) = release.check(*built, "9.9", ROOT)
    assert "expected 9.9" in said
    with zipfile.ZipFile(built.wheel) as wheel:
        assert "astraea/py.typed" in wheel.namelist()
        (name,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
        about = email.message_from_bytes(wheel.read(name))
    assert "Typing :: Typed" in about.get_all("Classifier", [])
    # few packages are asked for by name
    always = [line for line in about.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert 0 < len(always) <= 12


def test_a_checkout_that_is_not_ready_is_refused(release: ModuleType, tmp_path: Path) -> None:
    run("git", "init", "-q", tmp_path)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0\n")
    (tmp_path / "CITATION.cff").write_text("a: b\nversion: 0.2.0\n")
    said = release.problems(tmp_path, "0.2.0")
    assert said == ["files are changed or new; commit them first", "CHANGELOG.md has no section 0.2.0"]
    assert "CITATION.cff names another version" in release.problems(tmp_path, "0.1.0")[1]


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
