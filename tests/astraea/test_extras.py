"""An installation without extras: what works, and the errors of the rest."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from places import ROOT
from processes import run
from tiny_trace import OWN, TINY, command

OPTIONAL = (
    "dask", "distributed", "jinja2", "matplotlib", "pooch", "pyarrow", "requests", "scipy", "sklearn",
)  # fmt: skip
"""Modules of the extras."""

BESIDE = ("highspy", "ipykernel", "IPython", "jupyter_client", "papermill", "PIL", "papers", "seaborn")
"""Modules of a checkout alone."""

WITHOUT = f"""
import importlib.metadata, sys

importlib.metadata.entry_points = lambda **asked: () if asked else dict()

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {(*OPTIONAL, *BESIDE)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""

SWEEP = """
import astraea
trace = astraea.synthesize("venus").head(50)
assert len(astraea.sweep(trace, astraea.Cluster(10), "fifo", cache="cache", progress=False)) == 1
"""



def without(code: str, *arguments: str, folder: Path) -> str:
    """Run code in a folder where a small trace is, with the core only; return what it printed."""
    (folder / "jobs.csv").write_text(TINY)
    return run(sys.executable, "-c", WITHOUT + code, *arguments, cwd=folder, env={"PYTHONPATH": str(ROOT)}).stdout


def test_the_core_needs_no_extra(tmp_path: Path) -> None:
    simulate, sweep = (command(Path("jobs.csv"), name=name) for name in ("simulate", "sweep"))
    commands = f"""
from astraea.cli.main import main
for arguments in ({simulate}, {sweep}, ["data", "list"]):
    assert main(arguments) == 0
"""
    without(OWN + SWEEP + commands, folder=tmp_path)


LACKING = (
    ("learn", [*command(Path("jobs.csv")), "--policy", "allox", "--estimator", "noisy", "--estimate-error", "1"]),
    ("learn", ["leaderboard", "jobs.csv", "--cache", "c"]),
    ("data", ["data", "fetch", "philly-vcs"]),
    ("dask", ["sweep", "venus", "--nodes=9", "--backend=dask", "--scheduler=tcp://127.0.0.1:9", "--cache", "c"]),
)
"""An extra, and a command that needs it."""

TELL = """
import contextlib, io, json
from astraea.cli.main import main
told = []
for extra, arguments in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(arguments)
    told.append((extra, code, said.getvalue()))
print(json.dumps(told))
"""


def test_who_lacks_an_extra_is_told_which(tmp_path: Path) -> None:
    told = json.loads(without(TELL, json.dumps(LACKING), folder=tmp_path))
    for extra, code, said in told:
        last = said.splitlines()[-1]
        expected = f"is not installed; install it with: pip install 'astraea[{extra}]'"
        assert code == 2 and "Traceback" not in said
        assert last.startswith("astraea: ") and last.endswith(expected)
    assert len(told) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["jobs.csv"]


@pytest.mark.parametrize("arguments", [
    ["audit", "jobs.csv"], ["live", "--dry-run"], ["wait", "gpus=1"],
    ["simulate", "venus", "--policy", "kai"], ["describe", "jobs.csv", "--format", "slurm"],
])  # fmt: skip
def test_a_part_of_the_other_package_says_what_to_install(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(TINY)
    code = WITHOUT + "from astraea.cli.main import main\nsys.exit(main(sys.argv[1:]))"
    done = run(sys.executable, "-c", code, *arguments, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, check=False)
    assert done.returncode == 2 and done.stderr.startswith("astraea: ")
    assert "is part of the package astraea-ops, which is not installed; install it with: pip install" in done.stderr
