"""Bad input to the other commands, and trouble with disk, memory and Ctrl-C: a sentence, nothing half written."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from shell import RUN, S, clean, refused, write_files

from astraea.cli.main import main
from astraea.core.errors import PolicyError


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with one good trace and many bad ones."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    return tmp_path


CELL = ["good.csv", *S, "--nodes", "1", "--cache", "cache"]


OTHERS: dict[str, tuple[list[str], list[str]]] = {
    "no command": ([], ["Missing command"]),
    "unknown command": (["simulat"], ["No such command 'simulat'"]),
    "sweep, no seeds": (["sweep", *CELL, "--seeds", "0"], ["--seeds must be at least 1, got 0"]),
    "sweep, nodes": (["sweep", *CELL[:3], "--nodes", "1,,2"], ["'--nodes': expected a whole number", "''"]),
    "sweep, policy": (["sweep", *CELL, "--policies", "fifo,lotto"], ["policy must be one of", "got 'lotto'"]),
    "sweep, empty parameter": (["sweep", *CELL, "--param", "lease_term="], ["expected NAME=VALUE", "'lease_term='"]),
    "sweep, lease": (
        ["sweep", *CELL, "--param", "lease_term=5", "--jobs", "1"],
        ["trace good, 1 x 8 GPUs, policy astraea (lease_term=5", "seed 0", "scheduling interval"],
    ),
    "sweep, backend": (["sweep", *CELL, "--backend", "ray"], ["backend must be one of loky, dask, got 'ray'"]),
    "sweep, no scheduler": (["sweep", *CELL, "--backend", "dask"], ["needs the address of a scheduler"]),
    "sweep, scheduler": (["sweep", *CELL, "--scheduler", "x"], ["only the dask backend takes a scheduler"]),
    "sweep, out": (["sweep", *CELL, "--out", "none/grid.csv"], ["none/grid.csv: --out must be a file"]),
    "sweep, cache": (["sweep", *CELL[:-1], "file", "--jobs", "1"], ["file"]),
    "lease-term, policy": (["lease-term", *CELL, "--policy", "fifo"], ["policy fifo does not preempt"]),
    "lease-term, terms": (["lease-term", *CELL, "--terms", "60,soon"], ["'--terms': expected", "'soon'"]),
    "lease-term, parameter": (["lease-term", *CELL, "--param", "lease_term=60"], ["with --terms"]),
    "describe": (["describe", "none.csv"], ["none.csv: there is no such file or folder"]),
    "fetch": (["data", "fetch", "borealis"], ["unknown workload 'borealis'"]),
    "data": (["data"], ["Missing command"]),
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_commands(case: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv, says = OTHERS[case]
    refused(argv, capsys, *says)
    clean(here)


def full_disk(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def no_permission(*_: Any, **__: Any) -> None:
    raise PermissionError(errno.EACCES, "Permission denied")


def ctrl_c(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def no_memory(*_: Any, **__: Any) -> None:
    raise MemoryError


def broken(*_: Any, **__: Any) -> None:
    raise PolicyError("policy p, at 10 s: granted job 'x' twice in one round")


GOOD_RUN = ["simulate", "good.csv", *S, *RUN, "--out", "out"]


TROUBLE: dict[str, tuple[str, Callable[..., None], int, str]] = {
    "no disk space for a table": ("pandas.DataFrame.to_csv", full_disk, 2, "out: no space left on the disk"),
    "a folder that is read-only": ("tempfile.mkdtemp", no_permission, 2, "out: cannot be written (Permission denied)"),
    "a trace that cannot be read": ("pathlib.Path.open", no_permission, 2, "good.csv: cannot be read"),
    "Ctrl-C while reading": ("astraea.traces.named.read_trace", ctrl_c, 130, "interrupted"),
    "Ctrl-C while simulating": ("astraea.cluster.simulation.new_state", ctrl_c, 130, "interrupted"),
    "Ctrl-C while writing": ("pandas.DataFrame.to_csv", ctrl_c, 130, "interrupted"),
    "no memory": ("astraea.cluster.simulation.new_state", no_memory, 2, "not enough memory"),
    "a policy that breaks a rule": ("astraea.cluster.simulation.new_state", broken, 2, "granted job 'x' twice"),
}


@pytest.mark.parametrize("case", TROUBLE)
def test_trouble(case: str, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    place, trouble, code, says = TROUBLE[case]
    monkeypatch.setattr(place, trouble)
    refused(GOOD_RUN, capsys, says, code=code)
    monkeypatch.undo()
    clean(here)


def test_trouble_leaves_older_results_alone(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = here / "out"
    assert main(GOOD_RUN) == 0
    capsys.readouterr()
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    calls: list[int] = []
    to_csv = pd.DataFrame.to_csv

    def second_fails(*args: Any, **options: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            full_disk()
        to_csv(*args, **options)

    monkeypatch.setattr(pd.DataFrame, "to_csv", second_fails)
    refused([*GOOD_RUN, "--param", "lease_term=50"], capsys, "no space left on the disk")
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("trouble", "code", "says"), [(full_disk, 2, "cannot be written"), (ctrl_c, 130, "interrupted")]
)
def test_trouble_in_a_sweep(
    trouble: Callable[..., None], code: int, says: str, here: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = ["sweep", *CELL, "--param", "lease_term=60,70", "--jobs", "1", "--out", "out"]
    monkeypatch.setattr("os.replace", trouble)
    refused(argv, capsys, says, code=code)
    monkeypatch.undo()
    clean(here)
    assert list((here / "cache").iterdir()) == []
