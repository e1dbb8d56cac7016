"""The commands that show, fetch and draw, and the program as a process: Ctrl-C, a closed pipe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from places import ROOT
from processes import ASTRAEA, run, started, wait_until
from tiny_trace import TINY, command

import astraea
from astraea.cli.main import app, main
from astraea.cluster.policies import POLICIES
from astraea.cluster.settings import Settings
from astraea.experiments.cache import read_entry
from astraea.traces.sources import SOURCES


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.csv"
    path.write_text(TINY)
    return path


def test_describe_prints_what_was_read(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", str(tiny), "--time-unit", "s"]) == 0
    assert "tiny: 3 jobs of 1 tenants" in capsys.readouterr().out


def test_policies_lists_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies"]) == 0
    text = capsys.readouterr().out
    assert main(["policies", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert list(listed["policies"]) == list(POLICIES)
    for name, policy in POLICIES.items():
        assert f"{name}: {policy.source}" in text
        about = listed["policies"][name]["parameters"]
        assert {k: v["default"] for k, v in about.items()} == policy.as_text
        assert all(v["meaning"] for v in about.values())
    assert set(listed["settings"]) == set(Settings.__dataclass_fields__)
    assert "restart_overhead" in text


def test_data_lists_and_fetches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["data", "list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(SOURCES)
    fetched: list[str] = []

    def fetch(name: str, folder: Path) -> Path:
        fetched.append(name)
        return folder / name

    monkeypatch.setattr("astraea.traces.download.fetch", fetch)
    assert main(["data", "fetch", "helios", "--folder", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'helios'}\n"
    assert main(["data", "fetch"]) == 0
    assert fetched == ["helios", *(name for name in SOURCES if name != "philly")]


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"astraea {astraea.__version__}\n"
    for argv in ([], *([name] for name in app.commands), ["data", "fetch"], ["data", "list"]):
        assert main([*argv, "--help"]) == 0
        assert "Usage: astraea" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "heavy"),
    [
        (["--help"], ("numpy", "pandas", "numba", "matplotlib", "sklearn", "scipy", "joblib")),
        (["policies"], ("pandas", "matplotlib", "sklearn", "scipy.linalg", "joblib")),
    ],
)
def test_a_command_imports_no_more_than_it_needs(argv: list[str], heavy: tuple[str, ...]) -> None:
    code = f"import sys; from astraea.cli.main import main; assert main({argv}) == 0; print(*sys.modules, sep='\\n')"
    loaded = run(sys.executable, "-c", code, cwd=ROOT).stdout.split("\n")
    assert "astraea.cli.main" in loaded
    assert [name for name in heavy if name in loaded] == []


SHOW = """
from astraea.cli.main import main
for line in ("--help", "policies", "policies --json", "simulate --help", "live --help", "data --help"):
    main(line.split())
"""


@pytest.mark.exhaustive
def test_help_and_policies_are_the_same_without_docstrings() -> None:
    """Python drops them and assertions under ``-OO``."""
    bare, whole = (run(sys.executable, *options, "-c", SHOW) for options in (["-OO"], []))
    assert "s, length of a lease" in bare.stdout
    assert "Download workloads, or list what can be downloaded." in bare.stdout
    assert (bare.stdout, bare.stderr) == (whole.stdout, "")


def all_are_ready(process: subprocess.Popen[str], cache: Path) -> bool:
    """Whether something is computed, and no worker is just starting: Ctrl-C ends such a one with a traceback."""
    states = []
    with suppress(OSError):  # Linux alone tells them
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        states = [Path(f"/proc/{child}/status").read_text() for child in children]
    ignored = [int(line.split()[1], 16) for text in states for line in text.splitlines() if line.startswith("SigIgn")]
    return len(list(cache.glob("*.zip"))) >= 5 and all(bits >> signal.SIGINT - 1 & 1 for bits in ignored)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C reaches a group of processes only on POSIX systems")
def test_a_real_interrupt_ends_in_one_sentence(tiny: Path) -> None:
    cache, out = tiny.parent / "cache", tiny.parent / "grid.csv"
    terms = ",".join(map(str, range(60, 30_000, 100)))
    argv = command(tiny, "--param", f"lease_term={terms}", "--jobs", "2", name="sweep")
    argv += ["--cache", str(cache), "--out", str(out)]
    env = {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    with started(*ASTRAEA, *argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until(lambda: all_are_ready(process, cache), process)
        os.killpg(process.pid, signal.SIGINT)
        printed, err = process.communicate()
    # joblib's own tracker may say, after us, that it cleaned up a semaphore of a worker that was just being started
    others = ("resource_tracker", "warnings.warn", "simulating: ")
    said = [line for line in err.splitlines() if not any(other in line for other in others)]
    assert (process.returncode, printed, said) == (130, "", ["astraea: interrupted; nothing was left half written"])
    assert not out.exists()
    kept = list(cache.iterdir())
    assert len(kept) >= 5
    assert all(path.suffix == ".zip" and read_entry(cache, path.stem) is not None for path in kept)


@pytest.mark.skipif(os.name != "posix", reason="pipes close quietly only on POSIX systems")
def test_a_reader_that_has_enough_is_no_error() -> None:
    with started(*ASTRAEA, "policies", cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert (process.stderr.read(), process.wait()) == ("", 0)
