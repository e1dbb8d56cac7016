"""Bad input to commands, and trouble with disk, memory and Ctrl-C: one sentence, exit code 2, no partial files."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from shell import GOOD, clean, refused

from astraea.cli.main import main
from astraea.core.errors import PolicyError

FILES = {
    "good.csv": GOOD,
    "row.csv": GOOD.replace("2,a,2,5,200", "2,a,2x,5,200"),
    "shares.csv": "name,share\na,1\n",
    "memory.txt": "JobID|Account|Submit|Start|End|State|NodeList|AllocTRES\n1|a|2026-11-26T18:00:00|2026-11-26T18:00:01"
    "|2026-11-26T19:00:00|COMPLETED|n1|cpu=4,mem=65536,node=1\n",
    "file": "x",
    "list.json": "[3]",
    "half.json": '{"checkpoint_overhead": 1}',
    "nan.json": '{"checkpoint_overhead": NaN, "restart_overhead": 9}',
    "nine.json": '{"checkpoint_overhead": 1, "restart_overhead": 9}',
    "long.json": '{"checkpoint_overhead": 1, "restart_overhead": 3600}',
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with one good trace and many bad ones."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


UNIT = ["--time-unit", "s"]
NODES = ["--nodes", "1", "--gpus-per-node", "8"]
RUN = ["simulate", "good.csv", *UNIT, *NODES]
SWEEP = ["sweep", "good.csv", *UNIT, "--nodes", "1", "--jobs", "1", "--cache", "cache"]
TERM = ["lease-term", *SWEEP[1:]]
OUT = [*RUN, "--out", "out"]
RELEASED = [*RUN, "--policy", "astraea-released"]

BAD: dict[str, tuple[list[str], list[str]]] = {
    "an over-long name": (
        ["simulate", "x" * 300, *NODES, "--policy", "observed", "--out", "out"], ["xxx: File name too long"],
    ),
    "no command": ([], ["Missing command"]),
    "unknown command": (["simulat"], ["No such command 'simulat'"]),
    "bad row": (
        ["simulate", "row.csv", "--strict", *UNIT, *NODES],
        ["row.csv, line 3: num_gpu must be a whole number of GPUs from 0", 'got "2x"'],
    ),
    "a resource in fine pieces": (
        ["audit", "memory.txt", "--resource", "mem", "--out", "out"],
        ["--resource: a node has 65,536 of mem, expected at most 4,096"],
    ),
    "tenant without a share": (
        [*RUN, "--weights", "shares.csv"],
        ["good.csv, line 4", "'b' has no weight", "weights are given for a"],
    ),
    "shares of a synthetic trace": (["simulate", "venus", *NODES, "--weights", "shares.csv"], ["venus", "weights"]),
    "format of a synthetic trace": (["simulate", "venus", "--format", "gavel", *NODES], ["venus", "format"]),
    "unit not known": (
        ["simulate", "good.csv", *NODES],
        ["good.csv: the columns do not imply the unit", "ms, s, min"],
    ),
    "not downloaded": (
        ["simulate", "helios-earth", *NODES],
        ["helios-earth: not downloaded yet; run: astraea data fetch helios"],
    ),
    "0 nodes": ([*RUN[:4], "--nodes", "0"], ["nodes must be a whole number from 1 to 1000000, got 0"]),
    "no nodes": (RUN[:4], ["--nodes"]),
    "0 GPUs per node": ([*RUN[:-1], "0"], ["gpus_per_node must be", "got 0"]),
    "unknown policy": ([*RUN, "--policy", "lottery"], ["policy must be one of astraea", "got 'lottery'"]),
    "unknown parameter": ([*RUN, "--param", "lease=9"], ["unknown parameter 'lease'", "lease_term"]),
    "parameter without a value": ([*RUN, "--param", "interval"], ["expected NAME=VALUE", "'interval'"]),
    "NaN as parameter": ([*RUN, "--param", "lease_term=nan"], ["expected a number", "'nan'"]),
    "two values": ([*RUN, "--param", "lease_term=60,70"], ["lease_term: expected one value"]),
    "unknown word": (
        [*RELEASED, "--param", "job_order=lifo"],
        ["policy astraea-released: job_order must be fairness or 2das or themis or fifo, got 'lifo'"],
    ),
    "placement": ([*RUN, "--param", "placement=best"], ["placement must be one of consolidated, strict", "'best'"]),
    "text as seed": ([*RUN, "--seed", "x"], ["'--seed': expected a whole number", "'x'"]),
    "unknown option": ([*RUN, "--fast"], ["No such option '--fast'"]),
    "shortened option": ([*RUN[:4], "--node", "1"], ["--node"]),
    "out is a file": ([*RUN, "--out", "file"], ["file: it is not a folder"]),
    "out is below a file": ([*RUN, "--out", "file/out"], ["file/out", "file is not a folder"]),
    "sweep, no seeds": ([*SWEEP, "--seeds", "0"], ["--seeds must be at least 1, got 0"]),
    "sweep, nodes": ([*SWEEP, "--nodes", "1,,2"], ["'--nodes': expected a whole number", "''"]),
    "sweep, policy": ([*SWEEP, "--policies", "fifo,lotto"], ["policy must be one of", "got 'lotto'"]),
    "sweep, empty parameter": ([*SWEEP, "--param", "lease_term="], ["expected NAME=VALUE", "'lease_term='"]),
    "sweep, lease": (
        [*SWEEP, "--param", "lease_term=5"],
        ["trace good, 1 x 8 GPUs, policy astraea (lease_term=5", "seed 0", "scheduling interval"],
    ),
    "sweep, backend": ([*SWEEP, "--backend", "ray"], ["backend must be one of loky, dask, got 'ray'"]),
    "sweep, no scheduler": ([*SWEEP, "--backend", "dask"], ["needs the address of a scheduler"]),
    "sweep, scheduler": ([*SWEEP, "--scheduler", "x"], ["--scheduler is for --backend dask only"]),
    "sweep, out": ([*SWEEP, "--out", "none/grid.csv"], ["none/grid.csv: --out must be a file"]),
    "lease-term, terms": ([*TERM, "--terms", "60,soon"], ["'--terms': expected", "'soon'"]),
    "lease-term, parameter": ([*TERM, "--param", "lease_term=60"], ["with --terms"]),
    "lease-term, no overheads": ([*TERM, "--overheads", "none.json"], ["none.json: there is no such file"]),
    "lease-term, overheads that are no JSON": ([*TERM, "--overheads", "file"], ["file, line 1: not JSON"]),
    "lease-term, a list of overheads": ([*TERM, "--overheads", "list.json"], ["list.json: expected an object", "[3]"]),
    "lease-term, half of the overheads": (
        [*TERM, "--overheads", "half.json"],
        ["half.json: restart_overhead must be a time from 0 to 1e9 s, got None"],
    ),
    "lease-term, NaN as overhead": ([*TERM, "--overheads", "nan.json"], ["nan.json: checkpoint_overhead", "got nan"]),
    "lease-term, overheads longer than leases": (
        [*TERM, "--overheads", "long.json"],
        ["long.json: checkpoint and restart take 3600 s or more; give longer --terms"],
    ),
    "lease-term, overheads twice": (
        [*TERM, "--overheads", "nine.json", "--param", "restart_overhead=3"],
        ["restart_overhead: given twice"],
    ),
    "describe": (["describe", "none.csv"], ["none.csv: no such file or folder"]),
    "fetch": (["data", "fetch", "borealis"], ["unknown workload 'borealis'"]),
    "data": (["data"], ["Missing command"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv, says = BAD[case]
    out = ["--out", "out"] if argv[:1] == ["simulate"] and "--out" not in argv else []
    refused([*argv, *out], capsys, *says)
    clean(here)
    assert (here / "file").read_text() == "x"


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
    refused(OUT, capsys, says, code=code)
    monkeypatch.undo()
    clean(here)


def test_trouble_leaves_older_results_alone(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = here / "out"
    assert main(OUT) == 0
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
    refused([*OUT, "--param", "lease_term=50"], capsys, "no space left on the disk")
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("trouble", "code", "says"), [(full_disk, 2, "cannot be written"), (ctrl_c, 130, "interrupted")]
)
def test_trouble_in_a_sweep(
    trouble: Callable[..., None], code: int, says: str, here: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = [*SWEEP, "--param", "lease_term=60,70", "--out", "out"]
    monkeypatch.setattr("os.replace", trouble)
    refused(argv, capsys, says, code=code)
    monkeypatch.undo()
    clean(here)
    assert list((here / "cache").iterdir()) == []
