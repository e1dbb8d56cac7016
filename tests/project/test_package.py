"""The built package: complete, typed, and usable in an environment that has nothing else."""

from __future__ import annotations

import email
import json
import os
import re
import runpy
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from live_cluster import LIVE
from places import OPS, ROOT
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

RELEASE = SimpleNamespace(**runpy.run_path(str(ROOT / ".ci" / "release.py")))
NO_NETWORK = ("dns error", "error sending request", "Connection refused", "Network is unreachable", "Could not connect")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the source distribution of the package that a release builds of the checkout."""
    return RELEASE.build(ROOT, tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same of the package for one's own cluster."""
    return RELEASE.build(ROOT, tmp_path_factory.mktemp("ops"), "astraea_ops")


def test_what_is_built_passes_its_checks_and_is_typed(built: tuple[Path, Path], ops: tuple[Path, Path]) -> None:
    assert RELEASE.check(*built, astraea.__version__, ROOT) == []
    assert RELEASE.check(*ops, astraea.__version__, ROOT) == []
    (said,) = RELEASE.check(*built, "9.9", ROOT)
    assert "expected 9.9" in said
    with zipfile.ZipFile(built[0]) as wheel:
        assert "astraea/py.typed" in wheel.namelist()
        (name,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
        about = email.message_from_bytes(wheel.read(name))
    assert "Typing :: Typed" in about.get_all("Classifier", [])
    # few packages are asked for by name
    always = [line for line in about.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert 0 < len(always) <= 12


def test_versions_agree() -> None:
    newest = re.search(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None and newest[1] == astraea.__version__
    assert f"\nversion: {newest[1]}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_a_checkout_that_is_not_ready_is_refused(tmp_path: Path) -> None:
    run("git", "init", "-q", tmp_path)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0\n")
    (tmp_path / "CITATION.cff").write_text("a: b\nversion: 0.2.0\n")
    (tmp_path / "ops" / "astraea_ops").mkdir(parents=True)
    (tmp_path / "ops" / "astraea_ops" / "__init__.py").write_text('__version__ = "0.2.0"\n')
    changed = "files are changed or new; commit them first"
    assert RELEASE.problems(tmp_path, "0.2.0") == [changed, "CHANGELOG.md has no section 0.2.0"]
    assert RELEASE.problems(tmp_path, "0.1.0") == [
        changed, "astraea_ops has another version than 0.1.0", "CITATION.cff names another version than 0.1.0"
    ]  # fmt: skip


def environment(tmp_path: Path, version: str, *wanted: str) -> Path:
    """Install something into an empty environment; return the folder of its commands, or skip without a network."""
    uv = Path(sys.executable).with_name("uv")
    if not uv.is_file():
        pytest.skip("no uv, which makes the environments, beside this Python")
    folder = tmp_path / "venv"
    run(uv, "venv", "--no-config", "--python", python(version), folder)
    install = (uv, "pip", "install", "--quiet", "--python", folder / "bin" / "python", *wanted)
    done = run(*install, cwd=tmp_path, env={"PYTHONPATH": "", "VIRTUAL_ENV": ""}, check=False)
    if any(words in done.stderr for words in NO_NETWORK):
        pytest.skip(f"nothing can be downloaded here: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    return folder / "bin"


def alone(tmp_path: Path) -> dict[str, str]:
    """Environment of a process that must not see the checkout or the user's caches."""
    return {"PYTHONPATH": "", "VIRTUAL_ENV": "", "XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": ""}


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_it_works_where_nothing_else_is(version: str, kind: str, built: tuple[Path, Path], tmp_path: Path) -> None:
    """The first steps of an administrator, from an empty folder, with the newest versions that the bounds allow."""
    wheel, sdist = built
    bin = environment(tmp_path, version, str(wheel if kind == "wheel" else sdist))
    sizes = (path.stat().st_size for path in bin.parent.rglob("*") if path.is_file() and path.suffix != ".pyc")
    assert sum(sizes) < 450e6  # without extras and compiled bytecode [B]
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
    (tmp_path / "jobs.csv").write_text(TINY)
    summary = run(bin / "astraea", *command(tmp_path / "jobs.csv", "--json"), cwd=folder, env=env).stdout
    assert json.loads(summary)["jobs"] == 2  # that fit the cluster
    assert os.listdir(folder) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("version", ["3.11", "3.13"])
def test_your_own_cluster_works_where_nothing_else_is(
    version: str, built: tuple[Path, Path], ops: tuple[Path, Path], tmp_path: Path
) -> None:
    bin, env = environment(tmp_path, version, f"astraea @ {built[0].as_uri()}", str(ops[0])), alone(tmp_path)
    log = OPS / "tests" / "data" / "slurm" / "short_jobs.txt"
    run(bin / "astraea", "audit", log, "--nodes", "4", "--out", "page", cwd=tmp_path, env=env)
    assert (tmp_path / "page" / "index.html").is_file()
    pretend(tmp_path / "slurm", [queue_entry(7, account="vision", gpus=8)])
    (tmp_path / "live.toml").write_text(LIVE)
    path = f"{tmp_path / 'slurm'}{os.pathsep}{os.environ['PATH']}"
    dry_run = ("live", "--config", tmp_path / "live.toml", "--dry-run")
    assert "release job 7" in run(bin / "astraea", *dry_run, cwd=tmp_path, env=env | {"PATH": path}).stdout
