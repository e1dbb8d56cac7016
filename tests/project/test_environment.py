"""The environment: one list of versions, a lock that is complete and neutral, and a Makefile that explains itself."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from nbval.plugin import get_sanitize_patterns
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from places import ROOT
from processes import run

INTEL_MAC = {"sys_platform": "darwin", "platform_machine": "x86_64", "python_full_version": "3.13.0"}
LINUX = {"sys_platform": "linux", "platform_machine": "x86_64", "os_name": "posix", "python_full_version": "3.11.4"}

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
NO_MAKE = dict.fromkeys(("MAKEFLAGS", "TRACE", "SCALE", "JOBS", "ONLY", "FORMATS", "BACKEND", "SCHEDULER"), "")
"""Settings of the `make` that started the tests are not for those that the tests start."""


def requirements(name: str, environment: dict[str, str]) -> dict[str, str]:
    """Versions that a requirements file pins in an environment."""
    text = (ROOT / name).read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    pins = {}
    for requirement in (Requirement(line.split(" --hash")[0]) for line in lines):
        if requirement.marker is None or requirement.marker.evaluate(environment):
            (specifier,) = requirement.specifier
            assert specifier.operator == "==", requirement
            pins[requirement.name] = specifier.version
    return pins


DIRECT, LOCK = (requirements(f"requirements.{kind}", LINUX) for kind in ("in", "lock"))


def test_every_list_has_the_same_pins() -> None:
    assert DIRECT.items() <= LOCK.items()
    assert requirements("requirements.in", INTEL_MAC).items() <= requirements("requirements.lock", INTEL_MAC).items()
    lines = (ROOT / "environment.yml").read_text().splitlines()
    conda = dict(line.strip("- ").split("=", 1) for line in lines if re.match(r"  - [a-z0-9_-]+=[^=]", line))
    assert {canonicalize_name(name): pin for name, pin in conda.items()} == DIRECT
    # Binder has a copy: it takes files one by one, so a link would lead nowhere
    assert (ROOT / ".binder" / "environment.yml").read_bytes() == (ROOT / "environment.yml").read_bytes()
    assert os.access(ROOT / ".binder" / "postBuild", os.X_OK)


def test_bounds_allow_the_pins_and_no_other_private_interface() -> None:
    groups = (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    wanted = [Requirement(text) for group in groups for text in group]
    assert {r.name for r in wanted} <= set(DIRECT)
    assert [str(r) for r in wanted if not r.specifier.contains(LOCK[r.name])] == []
    bounds = {r.name: r.specifier for r in wanted}
    for name, path, words in (
        ("numba", "astraea/core/compilation.py", "from numba.core import cgutils"),
        ("joblib", "astraea/experiments/cache.py", "from joblib.externals.loky"),
    ):
        pin = Version(LOCK[name])
        assert not bounds[name].contains(f"{pin.major}.{pin.minor + 1}" if pin.major == 0 else f"{pin.major + 1}")
        assert words in (ROOT / path).read_text(encoding="utf-8")  # or it needs no upper bound


def test_lock_has_hashes_for_everything_and_names_no_place() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    entries = re.split(r"\n(?=[a-z0-9])", lock)[1:]
    assert len(entries) > 100
    for entry in entries:
        assert re.match(r"[a-z0-9._-]+==\S+( ; .+)? \\\n( +--hash=sha256:[0-9a-f]{64}( \\)?\n)+", entry), entry[:80]
    assert "://" not in lock
    assert not re.search(r"^\s*-(?!-hash=)|^\s*[^#\s].* @ ", lock, re.MULTILINE)


def test_container_and_workflows_have_every_python_that_is_supported() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    tag = re.search(r"^FROM python:(\d+\.\d+)-slim$", dockerfile, re.MULTILINE)
    assert tag is not None
    # a tag of two parts is the newest of its patches
    assert SpecifierSet(PROJECT["requires-python"]).contains(f"{tag[1]}.99")
    assert "\nRUN make .venv/.stamp\n" in dockerfile
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))["jobs"]
    pythons = jobs["test"]["strategy"]["matrix"]["python"]
    assert pythons == [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert PROJECT["requires-python"].startswith(f">={pythons[0]}.")


def test_the_container_is_not_given_what_git_ignores() -> None:
    def names(file: str) -> set[str]:
        lines = (ROOT / file).read_text().splitlines()
        return {line.removeprefix("**/").rstrip("/") for line in lines if line and line[0] not in "#!"}

    ours = {name for name in names(".gitignore") if not name.startswith("notebooks/")}
    assert names(".dockerignore") - {".git"} == ours


def test_no_registry_is_named() -> None:
    names = (("pypi", "org"), ("pythonhosted", "org"), ("anaconda", "org"), ("anaconda", "com"), ("pytorch", "org"))
    hosts = [".".join(name) for name in names]
    listed = run("git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard", check=False)
    if listed.returncode:
        pytest.skip("not a git checkout: the tracked files are not known")
    files = [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    assert len(files) > 20
    assert [f"{path}: {host}" for path in files for host in hosts if host.encode() in path.read_bytes()] == []


def test_help_lists_every_target() -> None:
    targets = re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE)
    assert f"\n.PHONY: {' '.join(targets)}\n" in MAKEFILE
    lines = [line.split() for line in run("make", "-C", ROOT, "--no-print-directory", env=NO_MAKE).stdout.splitlines()]
    assert [line[1] for line in lines] == targets
    assert all(line[0] == "make" and len(line) > 2 for line in lines)


def test_trace_with_spaces_and_quotes_reaches_the_notebook_and_makes_it_stale(tmp_path: Path) -> None:
    folder = tmp_path / "a clone"
    for name in (".venv/bin", "ops", "notebooks", "astraea", "papers/charts", "papers/ye2022", "data"):
        (folder / name).mkdir(parents=True)
    for name in ("Makefile", "requirements.lock", "pyproject.toml", "ops/pyproject.toml", "bootstrap.sh"):
        (folder / name).write_bytes((ROOT / name).read_bytes())
    (folder / "notebooks" / "05_efficiency.ipynb").touch()
    # shows its arguments, and makes the last of them, the output
    (folder / ".venv" / "bin" / "papermill").write_text(
        '#!/bin/sh\nfor last; do :; done; touch "$last"; printf "[%s]" "$@"\n'
    )
    (folder / ".venv" / "bin" / "python").write_text("#!/bin/sh\n")
    for name in ("papermill", "python"):
        (folder / ".venv" / "bin" / name).chmod(0o755)
    (folder / ".venv" / ".stamp").touch()
    make = ("make", "-C", folder, "--no-print-directory", "figures", "ONLY=05", "SCALE=small")
    log = tmp_path / """my "own" trace's log.csv"""
    log.touch()
    shown = run(*make, f"TRACE={log}", env=NO_MAKE).stdout
    assert f"[-p][TRACE][{log}][-p][SEEDS][2]" in shown
    assert "[TRACE]" not in run(*make, f"TRACE={log}", env=NO_MAKE).stdout  # nothing is new
    os.utime(log, (2e9, 2e9))
    assert "[TRACE]" in run(*make, f"TRACE={log}", env=NO_MAKE).stdout
    both = run(*make, env=NO_MAKE).stdout
    assert "[-p][TRACE][venus]" in both and "[-p][TRACE][philly]" in both


def test_old_python_is_refused_in_one_sentence(tmp_path: Path) -> None:
    old = tmp_path / "old-python"
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && echo Python 3.10.13\nexit 1\n')
    old.chmod(0o755)
    venv = tmp_path / "venv"
    done = run(ROOT / "bootstrap.sh", old, venv, check=False)
    assert done.returncode == 1 and not venv.exists()
    assert done.stderr.count("\n") == 1
    assert f"Astraea needs Python 3.11.4 or newer, and {old} is 3.10.13; name another one" in done.stderr


SANITIZED = {
    "100%|██████████| 3/3 [00:00<00:00, 12.31it/s]": " 33%|███▎      | 1/3 [00:01<00:02, 1.20s/it]",
    "12it [00:03, 3.70it/s]": "15it [00:02, 5.10it/s]",
    "<function f at 0x7f12ab34cd56>": "<function f at 0x10f2ab34c>",
    "<Figure size 640x480 with 1 Axes>": "<Figure size 700x300 with 2 Axes>",
    "/home/a/x y/.venv/lib/python3.11/site-packages/b/c.py:7: W": "/opt/v/lib/python3.13/site-packages/b/c.py:7: W",
    "CPU times: user 1.2 s, sys: 3 ms, total: 1.2 s": "CPU times: user 2.5 s, sys: 1 ms, total: 2.5 s",
    "simulated in 0.41 s elapsed": "simulated in 1.3 s elapsed",
    'src="data:image/webp;base64,UklG+/=="': 'src="data:image/webp;base64,UklGRw0"',
    "made 2026-01-02 03:04:05": "made 2027-11-12T13:14:15.123Z",
}


def test_sanitizing_hides_what_differs_and_keeps_results() -> None:
    def sanitize(text: str) -> str:
        for pattern, replacement in get_sanitize_patterns((ROOT / ".nbval-sanitize.cfg").read_text()):
            text = re.sub(pattern, replacement, text)
        return text

    assert [stored for stored, fresh in SANITIZED.items() if sanitize(stored) != sanitize(fresh)] == []
    results = "average JCT 8231.5 s, sharing loss 3.2 %, 900 s lease, 11304 jobs"
    assert sanitize(results) == results
