"""What an installation without extras can do, and what it says of the rest."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from own_policy import OWN
from places import ROOT
from processes import run
from tiny_trace import TINY, command

OPTIONAL = ("dask", "distributed", "jinja2", "matplotlib", "pooch", "requests", "scipy", "seaborn", "sklearn")
"""What extras bring."""

BESIDE = ("highspy", "ipykernel", "IPython", "jupyter_client", "papermill", "PIL", "pyarrow", "papers")
"""What only a checkout has."""

WITHOUT = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {(*OPTIONAL, *BESIDE)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""

SERVICE = "import astraea.checkpoint, astraea.live.coordinator, astraea.live.status, astraea.cli.live"


def astraea_without(*arguments: str | Path, cwd: Path) -> tuple[int, str]:
    """Run `astraea`; return its exit code and what it said."""
    code = f"{WITHOUT}\nfrom astraea.cli.main import main\nsys.exit(main())"
    done = run(sys.executable, "-c", code, *arguments, cwd=cwd, env={"PYTHONPATH": str(ROOT)}, check=False)
    return done.returncode, done.stdout + done.stderr


SWEEP = """
import astraea
runs = [astraea.Run(astraea.synthesize("venus").head(50), astraea.Cluster(10), "fifo")]
assert len(astraea.run_grid(runs, cache="cache", progress=False)) == 1
"""


@pytest.mark.parametrize("code", [OWN, SWEEP, SERVICE], ids=["a policy of one's own", "a sweep", "live and checkpoint"])
def test_the_core_needs_no_extra(code: str, tmp_path: Path) -> None:
    run(sys.executable, "-c", WITHOUT + code, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)})


def test_a_policy_of_the_package_runs_and_help_is_shown(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(TINY)
    simulate, sweep = (command(Path("jobs.csv"), name=name) for name in ("simulate", "sweep"))
    code = f"""{WITHOUT}
from astraea.cli.main import main
for arguments in ({simulate}, {sweep}, ["data", "list"]):
    assert main(arguments) == 0
main(["audit", "--help"])
"""
    run(sys.executable, "-c", code, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)})


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        ("audit", ("audit", "venus", "--nodes", "9", "--out", "page")),
        ("learn", (*command(Path("jobs.csv")), "--policy", "allox", "--estimator", "noisy", "--estimate-error", "1")),
        ("data", ("data", "fetch", "philly-vcs")),
        ("dask", ("sweep", "venus", "--nodes", "9", "--backend", "dask", "--scheduler", "tcp://127.0.0.1:9",
                  "--cache", "cache")),
    ],
)  # fmt: skip
def test_who_lacks_an_extra_is_told_which(extra: str, arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(TINY)
    code, said = astraea_without(*arguments, cwd=tmp_path)
    assert code == 2 and "Traceback" not in said
    last = said.splitlines()[-1]
    assert last.startswith("astraea: ") and last.endswith(
        f"is not installed; install it with: pip install 'astraea[{extra}]'"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["jobs.csv"]
